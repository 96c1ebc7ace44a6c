#!/bin/bash
# Two builds of mtlm-dag train the same jobs; the weight hashes must be equal.
# Shows that a reorganisation changes no bit.  The jobs are the lines of table.txt
# in single precision; two thirds of the lines train in bf16 or fp16 as well.
#
# Usage: builddir=BUILD tests/mpi/same_bits.sh OTHER_BUILD
set -u
[ $# -eq 1 ] && [ -x "$1/mtlm-dag" ] || {
    echo "usage: builddir=BUILD $0 OTHER_BUILD (each holds mtlm-dag)" >&2
    exit 2
}
other=$(cd "$1" && pwd)/mtlm-dag
builddir=$(cd "${builddir:-.}" && pwd)
srcdir=$(cd "$(dirname "$0")/../.." && pwd)
MPIRUN=${MPIRUN:-mpirun --allow-run-as-root --oversubscribe --bind-to none}
export OPENBLAS_NUM_THREADS=1 STARPU_SILENT=1 STARPU_WORKERS_NOBIND=1
. "$srcdir/tests/mpi/common.sh"
. "$srcdir/tests/mpi/table_common.sh"

mine=$program
rows=0 differ=0 steps=4

# hash_by PROGRAM OPTION...: trains with that program; prints the hash.
hash_by() {
    program=$1
    shift
    well "$ranks" "$@" >&2
    weight_hash out
}

# row NAME OPTION...: one line of the result.
row() {
    local name=$1 a b verdict=equal
    shift
    a=$(hash_by "$other" "$@")
    b=$(hash_by "$mine" "$@")
    rows=$((rows + 1))
    if [ -z "$a" ] || [ "$a" != "$b" ]; then
        verdict=DIFFERENT
        differ=$((differ + 1))
    fi
    printf '%-52s %-18s %-18s %s\n' "$name" "$a" "$b" "$verdict"
}

precisions=("" --bf16 --fp16)
while read -r -a line; do
    [ "${line[0]}" = '#' ] && continue
    table_options "${line[@]:0:11}"
    run=("${model[@]}" "${spread[@]}" --weight-hash)
    row "${line[*]:0:11}" "${run[@]}"
    precision=${precisions[lines % 3]}
    [ -z "$precision" ] || row "${line[*]:0:11} $precision" "${run[@]}" "$precision"
    lines=$((lines + 1))
done <"$srcdir/tests/mpi/table.txt"
echo "$rows rows, $differ different"
[ "$differ" -eq 0 ]
