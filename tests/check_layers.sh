#!/bin/bash
# Who may use whom, read off #include lines, include.am files and Python
# imports:
#
#   launch -> graph -> codelets -> runtime    launch, graph -> models
#   models -> runtime/base, runtime/file
#   tests, perf -> everything                 nothing -> launch, tests, perf
#
# A subfolder uses itself and the subfolders of its folder before it in the list
# below.  Files at the top of a folder count as the subfolder ".".
#
# StarPU is named only in runtime/, codelets/codelet.[ch] and graph/run/; MPI
# and NCCL only in runtime/.
#
# Usage: tests/check_layers.sh [TREE]
set -eu

cd "${1:-${srcdir:-.}}"

# A folder, and the folders that it may use besides itself.
folders='
runtime
models   runtime
codelets runtime
graph    codelets models runtime
launch   graph codelets models runtime
tests    launch graph codelets models runtime perf
perf     launch graph codelets models runtime tests
'
# A folder, and its subfolders from the lowest to the highest.
subfolders='
runtime  base file amx machine policies comm disk virtual
models   . text task weights
codelets . cudnn attention
graph    . order schedule build predict run
launch   trace trace/export trace/read task options plan log job checkpoint report simulate train generate tools .
'

# Build trees, unpacked archives of ours and bundles hold a config.status,
# a configure or a bundle.txt of their own.
sources() {
    local dir
    for dir in [!_]*/; do
        [ -e "$dir/config.status" ] || [ -e "$dir/configure" ] \
            || [ -e "$dir/bundle.txt" ] \
            || find "$dir" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \
                -o -name '*.py' -o -name include.am
    done
    find . -maxdepth 1 -name '*.[ch]' ! -name config.h
    # Scripts without an ending.
    grep -lE '^#!.*python' launch/* perf/* perf/policies/* 2>/dev/null || :
}

sources | sort -u | FOLDERS=$folders SUBFOLDERS=$subfolders awk '
BEGIN {
    lines = split(ENVIRON["FOLDERS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        words = split(line[i], word, " ")
        if (words > 0)
            known[word[1]] = 1
        for (j = 1; j <= words; j++)
            allowed[word[1], word[j]] = 1
    }
    lines = split(ENVIRON["SUBFOLDERS"], line, "\n")
    for (i = 1; i <= lines; i++) {
        words = split(line[i], word, " ")
        for (j = 2; j <= words; j++)
            height[word[1], word[j]] = j
    }
}

function wrong(why)
{
    printf "%s:%d: %s\n", file, number, why
    bad++
}

function folder_of(path)
{
    sub(/\/.*/, "", path)
    return path
}

# The directory of path below its folder, "." at the top.
function subfolder_of(path)
{
    if (!sub(/\/[^\/]*$/, "", path) || !sub(/^[^\/]*\//, "", path))
        return "."
    return path
}

# file uses path: is it lower, or in the same subfolder?
function use(path,    to, subfolder)
{
    to = folder_of(path)
    if (!((from, to) in allowed)) {
        wrong(from "/ may not use " path)
        return
    }
    if (from == "models" && path ~ /^runtime\// \
        && path !~ /^runtime\/(base|file)\//)
        wrong("models/ may not use " path)
    if (from != to || everything)
        return
    subfolder = subfolder_of(path)
    if (!((from, subfolder) in height))
        wrong("unknown subfolder: " path)
    else if (height[from, subfolder] > height[from, subfolder_of(file)])
        wrong("subfolder " subfolder_of(file) \
              " may not use the higher subfolder: " path)
}

function include(name)
{
    if (name == "config.h")
        return
    if (name ~ /(^|\/)\.\.?(\/|$)/) {
        wrong("name it from the top of the tree: " name)
        return
    }
    if (name ~ /^(starpu|simgrid\/)/) {
        if (!everything && from != "runtime" \
            && file !~ /^codelets\/codelet\.[ch]$/ && file !~ /^graph\/run\//)
            wrong("StarPU belongs in runtime/, codelets/codelet.[ch] and" \
                  " graph/run/: " name)
        return
    }
    if (name ~ /^(mpi|nccl|mpi-ext)[a-z_]*\.h$/) {
        if (!everything && from != "runtime")
            wrong("MPI and NCCL belong in runtime/: " name)
        return
    }
    if (name !~ /\//) {
        # A test may have a helper beside it.
        if (quoted && !everything)
            wrong("name it from the top of the tree: " name)
    } else if (folder_of(name) in known)
        use(name)
    else if (quoted)
        wrong("unknown folder: " name)
}

function read_source()
{
    if (text !~ /^[ \t]*#[ \t]*include[ \t]*["<]/)
        return
    quoted = text ~ /include[ \t]*"/
    sub(/^[^"<]*["<]/, "", text)
    sub(/[">].*/, "", text)
    include(text)
}

# A build file lists files of its folder, or of a folder below.
function read_build(    words, word, i)
{
    if (text ~ /^#/)
        return
    words = split(text, word, /[ \t]+/)
    for (i = 1; i <= words; i++)
        if (word[i] ~ /^[a-z]+\// && folder_of(word[i]) in known \
            && !((from, folder_of(word[i])) in allowed))
            wrong(from "/ may not list " word[i])
}

# Packages of ours: bench is perf/bench; other names stand beside the file.
function read_python()
{
    if (text ~ /^[ \t]*(from|import) bench[ .]/ && !everything)
        wrong(from "/ may not import perf/bench")
}

{
    file = $0
    files++
    number = 0
    sub(/^\.\//, "", file)
    from = folder_of(file)
    if (from == file || !(from in known)) {
        if (file !~ /^docs\//)
            wrong("a source in an unknown folder")
        next
    }
    everything = from == "tests" || from == "perf"
    if (file ~ /\.(c|h|cu|cuh)$/ && !everything \
        && !((from, subfolder_of(file)) in height) \
        && file !~ /^runtime\/include\//)
        wrong("a source in an unknown subfolder")
    while ((getline text < file) > 0) {
        number++
        if (file ~ /\.(c|h|cu|cuh)$/)
            read_source()
        else if (file ~ /\.am$/)
            read_build()
        else
            read_python()
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
