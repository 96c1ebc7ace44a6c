#!/bin/bash
# docs/schedules.md has the rows that docs/pictures/published.py prints: formula,
# published order and emergent schedule of every published name.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
tree=$(cd "$OLDPWD" && cd "${srcdir:-.}" && pwd)

/usr/bin/python3 "$tree/docs/pictures/published.py" "${program%/*}" >rows 2>said \
    || fail "$(cat said)"
names=$(grep -c '\.name = "' "$tree/graph/order/published.c")
[ "$(wc -l <rows)" -eq "$names" ] || fail "not $names schedules: $(cat rows)"
while read -r row; do
    grep -qxF "$row" "$tree/docs/schedules.md" \
        || fail "docs/schedules.md lacks: $row"
done <rows
finish
