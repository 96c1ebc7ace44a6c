#!/bin/bash
# Products by AVX512_BF16, where other tests do not multiply that way: AMX hides
# it, and on Intel's processors only who asks gets it (codelets/bf16_product.c).
set -eu

if ! grep -qw amx_bf16 /proc/cpuinfo \
    && ! { grep -q GenuineIntel /proc/cpuinfo && grep -qw avx512_bf16 /proc/cpuinfo; }; then
    echo "the processor hides no AVX512_BF16 from other tests"
    exit 77
fi
grep -qx '#define HAVE_ONEDNN 1' config.h || {
    echo "this build has no oneDNN"
    exit 77
}
export ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16
for test in codelets/test_bf16_product codelets/test_packed_product \
    codelets/test_attention_bf16 graph/test_packing; do
    "tests/$test.t"
done
