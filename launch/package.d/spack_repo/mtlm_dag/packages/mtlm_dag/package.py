"""mtlm-dag, built from the source tree that this file stands in."""

from spack_repo.builtin.build_systems.autotools import AutotoolsPackage

from spack.package import *


class MtlmDag(AutotoolsPackage):
    """Trains GPT and BERT with tensor, pipeline and data parallelism, as one
    task graph on StarPU and MPI."""

    license("BSD-3-Clause")

    # docs/install.md has the command that builds the tree.
    version("0.1.0")

    variant("cuda", default=False, description="Train on GPUs")

    depends_on("c", type="build")
    depends_on("autoconf@2.71:", type="build")
    depends_on("automake@1.16:", type="build")
    depends_on("pkgconfig", type="build")

    # The version that the tests run with.
    depends_on("starpu@1.4.10+shared+fast+fxt~mpi~examples~opencl~openmp")
    depends_on("starpu+cuda", when="+cuda")
    depends_on("starpu~cuda", when="~cuda")
    depends_on("cuda@13:", when="+cuda")
    depends_on("mpi")
    depends_on("openblas")
    depends_on("hwloc@2.5:")
    depends_on("inih")
    depends_on("glpk")
    depends_on("jansson@2.12:")
    depends_on("liburing")
    depends_on("utf8proc@2.4:")
    depends_on("xxhash@0.8:")
    # mtlm-run starts mpirun by setpriv; mtlm-compare is a Python script.
    depends_on("util-linux", type="run")
    depends_on("python@3:", type="run")

    # The tree keeps its own build/.
    build_directory = "build-spack"

    def configure_args(self):
        # Spack's compiler sets the processor itself.
        args = ["--enable-portable", "--with-starpu=" + self.spec["starpu"].prefix]
        if self.spec.satisfies("+cuda"):
            args.append("--with-cuda=" + self.spec["cuda"].prefix)
        else:
            args.append("--without-cuda")
        return args
