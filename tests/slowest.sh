#!/bin/bash
# tests/slowest.sh LOG...: the ten slowest tests of those whose logs these are,
# with the seconds that tests/timed.sh wrote beside each log.

files=()
for log in "$@"; do
    [ ! -e "${log%.log}.seconds" ] || files+=("${log%.log}.seconds")
done
[ ${#files[@]} -gt 1 ] || exit 0
echo 'The slowest tests: seconds, seconds of processors'
sort -rn "${files[@]}" | head -n 10 | awk '{ printf "%8.1f %8.1f  %s\n", $1, $2, $3 }'
awk '{ wall += $1; cpu += $2 }
    END { printf "%8.1f %8.1f  all %d\n", wall, cpu, NR }' "${files[@]}"
