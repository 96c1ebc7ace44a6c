"""Spack's StarPU with two changes and the limits of launch/setup."""

from spack_repo.builtin.packages.starpu.package import Starpu as BuiltinStarpu

from spack.package import *


class Starpu(BuiltinStarpu):
    __doc__ = BuiltinStarpu.__doc__

    with when("@1.4.10"):
        patch("../../../../../starpu/cuda13-compute-mode.patch")
        patch("../../../../../starpu/idle-yield.patch")

    def configure_args(self):
        return super().configure_args() + [
            "--enable-maxcpus=64",
            "--enable-maxcudadev=8",
            "--enable-maxnodes=16",
            "--enable-maxbuffers=16",
        ]
