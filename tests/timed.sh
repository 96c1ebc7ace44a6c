#!/bin/bash
# tests/timed.sh SECONDS COMMAND... TEST: runs the command and ends it when it
# hangs.  Writes how long the command took, and how long processors worked for it,
# to TEST's .seconds beside TEST's .log.
#
# SECONDS count on a machine that is free: TIME_SCALE multiplies them
# (tests/time_scale.sh).
#
# The test has a directory for temporary files to itself.  Open MPI keeps the
# sessions of one-rank jobs in one place: one job ends and removes what another
# has just made there.

limit=$(($1 * ${TIME_SCALE:-3}))
shift
name=tests/${!#}
name=tests/${name##*tests/}
file=${name%.*}.seconds
TMPDIR=$(mktemp -d "${TMPDIR:-/tmp}/mtlm-test.XXXXXX") || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
TIMEFORMAT='%1R %1U %1S'
{ time timeout -k 10 "$limit" "$@" 2>&3; } 3>&2 2>"$file.tmp"
rc=$?
# Bash may have written before that a command was killed.
tail -n 1 "$file.tmp" | awk -v name="$name" '{ print $1, $2 + $3, name }' >"$file"
rm "$file.tmp"
exit $rc
