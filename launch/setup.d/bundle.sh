# What a bundle holds.  Sourced by launch/bundle after common.sh.

# Programs besides mtlm-dag, as paths in the build directory.
BUNDLE_PROGRAMS="mtlm-preprocess mtlm-convert mtlm-report
    tests/codelets/test_cuda.t perf/samples"
# Scripts and data, as paths in the source directory.
BUNDLE_FILES="launch/run perf/gpu-check launch/clusters perf/bench
    perf/gpu_vs_pytorch LICENSE
    man/mtlm-convert.1 man/mtlm-preprocess.1 man/mtlm-report.1"
# Open MPI's plug-ins for networks and batch systems want libraries that are
# not there on every machine; on one host it needs none of them.
BUNDLE_NO_PLUGIN='ucx|ofi|psm|openib|verbs|gridengine|slurm|monitoring|flux|tm_'
# Never packed: they belong to the system and to the driver.
BUNDLE_SYSTEM='^(linux-vdso|ld-linux|libc|libm|libdl|librt|libpthread|libresolv)[-.]'
BUNDLE_CUDA='^lib(cuda|cudart|cublas|cublasLt|cusparse|cusolver|nvJitLink|nvrtc|nccl|cudnn[a-z_]*)[.]so'

# Compiles in build-bundle/ and sets BUILD.
bundle_compile() {
    local log=$CACHE/log/bundle.log option=--without-cuda
    ! cuda_there || option=--with-cuda
    "$LAUNCH/setup" --tests "$option"
    BUILD=$ROOT/build-bundle
    : >"$log"
    mkdir -p "$BUILD"
    if ! bundle_is_configured "$option"; then
        step "configuring in build-bundle/" "$log" bundle_configure "$option"
    fi
    # One after the other: "all" is a make of its own, which would compile the
    # files of the programs a second time beside this one.
    step "compiling" "$log" make -C "$BUILD" -j"$(jobs_default)" all
    step "compiling tests" "$log" make -C "$BUILD" -j"$(jobs_default)" \
        $BUNDLE_PROGRAMS
}

# bundle_starpu OPTION: the StarPU of a bundle --with-cuda or --without-cuda.
bundle_starpu() {
    case $1 in
    --with-cuda) starpu_find cuda ;;
    *) starpu_find cpu ;;
    esac
}

# Whether build-bundle/ has the StarPU of that option and none with SimGrid, the
# CUDA toolkit, and the GPU architectures.
bundle_is_configured() {
    grep -qsxF "STARPU_PREFIX = $(bundle_starpu "$1")" "$BUILD/Makefile" \
        && grep -qx 'STARPU_SIMGRID_PREFIX = *' "$BUILD/Makefile" \
        && cuda_known "$BUILD" && cuda_archs_known "$BUILD"
}

# A bundle has no mtlm-dag-sim.
bundle_configure() (
    portable=yes
    [ "$(uname -m)" != x86_64 ] || portable=x86-64-v3
    cd "$BUILD" && ../configure "$1" --enable-portable=$portable \
        --with-starpu="$(bundle_starpu "$1")" --without-starpu-simgrid
)

# bundle_libraries DIR: what the programs and plug-ins in there are linked
# with, as paths, each once.
bundle_libraries() {
    find "$1" -type f \( -perm -u+x -o -name '*.so' \) ! -name '*.py' \
        -exec ldd {} + 2>/dev/null \
        | awk '$2 == "=>" && $3 ~ /^\// { print $1, $3 }' | sort -u \
        | while read -r name path; do
            [[ $name =~ $BUNDLE_SYSTEM || $name =~ $BUNDLE_CUDA ]] \
                || printf '%s\n' "$path"
        done
}

# ompi_path NAME: one of the directories that Open MPI was built for.
ompi_path() {
    ompi_info --path "$1" | sed 's/.*: *//'
}

# Open MPI finds its parts below OPAL_PREFIX where they were below its prefix.
bundle_mpi() {
    local mpi=$1/mpi prefix plugins data file
    prefix=$(ompi_path prefix)
    plugins=$(ompi_path pkglibdir)
    data=$(ompi_path pkgdatadir)
    mkdir -p "$mpi/bin" "$mpi/${plugins#"$prefix"/}" "$mpi/${data#"$prefix"/}"
    for file in "$plugins"/mca_*.so; do
        [[ ${file##*/} =~ $BUNDLE_NO_PLUGIN ]] \
            || cp -L "$file" "$mpi/${plugins#"$prefix"/}/"
    done
    cp -L "$data"/*.txt "$mpi/${data#"$prefix"/}/"
    # PMIx, which starts the ranks, looks in PMIX_LIBDIR and PMIX_DATADIR.
    for file in /usr/lib/*/pmix2; do
        [ ! -d "$file/lib/pmix" ] || {
            mkdir -p "$1/pmix/lib"
            cp -a "$file/share" "$1/pmix/"
            cp -a "$file/lib/pmix" "$1/pmix/lib/"
        }
    done
    cp -L "$(command -v orterun)" "$mpi/bin/mpirun"
    cp -L "$(command -v orted)" "$mpi/bin/"
}

bundle_collect() {
    local build=$1 out=$2 file
    rm -rf "$out"
    mkdir -p "$out/build" "$out/lib"
    : >"$out/bundle.txt" # the next call may replace a bundle that is not whole
    for file in mtlm-dag $BUNDLE_PROGRAMS; do
        [ -x "$build/$file" ] \
            || die "$build/$file is not compiled: make -C $build $file"
        install -D -s "$build/$file" "$out/build/$file"
    done
    for file in $BUNDLE_FILES; do
        mkdir -p "$out/$(dirname "$file")"
        cp -a "$ROOT/$file" "$out/$(dirname "$file")/"
    done
    install -m 644 "$build/man/mtlm-dag.1" "$out/man/"
    find "$out" -name __pycache__ -prune -exec rm -rf {} +
    bundle_mpi "$out"
    bundle_libraries "$out" | while read -r file; do
        install -s -m 644 "$file" "$out/lib/"
    done
    install -m 755 "$LAUNCH/setup.d/bundle-run.sh" "$out/run"
    bundle_about "$build" >"$out/bundle.txt"
    say "$out: $(du -sm "$out" | cut -f 1) MB"
}

# What is inside, for people and for gpu-check's record.
bundle_about() {
    "$1/mtlm-dag" --version
    printf 'commit %s\n' "$(git -C "$ROOT" describe --always --dirty \
        2>/dev/null || echo unknown)"
    printf 'compiler flags%s\n' "$(sed -n 's/^AM_CFLAGS_SHOWN = / /p;
        s/^ARCH_CFLAGS =/ /p' "$1/Makefile" | tr -s ' ')"
    printf 'GPU architectures%s\n' \
        "$(sed -n 's/^NVCC_GENCODE =/ /p' "$1/Makefile" | tr -s ' ')"
    sed -n 's/^STARPU_PREFIX = .*\/starpu-/StarPU /p' "$1/Makefile"
}

bundle_pack() {
    local out=$1
    tar -C "$(dirname "$out")" --sort=name --owner=0 --group=0 \
        -cJf "$out.tar.xz" "$(basename "$out")"
    say "$out.tar.xz: $(($(stat -c %s "$out.tar.xz") / 1000000)) MB"
}
