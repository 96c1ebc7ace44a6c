#!/bin/bash
# StarPU's CUDA build takes the device double for GPUs.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

display=$STARPU_PREFIX/bin/starpu_machine_display

# seen N: the double has N devices, and StarPU a worker for each.
seen() {
    on_gpus "$1"
    MTLM_DOUBLE_MIB=64 "$display" >display 2>/dev/null
    grep -q "^$2 CUDA worker" display || fail "$1 devices: $(cat display)"
}

seen 0 No
seen 2 2
MTLM_DOUBLE_DRIVER=12040 seen 2 No
finish
