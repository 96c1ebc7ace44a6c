#!/bin/bash
# StarPU's CUDA build takes the device double for GPUs.
#
# shellcheck source=tests/emulator/common.sh
. "${srcdir:-.}/tests/emulator/common.sh"

# The cache of a user, where StarPU must not keep what it measures of a double.
export XDG_CACHE_HOME=$dir/cache
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
[ -d "$STARPU_PERF_MODEL_DIR/bus" ] && [ ! -e "$XDG_CACHE_HOME/.starpu" ] \
    || fail "measured elsewhere: $(find . -name .starpu)"
finish
