#!/bin/bash
# Every source is named in the include.am of its folder, else it is neither
# compiled nor part of an archive; so is every script and Python module of perf.
# Every script of a folder of tests is named in the include.am of one of them.
# No EXTRA_DIST stands in a conditional: an archive holds all files, whatever is
# installed where it is made.  No two scripts of a folder of tests differ in the
# ending only: they would have the same log, and make would run either.
#
# Usage: tests/check_lists.sh [TREE]
set -eu

cd "${1:-${srcdir:-.}}"
missing=0 sources=0
for dir in runtime models codelets graph launch perf tests/*/; do
    dir=${dir%/}
    [ -e "$dir/include.am" ] || continue
    while read -r file; do
        sources=$((sources + 1))
        # Naming a program names its source.
        name=$file
        case $file in
        tests/*.c | perf/*.c) name=${file%.c} ;;
        esac
        if ! grep -v '^#' "$dir/include.am" | grep -qwF "$name"; then
            echo "$file: not in $dir/include.am"
            missing=$((missing + 1))
        fi
    done < <(find "$dir" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh')
done
for file in perf/bench/*.py perf/* perf/policies/*; do
    # Scripts have no ending.
    case $file in
    *.py) ;;
    *.*) continue ;;
    esac
    [ -f "$file" ] || continue
    sources=$((sources + 1))
    if ! grep -v '^#' perf/include.am | tr -s ' \t\\' '\n' \
        | grep -qxF "$file"; then
        echo "$file: not in perf/include.am"
        missing=$((missing + 1))
    fi
done
while read -r line; do
    echo "$line depends on what is installed"
    missing=$((missing + 1))
done < <(awk 'FNR == 1 { depth = 0 }
    /^if / { depth++ }
    /^endif/ { depth-- }
    depth > 0 && /^(EXTRA_DIST|include) / { print FILENAME ":" FNR ": " $1 }' \
    Makefile.am ./*/include.am tests/*/include.am)
scripts=$(cat tests/*/include.am | grep -v '^#')
for file in tests/*/*.sh tests/*/*.py; do
    sources=$((sources + 1))
    if ! grep -qwF "$file" <<<"$scripts"; then
        echo "$file: in no include.am of tests"
        missing=$((missing + 1))
    fi
done
for file in tests/*/*.sh; do
    if [ -e "${file%.sh}.py" ]; then
        echo "$file: make takes ${file%.sh}.py for the same test"
        missing=$((missing + 1))
    fi
done
echo "$sources sources, $missing wrong"
[ "$missing" -eq 0 ] && [ "$sources" -gt 0 ]
