# StarPU 1.4, built once per flavour into the cache directory.
# Sourced by launch/setup and those who look for the result, after common.sh.
#
# The source comes from Debian's source package, through an apt configuration
# of our own, so that the system's list of sources stays as it is.  Any 1.4
# will do; the pinned one is what the tests ran with.

STARPU_PIN=1.4.10+dfsg
STARPU_PIN_DEBIAN=2
STARPU_PIN_SHA256=6b3bb9ec0d79f937882148b2da09ae6cb0ad4d1e83a104be45723dd70eba99c3
# Raise it when the options below or the patches change: an older build in
# the cache is then made anew.
STARPU_RECIPE=3

# starpu_current PREFIX: whether this is a finished build by the recipe, which has
# the CUDA toolkit of this machine, if it has one.
starpu_current() {
    [ -e "$1/.mtlm-recipe-$STARPU_RECIPE" ] || return 1
    case $1 in
    *-cuda) ! cuda_there || starpu_has_toolkit "$1" ;;
    esac
}

# starpu_has_toolkit PREFIX: whether that StarPU loads the CUDA library of the
# toolkit.  Its own library says which one, and where.
starpu_has_toolkit() {
    local dynamic library home path
    dynamic=$(readelf -d "$1"/lib*/libstarpu-1.4.so 2>/dev/null) || return 1
    library=$(sed -n 's/.*(NEEDED).*\[\(libcudart[.].*\)\]/\1/p' <<<"$dynamic")
    [ -n "$library" ] && cuda_has "$library" || return 1
    home=$(readlink -m "$(cuda_home)/lib64")
    while read -r path; do
        [ "$(readlink -m "$path")" != "$home" ] || return 0
    done < <(sed -n 's/.*(R[UN]*PATH).*\[\(.*\)\]/\1/p' <<<"$dynamic" | tr : '\n')
    return 1
}

# starpu_find FLAVOUR: prints the prefix of a current build, the pinned version
# first, else the newest.
starpu_find() {
    local dir found=
    dir=$CACHE/starpu-${STARPU_PIN%+dfsg}-$1
    if starpu_current "$dir"; then
        printf '%s\n' "$dir"
        return 0
    fi
    for dir in "$CACHE"/starpu-1.4*-"$1"; do
        starpu_current "$dir" || continue
        found=$(printf '%s\n%s\n' "$found" "$dir" | sort -V | tail -n 1)
    done
    [ -n "$found" ] && printf '%s\n' "$found"
}

# starpu_outdated PREFIX: whether this is a build in the cache, by an older recipe
# or with another CUDA toolkit.
starpu_outdated() {
    case $1 in
    "$CACHE"/starpu-*) ! starpu_current "$1" ;;
    *) return 1 ;;
    esac
}

# starpu_build FLAVOUR: cpu, cuda, or sim (SimGrid: virtual time).  Sets
# STARPU_PREFIX.
starpu_build() {
    local flavour=$1
    STARPU_PREFIX=$(starpu_find "$flavour") || STARPU_PREFIX=
    if [ -n "$STARPU_PREFIX" ]; then
        say "  StarPU ($flavour): $STARPU_PREFIX"
        return 0
    fi
    # One build at a time; who waited finds the other's work done.
    starpu_lock
    STARPU_PREFIX=$(starpu_find "$flavour") || STARPU_PREFIX=
    [ -n "$STARPU_PREFIX" ] || starpu_build_locked "$flavour"
    cache_unlock
}

# Takes the lock on the source and the builds of StarPU.
starpu_lock() {
    cache_lock starpu.lock "another set-up builds StarPU"
}

starpu_build_locked() {
    local flavour=$1 log=$CACHE/log/starpu-$1.log work=$CACHE/build-starpu-$1
    : >"$log"
    rm -rf "$work" && mkdir -p "$work" || die "cannot write to $work"
    starpu_source "$log"
    STARPU_PREFIX=$CACHE/starpu-${STARPU_VERSION%+dfsg}-$flavour
    step "unpacking StarPU $STARPU_VERSION" "$log" \
        tar xf "$STARPU_TARBALL" -C "$work" --strip-components=1
    starpu_patch "$work" "$log" "$flavour"
    mkdir -p "$work/build"
    step "configuring StarPU ($flavour)" "$log" \
        starpu_configure "$flavour" "$work/build" "$STARPU_PREFIX"
    STEP_COUNT="starpu_count $work/build" \
        step "compiling StarPU ($flavour, -j$JOBS)" "$log" \
        make -C "$work/build" -j"$JOBS"
    # An older build serves its programs until this one is compiled.
    step "installing StarPU" "$log" starpu_install "$work/build"
    # Measures the buses of this machine once, before ranks do it at the
    # same moment.
    [ "$flavour" = sim ] \
        || step "StarPU looks at this machine" "$log" \
            env STARPU_SILENT=1 "$STARPU_PREFIX/bin/starpu_machine_display"
    cp "$log" "$STARPU_PREFIX/build.log"
    : >"$STARPU_PREFIX/.mtlm-recipe-$STARPU_RECIPE"
    # NFS keeps a file that is still open: the build is good all the same.
    rm -rf "$work" || warn "$work is left over"
    say "  StarPU ($flavour): $STARPU_PREFIX"
}

starpu_install() {
    rm -rf "$STARPU_PREFIX"
    make -C "$1" install
}

starpu_count() {
    printf '%d files compiled' "$(find "$1" -name '*.o' | wc -l)"
}

# starpu_patch DIR LOG FLAVOUR: applies each change of launch/starpu/ that
# still fits.
starpu_patch() {
    local file name
    for file in "$LAUNCH"/starpu/*.patch; do
        name=$(basename "$file" .patch)
        if patch -d "$1" -p1 --dry-run --force <"$file" >>"$2" 2>&1; then
            patch -d "$1" -p1 --force <"$file" >>"$2" 2>&1
            say "  applied $name"
        elif patch -d "$1" -p1 -R --dry-run --force <"$file" >>"$2" 2>&1; then
            say "  $name: this StarPU has it already"
        else
            warn "$name does not fit this StarPU and is left out"
        fi
    done
}

# Runs in a shell of its own, which changes its directory.
starpu_configure() (
    local flavour=$1 build=$2 prefix=$3
    local cuda
    cuda=$(cuda_home)
    set -- --prefix="$prefix" \
        --disable-build-doc --disable-build-examples --disable-build-tests \
        --disable-opencl --disable-hip --disable-fortran \
        --disable-starpufft --disable-mlr --disable-static \
        --disable-valgrind --disable-glpk --disable-papi --without-x \
        --disable-gdb --disable-full-gdb-information \
        --with-fxt --enable-fast CFLAGS=-O2 \
        --enable-maxcpus=64 --enable-maxcudadev=8 --enable-maxnodes=16 \
        --enable-maxbuffers=16
    cd "$build" || return
    case $flavour in
    cpu)
        ../configure "$@" --disable-cuda
        ;;
    sim)
        # Assertions find errors in a graph, and cost nothing here.  A simulated
        # rank has four workers or more.
        ../configure "$@" --disable-cuda --disable-mpi --disable-fast \
            --enable-simgrid --enable-maxcpus=4096 --enable-maxnodes=4 \
            --enable-maxcudadev=1 --enable-maxhipdev=1 \
            --enable-maxopencldev=1 --enable-maxmaxfpgadev=1
        ;;
    cuda)
        # The stubs stand in for the driver, which building does not need.
        # The rpath is for a toolkit that the system's linker does not know.
        # cuBLASLt, cuSOLVER and cuSPARSE serve no codelet through StarPU, and
        # loading them costs each start 0.1 s: configure is told that they are
        # absent.
        PATH=$cuda/bin:$PATH LIBRARY_PATH=$cuda/lib64/stubs \
            ac_cv_lib_cublasLt_cublasLtCreate=no \
            ac_cv_lib_cusparse_cusparseCreate=no \
            ac_cv_lib_cusolver_cusolverDnCreate=no \
            ../configure "$@" --enable-cuda --with-cuda-dir="$cuda" \
            LDFLAGS="-L$cuda/lib64/stubs -Wl,-rpath,$cuda/lib64" || return
        # StarPU's configure goes on without CUDA when it finds it lacking.
        grep -q '^#define STARPU_USE_CUDA 1' include/starpu_config.h || {
            echo "StarPU's configure could not use the CUDA in $cuda"
            return 1
        }
        ;;
    esac
)
