#!/bin/bash
# StarPU's CUDA build takes the device double for GPUs.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

display=$STARPU_PREFIX/bin/starpu_machine_display
unset STARPU_NCUDA

seen() {
    gpus "$@" "$display" 2>/dev/null | grep -c 'CUDA [0-9.]* (Device double'
}

[ "$(seen 2)" -ge 2 ] || fail "two devices: $(gpus 2 "$display" 2>&1)"
[ "$(seen 0)" -eq 0 ] || fail "there is none"
[ "$(seen 2 MTLM_DOUBLE_DRIVER=12040)" -eq 0 ] || fail "the driver is too old"
finish
