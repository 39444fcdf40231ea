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
[ "$(date +%s)" -lt "$end" ] || exec shutdown -P now
