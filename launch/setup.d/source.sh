# The source package of StarPU.  Sourced by launch/setup after starpu.sh.

# starpu_source LOG: sets STARPU_VERSION and STARPU_TARBALL, fetching it
# unless an earlier build left it in the cache.
starpu_source() {
    local log=$1 dir=$CACHE/source
    mkdir -p "$dir"
    STARPU_VERSION=$STARPU_PIN
    STARPU_TARBALL=$dir/starpu_$STARPU_PIN.orig.tar.gz
    if starpu_pin_good >>"$log" 2>&1; then
        say "  StarPU $STARPU_VERSION: source in the cache"
        return 0
    fi
    if starpu_taken "$dir" >>"$log" 2>&1; then
        warn "StarPU $STARPU_PIN was not on offer: $STARPU_VERSION from the cache"
        return 0
    fi
    STARPU_VERSION= STARPU_TARBALL=
    starpu_fetch "$log" "$dir"
    if [ -z "$STARPU_TARBALL" ]; then
        die "could not fetch the source package of StarPU 1.4 (no network?):" \
            "see $log; DEBIAN_MIRROR names another Debian archive, and" \
            "launch/setup takes your own StarPU by --with-starpu=DIR"
    fi
    if [ "$STARPU_VERSION" != "$STARPU_PIN" ]; then
        warn "StarPU $STARPU_PIN is not on offer, taking $STARPU_VERSION"
        (cd "$dir" && sha256sum "${STARPU_TARBALL##*/}" \
            >"instead-of-$STARPU_PIN.sha256")
    fi
}

starpu_pin_good() {
    [ -r "$STARPU_TARBALL" ] \
        && echo "$STARPU_PIN_SHA256  $STARPU_TARBALL" | sha256sum -c
}

# starpu_taken DIR: whether DIR has, whole, the source that was taken when the
# pinned one was not on offer.  Sets STARPU_VERSION and STARPU_TARBALL then.
starpu_taken() {
    local list=instead-of-$STARPU_PIN.sha256 file
    (cd "$1" && sha256sum -c "$list") || return 1
    file=$(sed 's/^[^ ]* *//' "$1/$list")
    STARPU_VERSION=${file#starpu_} STARPU_TARBALL=$1/$file
    STARPU_VERSION=${STARPU_VERSION%.orig.tar.*}
}

# Debian archives that this system uses already, one a line.  apt knows them
# in whichever form they are written down.
debian_archives() {
    if [ -n "${DEBIAN_MIRROR:-}" ]; then
        printf '%s\n' "$DEBIAN_MIRROR"
        return 0
    fi
    {
        apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' \
            2>/dev/null || true
        sed -n 's/^URIs: *//p' /etc/apt/sources.list.d/*.sources \
            2>/dev/null | tr ' ' '\n' || true
    } | grep -v -e security -e backports -e '^$' | sed 's,/*$,,' \
        | awk '!seen[$0]++'
}

# starpu_fetch LOG DIR: sid, then testing, of each archive.
starpu_fetch() {
    local log=$1 dir=$2 archive suite
    for archive in $(debian_archives); do
        for suite in sid testing; do
            starpu_fetch_from "$log" "$dir" "$archive" "$suite"
            [ -z "$STARPU_TARBALL" ] || return 0
        done
    done
}

# Sets STARPU_VERSION and STARPU_TARBALL when it succeeds.
starpu_fetch_from() {
    local log=$1 dir=$2 archive=$3 suite=$4 version file
    local key=/usr/share/keyrings/debian-archive-keyring.gpg
    APT_PRIVATE=$dir/apt-$suite
    rm -rf "$APT_PRIVATE"
    mkdir -p "$APT_PRIVATE/lists/partial" "$APT_PRIVATE/archives/partial"
    [ -r "$key" ] && key="[signed-by=$key] " || key=
    echo "deb-src $key$archive $suite main" >"$APT_PRIVATE/sources.list"
    STEP_MAY_FAIL=yes step "list of source packages ($suite)" "$log" \
        apt_private apt-get update
    version=$(starpu_offered)
    if [ -n "$version" ]; then
        step "source of StarPU $version" "$log" \
            starpu_download "$dir" "$version"
        file=$(find "$dir" -maxdepth 1 \
            -name "starpu_${version%-*}.orig.tar.*" ! -name '*.asc' | head -n 1)
        if [ -n "$file" ] && ! starpu_whole "$file"; then
            warn "$file is not what $archive offers, and is removed"
            rm -f "$file"
            file=
        fi
    fi
    rm -rf "$APT_PRIVATE"
    [ -n "${file:-}" ] || return 0
    if [ "${version%-*}" = "$STARPU_PIN" ]; then
        STARPU_TARBALL=$file
        starpu_pin_good >>"$log" 2>&1 \
            || die "$file is not the file it should be (sha256): remove it" \
                "and try again"
    fi
    STARPU_VERSION=${version%-*} STARPU_TARBALL=$file
}

# A mirror that lags will do: signature and checksum say what the file is.
apt_private() {
    local tool=$1
    shift
    "$tool" -q -o Dir::Etc::sourcelist="$APT_PRIVATE/sources.list" \
        -o Dir::Etc::sourceparts=- -o Dir::State::Lists="$APT_PRIVATE/lists" \
        -o Dir::Cache="$APT_PRIVATE" -o APT::Sandbox::User= \
        -o Acquire::Check-Valid-Until=false "$@"
}

# starpu_whole FILE: whether the archive has a file of this name and checksum.  A
# download that was cut has another one.
starpu_whole() {
    local sum
    sum=$(sha256sum <"$1") || return 1
    apt_private apt-cache showsrc starpu 2>/dev/null \
        | grep -qx " ${sum%% *} [0-9]* ${1##*/}"
}

# Prints the Debian version to take: the pinned one, else the newest 1.4.
starpu_offered() {
    local all
    all=$(apt_private apt-cache showsrc starpu 2>/dev/null \
        | sed -n 's/^Version: \(1\.4\..*\)/\1/p' | sort -V)
    printf '%s\n' "$all" | grep -Fx "$STARPU_PIN-$STARPU_PIN_DEBIAN" \
        || printf '%s\n' "$all" | grep -F "$STARPU_PIN-" | tail -n 1 \
        | grep . || printf '%s\n' "$all" | tail -n 1
}

starpu_download() (
    cd "$1" || return
    apt_private apt-get source --download-only -y "starpu=$2" || true
)
