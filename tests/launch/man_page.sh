#!/bin/bash
# The manual page against the option table: every option with its argument
# and its default, every exit code, nothing else; and troff finds no fault.
set -eu

page=$srcdir/man/mtlm-dag.1
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
    | grep -vx -e --bind-to -e --input -e --output-prefix -e --split-sentences \
    >"$work/have"
awk -F'\t' '$1 == "option" { print "--" $2 }' <<<"$table" | sort -u \
    >"$work/want"
differ "$page names options that do not exist" table page

for section in NAME SYNOPSIS DESCRIPTION OPTIONS "EXIT STATUS" ENVIRONMENT \
    EXAMPLES FILES "SEE ALSO"; do
    grep -qx "\.SH \"\?$section\"\?" "$page" || {
        echo "$page has no section $section" >&2
        failed=1
    }
done

# The other programs' pages against their help.
others=()
for program in mtlm-convert mtlm-preprocess mtlm-report; do
    other=$srcdir/man/$program.1
    others+=("$other")
    COLUMNS=80 "$builddir/$program" --help \
        | sed -nE 's/^ {2}-., (--[a-z-]+).*/\1/p; s/^ {6}(--[a-z-]+).*/\1/p' \
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
