#!/bin/bash
# tests/timed.sh SECONDS COMMAND... TEST: runs the command, ends it when it
# hangs, and writes to TEST's .seconds, beside its .log, how long it took.
#
# SECONDS count on a machine that is free: TIME_SCALE multiplies them
# (tests/time_scale.sh).

limit=$(($1 * ${TIME_SCALE:-3}))
shift
name=${!#}
name=tests/${name##*tests/}
begin=$EPOCHREALTIME
timeout -k 10 "$limit" "$@"
rc=$?
end=$EPOCHREALTIME
printf '%d.%d %s\n' $((tenths = (${end/./} - ${begin/./}) / 100000, tenths / 10)) \
    $((tenths % 10)) "$name" >"${name%.*}.seconds"
exit $rc
