#!/bin/bash
# No host code calls a function that only the GPU has.  In a template nvcc accepts
# such a call without a word and compiles exit(1) in its place: the process ends
# in silence, on a real GPU alone.
set -eu

objects=(codelets/*.o codelets/attention/*.o)
for object in "${objects[@]}"; do
    ! nm -u "$object" | grep -q ' cudaLaunchKernel' || kernels=yes
    if nm -u "$object" | grep -qx ' *U exit'; then
        echo "$object: host code calls a function of the GPU (or exit())"
        wrong=yes
    fi
done
[ "${kernels:-}" ] || {
    echo "no object has kernels: built without CUDA"
    exit 77
}
[ -z "${wrong:-}" ]
