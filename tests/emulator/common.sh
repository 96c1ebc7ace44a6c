# shellcheck shell=bash
# What the scripts of this folder share; to be sourced.

# shellcheck source=tests/mpi/common.sh
. "${srcdir:-.}/tests/mpi/common.sh"

# Where StarPU keeps what it measured of the buses: of devices that are none.
export STARPU_PERF_MODEL_DIR=$dir/.starpu/sampling

# on_gpus N: from here on there are N devices of the double; on_cpus: none.
on_gpus() {
    export LD_LIBRARY_PATH=${builddir:-.}/tests/emulator/lib
    export MTLM_DOUBLE_GPUS=$1 MTLM_DOUBLE_MIB=2048
    program=${builddir:-.}/tests/emulator/mtlm-dag
    unset STARPU_NCUDA
}

on_cpus() {
    unset LD_LIBRARY_PATH MTLM_DOUBLE_GPUS
    export STARPU_NCUDA=0
    program=${builddir:-.}/mtlm-dag
}
