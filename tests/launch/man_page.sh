#!/bin/bash
# The manual pages against the programs.  Of mtlm-dag, whose options awk reads
# off option_list.h: every option of the compiled table with its argument and
# its default, every exit code, nothing else.  Notes about unknown options are
# refused, and troff finds no fault.
set -eu

page=$builddir/man/mtlm-dag.1
awk=$srcdir/man/options.awk
schedules=$srcdir/graph/schedule/schedule_list.h
list=$srcdir/launch/options/option_list.h
table=$("$builddir/tests/launch/print_options")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

differ() {
    diff -U0 --label "$2" --label "$3" "$work/want" "$work/have" && return 0
    echo "$1" >&2
    failed=1
}

# .BI "\-\-name " ARG or .B \-\-name, then the text with "Default: X."
entries() {
    sed 's/\\-/-/g; s/\\ / /g' "$page" | awk '
        function flush() { if (name) print name "\t" arg "\t" value }
        /^\.SH/ { inside = $2 == "OPTIONS" }
        !inside { next }
        last == ".TP" && /^\.BI? "?--/ {
            flush()
            gsub(/"/, "")
            name = substr($2, 3); arg = $0; value = ""
            sub(/^[^ ]* +[^ ]* */, "", arg)
        }
        /^Default: / { value = $0; sub(/^Default: /, "", value)
                       sub(/\.$/, "", value) }
        { last = $0 }
        END { flush() }'
}

awk -F'\t' '$1 == "option" { print $2 "\t" $3 "\t" $4 }' <<<"$table" \
    | sort >"$work/want"
entries | sort >"$work/have"
differ "OPTIONS of $page differs from launch/options/option_list.h" table page

awk '$1 == "exit" { print $2 }' <<<"$table" >"$work/want"
awk '/^\.SH/ { inside = $0 ~ /EXIT STATUS/ }
     inside && /^\.B [0-9]/ { print $2 }' "$page" >"$work/have"
differ "EXIT STATUS of $page differs from runtime/base/exit_code.h" list page

# Options named anywhere; these are other programs'.
sed 's/\\-/-/g' "$page" | grep -o -e '--[a-z][a-z0-9-]*' | sort -u \
    | grep -vx -e --input -e --output-prefix -e --split-sentences \
    >"$work/have"
awk -F'\t' '$1 == "option" { print "--" $2 }' <<<"$table" | sort -u \
    >"$work/want"
differ "$page names options that do not exist" table page

# What belongs to no option does not get lost silently.
printf '@no-such-option\nText.\n' >"$work/notes"
for notes in /dev/null "$work/notes"; do
    rc=0
    awk -f "$awk" "$schedules" "$list" "$notes" "$srcdir/man/mtlm-dag.1.in" \
        >"$work/out" 2>"$work/err" || rc=$?
    [ "$notes" = /dev/null ] && want=0 || want=1
    [ "$rc" -eq "$want" ] || {
        echo "options.awk with notes of $notes: exit status $rc" >&2
        failed=1
    }
done
grep -qx 'options.awk: notes about no option: no-such-option' "$work/err" || {
    echo "options.awk said: $(cat "$work/err")" >&2
    failed=1
}

for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" ENVIRONMENT \
    EXAMPLES FILES "SEE ALSO"; do
    grep -qx "\.SH \"\?$section\"\?" "$page" || {
        echo "$page has no section $section" >&2
        failed=1
    }
done

# The other programs' pages against their help.
others=("$srcdir/man/mtlm-run.1")
for program in mtlm-compare mtlm-convert mtlm-preprocess mtlm-report; do
    other=$srcdir/man/$program.1
    others+=("$other")
    command=$builddir/$program
    [ "$program" != mtlm-compare ] || command=$srcdir/perf/policies/compare
    COLUMNS=80 "$command" --help \
        | sed -nE 's/^ {2}(-., )?(--[a-z-]+).*/\2/p; s/^ {6}(--[a-z-]+).*/\1/p' \
        | sort >"$work/want"
    sed 's/\\-/-/g' "$other" | awk '/^\.SH/ { inside = $2 == "OPTIONS" }
        inside && last == ".TP" { gsub(/"/, ""); print $2 } { last = $0 }' \
        | sort >"$work/have"
    differ "OPTIONS of $other differs from $program --help" help page
done

if command -v groff >/dev/null; then
    cat "$page" "${others[@]}" | groff -man -Tutf8 -ww -z - 2>"$work/have" || failed=1
    : >"$work/want"
    differ "groff has complaints" none groff
fi
exit $failed
