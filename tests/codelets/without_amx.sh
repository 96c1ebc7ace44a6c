#!/bin/bash
# Where the processor has AMX: products by AVX512_BF16, which AMX hides.
set -eu

if ! grep -qw amx_bf16 /proc/cpuinfo; then
    echo "the processor has no AMX: other tests multiply without AMX"
    exit 77
fi
grep -qx '#define HAVE_ONEDNN 1' config.h || {
    echo "this build has no oneDNN"
    exit 77
}
export ONEDNN_MAX_CPU_ISA=AVX512_CORE_BF16
for test in bf16_product packed_product attention_bf16; do
    "tests/codelets/test_$test.t"
done
