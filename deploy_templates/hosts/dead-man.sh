#!/bin/sh
# Powers the machine off once its time is over. A heartbeat brings the end nearer and pushes it
# on again, never past the expiry. What cannot be read counts as over: a machine must not stay.
set -u
home=${RUNOFF_DEAD_MAN:-/var/lib/runoff}
number() {
    read -r seen 2>/dev/null <"$1" || seen=
    case $seen in '' | *[!0-9]*) echo "$2" ;; *) echo "$seen" ;; esac
}
end=$(number "$home/expires" 0)
beat=$(number "$home/deadline" "$end")
[ "$beat" -lt "$end" ] && end=$beat
[ "$(date +%s)" -lt "$end" ] && exit 0
# what an experiment changed on the machine is put back first: it may start again as another's
[ ! -f "$home/restore.sh" ] || timeout 60 sh "$home/restore.sh"
exec shutdown -P now
