# The Python of other programs, for tests that compare with them.  Sourced after
# common.sh.
#
# need_peers MODULE...: sets $peers to $PEERS_PYTHON, else the environment of
# launch/setup --peers, else $PYTHON.  Ends the test as skipped if that Python
# lacks a module.
need_peers() {
    local module
    peers=${XDG_CACHE_HOME:-$HOME/.cache}/mtlm-dag/peers/bin/python
    [ -x "$peers" ] || peers=${PYTHON:-python3}
    peers=${PEERS_PYTHON:-$peers}
    for module in "$@"; do
        if ! "$peers" -c "import $module" 2>/dev/null; then
            echo "skipped: $peers has no $module; launch/setup --peers installs it"
            exit 77
        fi
    done
}
