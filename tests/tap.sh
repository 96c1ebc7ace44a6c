#!/bin/bash
# tests/tap.sh COMMAND...: runs a cmocka program and puts its TAP right.
#
# cmocka 1.1 calls a skipped test "not ok".  The comment before a skipped test
# becomes the reason in its line: make check shows no comments.
#
# cmocka exits with the number of failed tests, which have been counted by their
# lines already; any other failure to end well is one more.  A program that exits
# with 77 before its first test is skipped as a whole.

"$@" | awk '
/^# / { reason = substr($0, 2) }
/^not ok [0-9]+ # SKIP/ { sub(/^not /, ""); $0 = $0 (reason ? ":" reason : "") }
/^(not )?ok / { reason = "" }
/^not ok [0-9]/ { failed = 1 }
{ print; fflush() }
END { exit failed }'
rc=("${PIPESTATUS[@]}")
if [ "${rc[0]}" -eq 77 ]; then
    echo "1..0 # SKIP cannot run here"
elif [ "${rc[1]}" -eq 0 ] || [ "${rc[0]}" -gt 123 ]; then
    # 124: out of time; above: ended by a signal.
    exit "${rc[0]}"
fi
