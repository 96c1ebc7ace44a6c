#!/bin/bash
# Who may include whom, read off the #include lines of every source:
#
#   launch -> graph -> codelets -> runtime    models -> runtime/base, runtime/file
#   launch -> models, runtime    graph -> models, runtime
#   tests, perf -> everything    nothing -> launch, tests, perf
#
# StarPU is named only in runtime/, codelets/codelet.[ch] and
# graph/run/; MPI and NCCL only in runtime/.
#
# Usage: tests/check_layers.sh [TREE]
set -eu

cd "${1:-${srcdir:-.}}"

# What folder (first word) may include whom, besides itself.
may='
runtime
models
codelets runtime
graph    codelets models runtime
launch   graph codelets models runtime
tests    launch graph codelets models runtime perf
perf     launch graph codelets models runtime tests
'
# Build trees and unpacked archives of ours hold a config.status or
# a configure of their own.
sources() {
    local dir
    for dir in [!_]*/; do
        [ -e "$dir/config.status" ] || [ -e "$dir/configure" ] \
            || find "$dir" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh'
    done
    find . -maxdepth 1 -name '*.[ch]' ! -name config.h
}

sources | sort | MAY=$may awk '
BEGIN {
    lines = split(ENVIRON["MAY"], line, "\n")
    for (i = 1; i <= lines; i++) {
        words = split(line[i], word, " ")
        if (words > 0)
            known[word[1]] = 1
        for (j = 1; j <= words; j++)
            allowed[word[1], word[j]] = 1
    }
}

function wrong(why)
{
    printf "%s:%d: %s\n", file, number, why
    bad++
}

function include(name,    to)
{
    if (name == "config.h")
        return
    if (name ~ /(^|\/)\.\.?(\/|$)/) {
        wrong("name it from the top of the tree: " name)
        return
    }
    if (name ~ /^starpu/) {
        if (!everything && from != "runtime" \
            && file !~ /^codelets\/codelet\.[ch]$/ \
            && file !~ /^graph\/run\//)
            wrong("StarPU belongs in runtime/, codelets/codelet.[ch] and" \
                  " graph/run/: " name)
        return
    }
    if (name ~ /^(mpi|nccl|mpi-ext)[a-z_]*\.h$/) {
        if (!everything && from != "runtime")
            wrong("MPI and NCCL belong in runtime/: " name)
        return
    }
    to = name
    if (!sub(/\/.*/, "", to)) {
        # A test may have a helper beside it.
        if (quoted && !everything)
            wrong("name it from the top of the tree: " name)
        return
    }
    if (!(to in known)) {
        if (quoted)
            wrong("unknown folder: " name)
        return
    }
    if (!((from, to) in allowed) && !(from == "models" && name ~ /^runtime\/(base|file)\//))
        wrong(from "/ may not include " name)
}

{
    file = $0
    files++
    number = 0
    sub(/^\.\//, "", file)
    from = file
    if (!sub(/\/.*/, "", from) || !(from in known)) {
        wrong("a source in an unknown folder")
        next
    }
    everything = from == "tests" || from == "perf"
    while ((getline text < file) > 0) {
        number++
        if (text !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
            continue
        quoted = text ~ /include[ \t]*"/
        sub(/^[^"<]*["<]/, "", text)
        sub(/[">].*/, "", text)
        include(text)
    }
    close(file)
}

END {
    if (files == 0) {
        print "no source found"
        bad++
    }
    printf "%d sources, %d violations\n", files, bad
    exit bad > 0
}'
