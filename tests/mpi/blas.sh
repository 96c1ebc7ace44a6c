#!/bin/bash
# --blas: another library changes losses by rounding only, a bad library is
# refused, and the choice by measurement is kept.  The libraries are of our own
# (tests/mpi/blas_double.c), and those that the machine has.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"
unset MTLM_BLAS
doubles=${program%/*}/tests/mpi
export XDG_CACHE_HOME=$dir/cache
kept=$XDG_CACHE_HOME/mtlm-dag/blas.json
tiny=("${small[@]}" --train-iters 3 --weight-hash)

# Whether the compiler knew AMX.
has_amx_code() {
    grep -qx '#define HAVE_AMX 1' "${program%/*}/config.h"
}

# like_default NAME: the losses in out are those of the default BLAS.
like_default() {
    losses out >losses
    local worst
    worst=$(difference losses losses1)
    awk "BEGIN { exit !($worst <= 1e-5) }" || fail "$1: losses differ by $worst"
    echo "$1: losses differ by at most $worst"
}

well 1 "${tiny[@]}" --blas default
losses out >losses1
default=$(weight_hash out)
[ ! -e "$kept" ] || fail "--blas default measured"

# Rounding differs, but not between layouts.
right=$doubles/blas_right.so
well 1 "${tiny[@]}" --blas "$right"
like_default "a library of our own"
grep -q "^machine: .*, $right\$" out || fail "no name: $(grep machine out)"
hash=$(weight_hash out)
[ "$hash" != "$default" ] || fail "the library of our own was not used"
well 1 "${tiny[@]}" --blas "$doubles/blas_wide.so"
[ "$(weight_hash out)" = "$hash" ] || fail "sizes of 64 bits: other weights"
layout 1 2
well 2 "${tiny[@]}" "${parallel[@]}" --blas "$right"
[ "$(weight_hash out)" = "$hash" ] || fail "two ranks: other weights"

for name in amx blis onednn mkl aocl; do
    job 1 "${tiny[@]}" --blas $name
    if grep -q "blas $name: this machine has no " err; then
        [ "$rc" -eq 2 ] || fail "$name: exit code $rc"
        [ $name != amx ] || ! grep -qw amx_bf16 /proc/cpuinfo \
            || ! has_amx_code \
            || fail "amx: the processor has AMX: $(cat err)"
        echo "$name: not here"
    else
        [ "$rc" -eq 0 ] || fail "$name: exit code $rc: $(cat err)"
        like_default $name
        hash=$(weight_hash out)
        well 2 "${tiny[@]}" "${parallel[@]}" --blas $name
        [ "$(weight_hash out)" = "$hash" ] || fail "$name: two ranks: other weights"
    fi
done

# refused SENTENCE LIBRARY: one sentence, and nothing is trained.
refused() {
    job 1 "${tiny[@]}" --blas "$2"
    check_refusal "$2" 2
    grep -q "^mtlm-dag: --blas.*$1" err || fail "$2: $(cat err)"
}
refused 'products of matrices are wrong' "$doubles/blas_wrong.so"
refused 'product of matrices fails: Aborted' "$doubles/blas_crashes.so"
refused 'ends the process' "$doubles/blas_leaves.so"
refused 'take longer than 2 s of processor time' "$doubles/blas_hangs.so"
refused 'has no cblas_sgemm' "$doubles/slow_disk.so"
refused 'cannot load' ./nothing.so
refused "is 'fast', it must be auto" fast
if has_amx_code; then
    ONEDNN_MAX_CPU_ISA=AVX2 refused 'variable ONEDNN_MAX_CPU_ISA=AVX2 forbids AMX' amx
    DNNL_MAX_CPU_ISA=AVX2 refused 'variable DNNL_MAX_CPU_ISA=AVX2 forbids AMX' amx
fi
MTLM_BLAS=fast job 1 "${tiny[@]}"
[ "$rc" -eq 2 ] && grep -q 'variable MTLM_BLAS is .fast.' err || fail "MTLM_BLAS: $(cat err)"

# A product that the library refuses ends the job.
job 1 "${tiny[@]}" --blas "$doubles/blas_refuses.so"
[ "$rc" -eq 6 ] && grep -q 'not enough memory' err || fail "a refused product: $rc, $(cat err)"

# Ranks compare their wishes, and what they found.
cat >each <<'END'
#!/bin/sh
export LD_LIBRARY_PATH=$PWD/rank$OMPI_COMM_WORLD_RANK
[ -z "$WISHES" ] || export MTLM_BLAS=$(echo $WISHES | cut -d ' ' -f $((OMPI_COMM_WORLD_RANK + 1)))
exec "$@"
END
chmod +x each
mkdir rank0 rank1
cp "$right" rank0/libblis.so.4
cp "$doubles/blas_wide.so" rank1/libblis.so.4
each() {
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((60 * TIME_SCALE)) $MPIRUN -q -n 2 ./each "$program" "${tiny[@]}" \
        "${parallel[@]}" "$@" >out 2>err </dev/null
    rc=$?
}
WISHES="default blis" each
[ "$rc" -eq 2 ] && one_sentence \
    && grep -q 'rank 1 was started with other settings than rank 0: BLAS blis, not BLAS default' err \
    || fail "two wishes: $rc, $(cat err)"
WISHES='' each --blas blis
[ "$rc" -eq 0 ] && one_sentence \
    && grep -q 'rank 1 multiplies by another BLAS than rank 0: .*/rank1/.*, not .*/rank0/.*; other' err \
    || fail "two libraries of a name: $rc, $(cat err)"

# auto measures at the first use, and only then.
note='^BLAS: [a-z]*, chosen by measurement; GF/s of a core: default (.*) [0-9]'
measures() {
    [ "$(grep -c "$note" err)" -eq 1 ] || fail "$1: $(cat err)"
}
well 1 "${tiny[@]}"
measures "first use"
grep -q "; kept in $kept\$" err || fail "first use: $(cat err)"
hash=$(weight_hash out)
cp "$kept" first.json
well 1 "${tiny[@]}"
[ ! -s err ] || fail "second use: $(cat err)"
[ "$(weight_hash out)" = "$hash" ] || fail "second use: other weights"
cmp -s "$kept" first.json || fail "second use: measured again"
well 2 "${tiny[@]}" "${parallel[@]}" --blas measure
measures "--blas measure"

# silent WHAT: the last job takes a choice that is kept.
silent() {
    [ ! -s err ] || fail "$1: $(cat err)"
}
# Processors share the file, here by a variable that forbids instructions.
elsewhere() {
    MKL_ENABLE_INSTRUCTIONS=AVX2 well 1 "${tiny[@]}"
}
elsewhere
measures "another processor"
grep -q ' has choices of other processors only: measured again$' err \
    || fail "another processor: $(cat err)"
[ "$(grep -c '"choice"' "$kept")" -eq 2 ] || fail "two processors: $(cat "$kept")"
elsewhere
silent "the other processor"
well 1 "${tiny[@]}"
silent "the first processor"
well 1 "${tiny[@]}" --blas measure
[ "$(grep -c '"choice"' "$kept")" -eq 2 ] || fail "measured anew: $(cat "$kept")"
elsewhere
silent "the other processor, after a measurement"
# Values that are not UTF-8 name a processor, too.
cp "$kept" two.json
for state in measures silent; do
    MKL_ENABLE_INSTRUCTIONS=$'\xff' well 1 "${tiny[@]}"
    $state "a value that is not UTF-8"
done
cp two.json "$kept"
# A file of an earlier version holds one processor.
/usr/bin/python3 - first.json "$kept" <<'END'
import json, sys
with open(sys.argv[1]) as new, open(sys.argv[2], "w") as old:
    json.dump(json.load(new)["processors"][0], old)
END
cp "$kept" old.json
well 1 "${tiny[@]}"
silent "an old file"
cmp -s "$kept" old.json || fail "an old file: written again"
elsewhere
measures "beside an old file"
well 1 "${tiny[@]}"
silent "what the old file had"

# A file that does not count is replaced.
replaced() {
    well 1 "${tiny[@]}"
    grep -q "^$kept $1: measured again\$" err || fail "$1: $(cat err)"
    measures "$1"
    well 1 "${tiny[@]}"
    [ ! -s err ] || fail "after '$1': $(cat err)"
}
head -c 40 first.json >"$kept"
replaced 'cannot be read: .*'
for wrong in '[1, 2]' '{"processors": [{"choice": "blis"}]}'; do
    echo "$wrong" >"$kept"
    replaced 'is no choice of a BLAS'
done
# What is no entry is left out, not the choices beside it.
sed 's/"processors": \[/&{"choice": "blis"}, /' first.json >"$kept"
well 1 "${tiny[@]}"
silent "a choice beside what is none"
elsewhere
measures "another processor, beside what is no choice"
[ "$(grep -c '"choice"' "$kept")" -eq 2 ] || fail "no entry is left out: $(cat "$kept")"
# A file that cannot be read now stays as it is.  Root passes over permissions
# unless the right is taken.
unprivileged=
[ "$(id -u)" -ne 0 ] \
    || unprivileged='setpriv --inh-caps=-all --bounding-set=-dac_override,-dac_read_search'
cp "$kept" unread.json
chmod a-r "$kept"
if $unprivileged true 2>/dev/null && ! $unprivileged cat "$kept" >/dev/null 2>&1; then
    # shellcheck disable=SC2086 # several words
    timeout -k 5 $((120 * TIME_SCALE)) $unprivileged "$program" "${tiny[@]}" \
        >out 2>err </dev/null || fail "an unreadable file: $(cat err)"
    measures "an unreadable file"
    grep -q "; not kept: cannot be read: $kept: Permission denied\$" err \
        || fail "an unreadable file: $(cat err)"
fi
chmod u+r "$kept"
cmp -s "$kept" unread.json || fail "an unreadable file was written"
sed -i 's/"version": "/&old /' "$kept"
replaced 'no longer holds: default is .* now'

# The default is slower here: the other library is taken, by both ranks, until
# the library is gone.
mkdir libraries
cp "$right" libraries/libblis.so.4
export LD_PRELOAD=$doubles/blas_slow.so
if ! sanitized; then
    LD_LIBRARY_PATH=$PWD/libraries well 2 "${tiny[@]}" "${parallel[@]}" --blas measure
    grep -q '^BLAS: \(amx\|blis\|onednn\|mkl\|aocl\),' err || fail "a slow default: $(cat err)"
    measures "a slow default"
    cat err
    chosen=$(sed -n 's/^BLAS: \([a-z]*\),.*/\1/p' err)
    sed -i "s/\"choice\": \"$chosen\"/\"choice\": \"blis\"/" "$kept"
    LD_LIBRARY_PATH=$PWD/libraries well 2 "${tiny[@]}" "${parallel[@]}"
    [ ! -s err ] || fail "the kept choice: $(cat err)"
    grep -q '^machine: .*/libraries/libblis.so.4$' out || fail "blis: $(grep machine out)"
    like_default "libblis.so.4 of our own"
    cp "$doubles/blas_wrong.so" libraries/libblis.so.4
    LD_LIBRARY_PATH=$PWD/libraries well 1 "${tiny[@]}"
    grep -q 'blas.json no longer holds: --blas blis: its products' err \
        || fail "a library that is wrong now: $(cat err)"
fi
unset LD_PRELOAD

# StarPU measured the buses in the build, not here.
[ ! -e "$XDG_CACHE_HOME/.starpu" ] || fail "StarPU: $(find "$XDG_CACHE_HOME/.starpu")"

# A cache directory that cannot be made, or none.
echo >file
XDG_CACHE_HOME=$PWD/file well 1 "${tiny[@]}"
measures "no cache directory"
grep -q '; not kept: .*file' err || fail "no cache directory: $(cat err)"
env -u XDG_CACHE_HOME -u HOME "$program" "${tiny[@]}" >out 2>err || fail "no HOME: $(cat err)"
[ ! -s err ] || fail "no HOME: $(cat err)"

finish
