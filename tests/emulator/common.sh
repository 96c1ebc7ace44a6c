# shellcheck shell=bash
# What the scripts of this folder share; to be sourced.

# shellcheck source=tests/mpi/common.sh
. "${srcdir:-.}/tests/mpi/common.sh"

# Where StarPU keeps what it measured of the buses: of devices that are none.
export STARPU_HOME=$dir

# gpus N [NAME=VALUE...] COMMAND...: with N devices of the double.
gpus() {
    local n=$1
    shift
    env LD_LIBRARY_PATH="${builddir:-.}/tests/emulator/lib" \
        MTLM_DOUBLE_GPUS="$n" MTLM_DOUBLE_MIB=64 "$@"
}
