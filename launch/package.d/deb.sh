# The Debian package.  Sourced by launch/package after common.sh, starpu.sh,
# source.sh and build.sh.

# VERSION: the version in configure.ac.
VERSION=$(sed -n 's/^AC_INIT(\[mtlm-dag\], \[\([^]]*\)\].*/\1/p' \
    "$ROOT/configure.ac")
# The distribution's number of this package.
REVISION=1

# Makes OUTPUT and TREE, the place of the unpacked source, absolute.  Locks OUTPUT
# for the rest of the script.  Removes what an earlier call left, and nothing else.
deb_open_output() {
    [ -n "$VERSION" ] || die "configure.ac names no version"
    case $OUTPUT in
    *[[:space:]]*) die "--output=$OUTPUT: make supports no space in a name" ;;
    esac
    [ ! -e "$OUTPUT" ] || [ -d "$OUTPUT" ] \
        || die "--output=$OUTPUT: is there already, and is no directory"
    mkdir -p "$OUTPUT" 2>/dev/null && [ -r "$OUTPUT" ] && [ -w "$OUTPUT" ] \
        || die "--output=$OUTPUT: cannot be made or written to"
    # The directory itself: a file for the lock would be none of a package.
    exec 8<"$OUTPUT"
    result_lock "$OUTPUT" "another launch/package works in $OUTPUT"
    # A call that failed early leaves only its log.
    if [ -n "$(ls -A "$OUTPUT" 2>/dev/null)" ] \
        && [ -z "$(ls "$OUTPUT"/mtlm-dag_*.orig.tar.xz \
            "$OUTPUT"/mtlm-dag_*.log 2>/dev/null)" ]; then
        die "--output=$OUTPUT: is not empty, and holds no package of mtlm-dag"
    fi
    OUTPUT=$(cd "$OUTPUT" && pwd)
    TREE=$OUTPUT/mtlm-dag-$VERSION
    rm -rf "$TREE" "$OUTPUT"/mtlm-dag_* "$OUTPUT"/mtlm-dag-*_*
}

# deb_log: prints the path of the log.  The log is in OUTPUT: calls with other
# directories at the same time have logs of their own.
deb_log() {
    printf '%s\n' "$OUTPUT/mtlm-dag_$VERSION.log"
}

# deb_dist LOG: the archive of make dist, as OUTPUT/mtlm-dag_VERSION.orig.tar.xz.
# configure asks only whether StarPU is there: a description of none is enough.
# Each call has a directory of its own, which goes away also after a failure.
deb_dist() {
    local log=$1 work
    DEB_WORK=$(mktemp -d "$CACHE/package.XXXXXX")
    work=$DEB_WORK
    at_end 'rm -rf "$DEB_WORK"'
    mkdir -p "$work/starpu/lib/pkgconfig"
    printf '%s\n' "prefix=$work/starpu" 'libdir=${prefix}/lib' 'Name: starpu' \
        'Description: for make dist alone' 'Version: 1.4' \
        >"$work/starpu/lib/pkgconfig/starpu-1.4.pc"
    autogen
    step "configuring for make dist" "$log" deb_configure "$work"
    step "make dist" "$log" make -C "$work" dist
    mv "$work/mtlm-dag-$VERSION.tar.xz" \
        "$OUTPUT/mtlm-dag_$VERSION.orig.tar.xz"
    rm -rf "$work"
}

deb_configure() {
    cd "$1" && "$ROOT/configure" --with-cuda=no --with-starpu="$1/starpu"
}

# The maintainer, as the distribution's tools ask for one.
deb_maintainer() {
    printf '%s <%s>\n' "${DEBFULLNAME:-mtlm-dag packager}" \
        "${DEBEMAIL:-${EMAIL:-$(id -un)@$(cat /etc/mailname 2>/dev/null \
            || hostname -f)}}"
}

# deb_debian: TREE/debian, with maintainer, version and date.
deb_debian() {
    local maintainer control
    maintainer=$(deb_maintainer)
    cp -r "$LAUNCH/package.d/debian" "$TREE/debian"
    chmod +x "$TREE/debian/rules"
    control=$(<"$LAUNCH/package.d/debian/control")
    printf '%s\n' "${control//@MAINTAINER@/"$maintainer"}" >"$TREE/debian/control"
    printf '%s\n' "mtlm-dag ($VERSION-$REVISION) unstable; urgency=medium" '' \
        "  * Package of version $VERSION, made by launch/package." '' \
        " -- $maintainer  $(date -R -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}")" \
        >"$TREE/debian/changelog"
}

# deb_source: the source package, and TREE, from which it was made.
deb_source() {
    local log suffix
    log=$(deb_log)
    : >"$log"
    starpu_lock
    starpu_source "$log"
    cache_unlock
    deb_dist "$log"
    suffix=${STARPU_TARBALL##*.orig.}
    cp "$STARPU_TARBALL" "$OUTPUT/mtlm-dag_$VERSION.orig-starpu.$suffix"
    mkdir -p "$TREE/starpu"
    step "unpacking" "$log" \
        tar xf "$OUTPUT/mtlm-dag_$VERSION.orig.tar.xz" -C "$OUTPUT"
    step "unpacking StarPU $STARPU_VERSION" "$log" \
        tar xf "$STARPU_TARBALL" -C "$TREE/starpu" --strip-components=1
    deb_debian
    step "making the source package" "$log" deb_make_source
}

deb_make_source() {
    cd "$OUTPUT" && dpkg-source -b "${TREE##*/}"
}

# deb_build: the binary packages.
deb_build() {
    STEP_COUNT="starpu_count $TREE" \
        step "compiling the packages (-j$JOBS)" "$(deb_log)" deb_make_binary
}

deb_make_binary() {
    cd "$TREE" && dpkg-buildpackage -b -us -uc -j"$JOBS"
}
