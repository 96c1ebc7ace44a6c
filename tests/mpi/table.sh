#!/bin/bash
# Every way of spreading a model over ranks, and every schedule, with each
# other (table.txt): the losses of 20 steps and the first step's gradients
# are those of one rank; pipeline, virtual stages, placement, schedule, window,
# policy and recomputation do not change a bit.  make check takes the marked
# lines and 5 steps.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
. "${srcdir:-.}/tests/mpi/table_common.sh"

here=$srcdir/tests/mpi
python=${PYTHON:-python3}
if ! "$python" -c 'import numpy' 2>/dev/null; then
    echo "skipped: $python has no numpy"
    exit 77
fi
declare -A hash_of
# Taken in turn by the lines of the table.
policies=(prio lws random eager dmda ws)
steps=5
! full_tier || steps=20

# train NAME RANKS OPTION...: losses and dump in NAME.losses and NAME/.
train() {
    local name=$1
    mkdir -p "$name"
    shift
    well "$@" --weight-hash --dump-first-step "$name"
    losses out >"$name.losses"
    [ "$(wc -l <"$name.losses")" -eq $steps ] || fail "$name: not $steps losses"
    hash_of[$name]=$(weight_hash out)
    [ -n "${hash_of[$name]}" ] || fail "$name: no hash"
}

# twin LINE...: the same tensor-, sequence- and data-parallel ranks without
# pipeline, recomputation and schedule, which must give the same bits.
twin() {
    twin=$1.$2.T$3.D$6.$7
    [ -n "${hash_of[$twin]:-}" ] && return
    table_options "$1" "$2" "$3" 1 1 "$6" "$7" - none loop window
    train "$twin" "$ranks" "${model[@]}" "${spread[@]}"
}

# one NAME LAYERS: the model on one rank, unless it has trained already.
one() {
    [ -z "${hash_of[one.$1.$2]:-}" ] || return
    table_model "$1" "$2"
    train "one.$1.$2" 1 "${model[@]}"
}

"$python" "$here/table_check.py" pairs "$here/table.txt" || fail "pairs are missing"
while read -r -a line; do
    [ "${line[0]}" = '#' ] && continue
    if ! full_tier && [ "${line[11]:-}" != '*' ]; then
        lines=$((lines + 1))
        continue
    fi
    name=$(IFS=.; echo "${line[*]:0:11}")
    one "${line[@]:0:2}"
    table_options "${line[@]}"
    STARPU_SCHED=${policies[lines % 6]} \
        train "$name" "$ranks" "${model[@]}" "${spread[@]}"
    lines=$((lines + 1))
    [ "${line[7]}" = - ] || continue
    twin "${line[@]}"
    [ "${hash_of[$name]}" = "${hash_of[$twin]}" ] \
        || fail "$name: hash ${hash_of[$name]}, without pipeline" \
            "${hash_of[$twin]}"
done <"$here/table.txt"
"$python" "$here/table_check.py" compare . || fail "losses or gradients differ"

finish
