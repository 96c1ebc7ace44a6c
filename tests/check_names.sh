#!/bin/bash
# One name, one thing, in the sources of the product:
#
#   - No tag (struct, enum, union) is defined twice.
#   - A function that a header declares begins with mtlm_<module>,
#     mtlm_<subfolder> or mtlm_<tag>.  The module is the file or its plural, the
#     tag a type that the header names.
#   - No two headers share an include guard: a source would lose the second one.
#
# Usage: tests/check_names.sh [TREE]
set -eu

cd "${1:-${srcdir:-.}}"

# Headers whose functions are words of their own, as in the C library.
plain='runtime/base/error.h runtime/base/memory.h'

find runtime models codelets graph launch -name '*.[ch]' \
    -o -name '*.cuh' | sort | PLAIN=$plain awk '
BEGIN {
    n = split(ENVIRON["PLAIN"], word, " ")
    for (i = 1; i <= n; i++)
        plain[word[i]] = 1
}

function wrong(why)
{
    printf "%s: %s\n", file, why
    bad++
}

# Does name begin with prefix, as a word or with an s behind it?
function begins(name, prefix)
{
    return name ~ ("^" prefix "s?(_|$)")
}

function check_function(name,    i)
{
    if (begins(name, module))
        return
    for (i = 1; i <= n_subfolders; i++)
        if (begins(name, subfolder[i]))
            return
    for (i = 1; i <= n_tags; i++)
        if (begins(name, tag[i]))
            return
    wrong("mtlm_" name "() names neither module, subfolder nor type")
}

{
    file = $0
    files++
    n_tags = n_names = 0
    guard = ""
    module = file
    sub(/.*\//, "", module)
    sub(/\.[a-z]+$/, "", module)
    sub(/_private$/, "", module)
    # The directories between the folder and the file.
    n_subfolders = split(file, subfolder, "/") - 1
    for (i = 1; i <= n_subfolders; i++)
        sub(/s$/, "", subfolder[i])
    while ((getline text < file) > 0) {
        # The guard is the first name that a header asks for.
        if (file ~ /\.(h|cuh)$/ && guard == "" && text ~ /^#ifndef /) {
            guard = substr(text, 9)
            if (guard in guarded)
                wrong(guard " guards " guarded[guard] ", too")
            guarded[guard] = file
        }
        if (match(text, /^(typedef )?(struct|enum|union) [a-z_0-9]+( \{|;)/)) {
            split(text, part, /[ ;]+/)
            name = part[1] == "typedef" ? part[3] : part[2]
            if (text ~ /\{/) {
                if (name in defined && defined[name] != file)
                    wrong(name " is defined in " defined[name] ", too")
                defined[name] = file
            }
            sub(/^mtlm_/, "", name)
            tag[++n_tags] = name
        }
        # A declaration begins in the first column.
        if (file ~ /\.h$/ && text ~ /^[a-z].*mtlm_[a-z0-9_]+\(/ \
            && text !~ /^(static|typedef|return)/) {
            match(text, /mtlm_[a-z0-9_]+\(/)
            names[++n_names] = substr(text, RSTART + 5, RLENGTH - 6)
        }
    }
    close(file)
    if (!(file in plain))
        for (k = 1; k <= n_names; k++)
            check_function(names[k])
}

END {
    if (files == 0) {
        print "no source found"
        bad++
    }
    printf "%d sources, %d wrong names\n", files, bad
    exit bad > 0
}'
