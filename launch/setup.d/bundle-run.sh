#!/bin/sh
# Runs a command with what is in this bundle: programs by name, mpirun too.
# CUDA's libraries are those of $CUDA_HOME; without it those that PyTorch brings,
# so that a comparison is of programs with the same libraries; or the system's.
here=$(CDPATH="" cd -- "$(dirname "$0")" && pwd)
if [ $# -eq 0 ]; then
    echo "usage: $0 COMMAND [ARGUMENT]...   (mpirun, mtlm-dag, ...)" >&2
    exit 2
fi
cuda=${CUDA_HOME:+$CUDA_HOME/lib64:}
for dir in $(python3 - 2>/dev/null <<'END'
import glob
import importlib.util

found = importlib.util.find_spec("nvidia")
for path in found.submodule_search_locations if found else []:
    print(*glob.glob(path + "/*/lib"), sep="\n")
END
); do
    cuda=$cuda$dir:
done
cuda=$cuda${CUDA_HOME:-/usr/local/cuda}/lib64
export PATH="$here/build:$here/mpi/bin:$PATH"
export LD_LIBRARY_PATH="$here/lib:$cuda${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
export OPAL_PREFIX="$here/mpi"
export PMIX_LIBDIR="$here/pmix/lib" PMIX_DATADIR="$here/pmix/share"
export HWLOC_PLUGINS_PATH="$here/lib/hwloc"
# One host: neither a batch system nor a network but shared memory.
export OMPI_MCA_plm=isolated OMPI_MCA_btl=self,vader,tcp
# Containers may forbid a process to read another's memory.
export OMPI_MCA_btl_vader_single_copy_mechanism=none
exec "$@"
