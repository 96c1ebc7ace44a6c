# Configuring and compiling in build/.  Sourced by launch/setup after
# common.sh.

# What build/ was configured with: the prefix of StarPU and the option.
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

# Sets STARPU_PREFIX to the StarPU that build/ uses already, if it does.  A
# StarPU of an older recipe is made anew: sets DEFAULT_FLAVOUR to its flavour.
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
# yes, no, or nothing: then a configured tree stays as it is.  make itself
# sees to a changed configure.ac or Makefile.am.
build_make() {
    local log=$CACHE/log/build.log option=--with-cuda=${1:-auto} record
    record="$STARPU_PREFIX $option"
    cd "$ROOT"
    mkdir -p build && [ -w build ] || die "cannot write to $ROOT/build"
    : >"$log"
    if [ "$(readlink -m "$(build_prefix)")" != "$(readlink -m "$STARPU_PREFIX")" ] \
        || { [ -n "$1" ] && [ "$(cat "$RECORD" 2>/dev/null)" != "$record" ]; } \
        || ! build_simgrid_known; then
        rm -f "$RECORD"
        step "configuring mtlm-dag" "$log" build_configure "$option"
        printf '%s\n' "$record" >"$RECORD"
    fi
    step "compiling mtlm-dag (-j$JOBS)" "$log" make -C build -j"$JOBS"
}

# Whether build/ uses the StarPU with SimGrid, if one was asked for.
build_simgrid_known() {
    [ -z "${SIMGRID_PREFIX:-}" ] \
        || grep -qxF "STARPU_SIMGRID_PREFIX = $SIMGRID_PREFIX" build/Makefile
}

# Whether build/ has a StarPU with SimGrid that an older recipe made.
build_simgrid_outdated() {
    local prefix
    prefix=$(sed -n 's/^STARPU_SIMGRID_PREFIX = //p' "$ROOT/build/Makefile" \
        2>/dev/null) || return 1
    [ -n "$prefix" ] && starpu_outdated "$prefix"
}

build_configure() {
    (cd build && ../configure --with-starpu="$STARPU_PREFIX" \
        ${SIMGRID_PREFIX:+--with-starpu-simgrid="$SIMGRID_PREFIX"} "$@")
}
