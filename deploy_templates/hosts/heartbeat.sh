#!/bin/sh
# runoff-heartbeat SECONDS: the machine may live so long from now, but not past its expiry.
set -eu
home=${RUNOFF_DEAD_MAN:-/var/lib/runoff}
case ${1-} in '' | *[!0-9]*) echo "usage: runoff-heartbeat SECONDS" >&2 && exit 2 ;; esac
echo "$(($(date +%s) + $1))" >"$home/deadline.new"
mv "$home/deadline.new" "$home/deadline"
