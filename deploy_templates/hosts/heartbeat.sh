#!/bin/sh
# runoff-heartbeat SECONDS [EXPIRES]: the machine may live so long from now, but not past its
# expiry. EXPIRES (seconds since 1970) is a new expiry, for a machine that is taken over.
set -eu
home=${RUNOFF_DEAD_MAN:-/var/lib/runoff}
usage() {
    echo "usage: runoff-heartbeat SECONDS [EXPIRES]" >&2
    exit 2
}
put() {
    echo "$2" >"$home/$1.new"
    mv "$home/$1.new" "$home/$1"
}
case ${1-} in '' | *[!0-9]*) usage ;; esac
case ${2-0} in '' | *[!0-9]*) usage ;; esac
[ $# -lt 2 ] || put expires "$2"
put deadline "$(($(date +%s) + $1))"
