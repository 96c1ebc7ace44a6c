# Packages of the distribution: which, and how they are installed.
# Sourced by launch/setup after common.sh.

# To add a package: add it to the list of those who need it.
PACKAGES_BUILD="build-essential autoconf automake pkg-config patch
    libhwloc-dev libfxt-dev fxt-tools libopenmpi-dev openmpi-bin
    libopenblas-dev libinih-dev libjansson-dev libutf8proc-dev
    libxxhash-dev libglpk-dev liburing-dev"
# oneDNN serves --bf16 on processors of this kind only.
[ "$(uname -m)" != x86_64 ] || PACKAGES_BUILD="$PACKAGES_BUILD libdnnl-dev"
PACKAGES_TESTS="libcmocka-dev python3 python3-numpy python3-protobuf
    python3-torch pajeng recutils vite"
PACKAGES_FUZZ="clang libclang-rt-14-dev"
PACKAGES_SLURM="munge slurm-wlm"
PACKAGES_SIMGRID="libsimgrid-dev"
PACKAGES_DEB="debhelper dpkg-dev"
PACKAGES_DATA="anarchism perl perl-doc"

# package_installed NAME ARCHITECTURE: whether this machine's programs can use an
# installed package of the name.  It may be installed for others as well.
package_installed() {
    dpkg-query -W -f '${Architecture} ${db:Status-Status}\n' "$1" 2>/dev/null \
        | grep -qx -e "$2 installed" -e 'all installed'
}

# packages_install NAME...: installs those that are missing.  Nothing missing:
# neither root nor the network is needed.
packages_install() {
    local name architecture missing=
    command -v dpkg-query >/dev/null && command -v apt-get >/dev/null \
        || die "this is no Debian system (no apt-get): install the like of" \
            "'$(echo $*)' and StarPU 1.4 by hand, then ./configure" \
            "--with-starpu=DIR"
    architecture=$(dpkg --print-architecture)
    for name in "$@"; do
        package_installed "$name" "$architecture" || missing="$missing $name"
    done
    if [ -z "$missing" ]; then
        say "  packages: all $# installed"
        return 0
    fi
    if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
        die "these packages are missing, and you are neither root nor is" \
            "there sudo:$missing"
    fi
    # sudo asks for its password here, where it can be seen.  "sudo -v" asks even a
    # user who needs none, if one rule of his wants one.
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || sudo -v \
        || die "sudo refused"
    packages_fetch "$missing"
}

packages_fetch() {
    local log=$CACHE/log/packages.log missing=$1
    local apt="apt-get -q -o DPkg::Lock::Timeout=300"
    : >"$log"
    say "  missing packages:" $missing
    # A failure here is not yet one: some source of the system that has
    # nothing to do with us may be broken, and old lists are good enough for
    # a package that apt holds already.
    STEP_MAY_FAIL=yes step "package lists" "$log" as_root $apt update
    STEP_HINT="could not install (no network?):$missing; see $log" \
        step "installing them" "$log" as_root \
        env DEBIAN_FRONTEND=noninteractive \
        $apt install -y --no-install-recommends $missing
}
