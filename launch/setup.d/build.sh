# Configuring and compiling in build/.  Sourced by launch/setup after
# common.sh.

# What build/ was configured with: the prefix of StarPU and the option, with the
# place of the CUDA toolkit.
RECORD=build/.mtlm-configured

# ./configure, made anew when one of its sources changed.
autogen() {
    cd "$ROOT"
    if [ -e configure ] && [ -e Makefile.in ] && [ -e config.h.in ] \
        && [ -z "$(find configure.ac Makefile.am m4 ./*/include.am \
            ./tests/*/include.am -newer configure -print -quit)" ]; then
        return 0
    fi
    step "autoreconf" "$CACHE/log/autoreconf.log" autoreconf -i
    # autoreconf leaves alone what did not change; make must not run it again.
    touch aclocal.m4
    touch configure config.h.in Makefile.in
}

# The prefix of StarPU in build/Makefile, which the user may have configured.
build_prefix() {
    sed -n 's/^STARPU_PREFIX = //p' "$ROOT/build/Makefile" 2>/dev/null || true
}

# Sets CUDA_HOME to the toolkit of build/, unless the user names another one.
build_toolkit() {
    local known
    known=$(cuda_of_tree "$ROOT/build")
    [ -n "$known" ] && [ -x "${known% *}/bin/nvcc" ] || return 0
    export CUDA_HOME="${CUDA_HOME:-${known% *}}"
}

# Sets STARPU_PREFIX to the StarPU that build/ uses already, if it does.  A
# StarPU that is outdated is made anew: sets DEFAULT_FLAVOUR to its flavour.
build_starpu() {
    STARPU_PREFIX=$(build_prefix)
    [ -n "$STARPU_PREFIX" ] || return 0
    if starpu_outdated "$STARPU_PREFIX"; then
        DEFAULT_FLAVOUR=${STARPU_PREFIX##*-}
        STARPU_PREFIX=
    elif [ ! -d "$STARPU_PREFIX/lib" ] && [ ! -d "$STARPU_PREFIX/lib64" ]; then
        STARPU_PREFIX=
    fi
}

# build_make CUDA: configures, unless that is done, and compiles.  CUDA is
# yes, no, or nothing: then a configured tree stays as it is, except that another
# toolkit takes the place of its own.  make itself sees to a changed configure.ac
# or Makefile.am.
build_make() {
    local log=$CACHE/log/build.log option=${1:+--with-cuda=$1} record
    cd "$ROOT"
    mkdir -p build && [ -w build ] || die "cannot write to $ROOT/build"
    : >"$log"
    if [ "$1" = yes ] || { [ -z "$1" ] && ! cuda_known build; }; then
        option=--with-cuda=$(cuda_home)
    fi
    record="$STARPU_PREFIX $option"
    if ! build_is_configured "$1" "$record"; then
        rm -f "$RECORD"
        step "configuring mtlm-dag" "$log" build_configure ${option:+"$option"}
        printf '%s\n' "$record" >"$RECORD"
    fi
    step "compiling mtlm-dag (-j$JOBS)" "$log" make -C build -j"$JOBS"
}

# build_is_configured CUDA RECORD: whether build/ has this StarPU, what was asked
# for, and what the machine has.
build_is_configured() {
    [ "$(readlink -m "$(build_prefix)")" = "$(readlink -m "$STARPU_PREFIX")" ] \
        && { [ -z "$1" ] || [ "$(cat "$RECORD" 2>/dev/null)" = "$2" ]; } \
        && build_simgrid_known && build_tests_known && cuda_known build \
        && cuda_archs_known build
}

# Whether build/ uses the StarPU with SimGrid, if one was asked for.
build_simgrid_known() {
    [ -z "${SIMGRID_PREFIX:-}" ] \
        || grep -qxF "STARPU_SIMGRID_PREFIX = $SIMGRID_PREFIX" build/Makefile
}

# Whether build/ uses cmocka, if the machine has it: without it most tests are
# left out, and nothing says so.
build_tests_known() {
    ! grep -qsx 'CMOCKA_LIBS = *' build/Makefile \
        || ! pkg-config --exists 'cmocka >= 1.1.5' 2>/dev/null
}

# Whether build/ has a StarPU with SimGrid that is outdated.
build_simgrid_outdated() {
    local prefix
    prefix=$(sed -n 's/^STARPU_SIMGRID_PREFIX = //p' "$ROOT/build/Makefile" \
        2>/dev/null) || return 1
    [ -n "$prefix" ] && starpu_outdated "$prefix"
}

# build_configure OPTION...: configures build/ with these options, and with those of
# the last time: the user may have given a prefix or compiler flags.
build_configure() {
    local earlier=() kept=() word new
    set -- --with-starpu="$STARPU_PREFIX" \
        ${SIMGRID_PREFIX:+--with-starpu-simgrid="$SIMGRID_PREFIX"} "$@"
    # It prints words as a shell reads them.
    [ ! -x build/config.status ] \
        || eval "earlier=($(build/config.status --config))"
    for word in ${earlier[@]+"${earlier[@]}"}; do
        for new; do
            [ "${word%%=*}" != "${new%%=*}" ] || continue 2
        done
        case $word in
        # A StarPU that is gone is no wish of the user.
        --with-starpu-simgrid=/*) [ -d "${word#*=}" ] || continue ;;
        # A compiler of another toolkit does not count.
        NVCC=*) [[ " $* " != *' --with-cuda=/'* ]] || continue ;;
        esac
        # Variables of today's environment count.
        [[ $word != [A-Z]*=* || ! -v ${word%%=*} ]] || continue
        kept+=("$word")
    done
    (cd build && ../configure ${kept[@]+"${kept[@]}"} "$@")
}
