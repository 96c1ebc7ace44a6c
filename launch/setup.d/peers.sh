# A Python environment with current PyTorch, transformers and megatron-core: tests
# and perf/ compare with them.  Sourced by launch/setup after common.sh.

PACKAGES_PEERS="python3 python3-venv"

# What the tests compared with.  Raise them together.
PEERS_PINS="numpy==2.4.6 torch==2.15.0 transformers==5.23.0 megatron-core==0.16.1"

# Whether the environment is there in these versions.
peers_good() {
    [ "$(cat "$CACHE/peers/.mtlm-pins" 2>/dev/null)" = "$PEERS_PINS" ] \
        && "$CACHE/peers/bin/python" \
            -c 'import torch, transformers, megatron.core' 2>/dev/null
}

# peers_install: makes the environment in the cache directory, unless it is there
# in these versions.
peers_install() {
    if ! peers_good; then
        # One at a time; who waited finds the other's work done.
        cache_lock peers.lock "another set-up installs PyTorch"
        peers_good || peers_make
        cache_unlock
    fi
    say "  peers: $CACHE/peers"
}

# Makes the environment anew.  The one before returns if that fails.
peers_make() {
    local peers=$CACHE/peers log=$CACHE/log/peers.log
    : >"$log"
    if [ -e "$peers/.mtlm-pins" ]; then
        peers_drop_old
        mv "$peers" "$peers.old"
    fi
    rm -rf "$peers"
    at_end peers_put_back
    step "Python environment" "$log" /usr/bin/python3 -m venv "$peers"
    # shellcheck disable=SC2086 # several words
    STEP_HINT="could not install $PEERS_PINS; see $log" \
        step "PyTorch, transformers, megatron-core" "$log" \
        "$peers/bin/pip" install --quiet $PEERS_PINS
    printf '%s\n' "$PEERS_PINS" >"$peers/.mtlm-pins"
    at_end :
    peers_drop_old || warn "$peers.old is left over"
}

# Removes the environment before.  NFS keeps a file that is still open: what stays
# gets another name, which no later set-up needs.
peers_drop_old() {
    local aside
    ! rm -rf "$CACHE/peers.old" || return 0
    aside=$(mktemp -d "$CACHE/peers.old.XXXXXX") \
        && mv "$CACHE/peers.old" "$aside" && warn "$aside is left over"
}

peers_put_back() {
    [ -e "$CACHE/peers.old" ] || return 0
    rm -rf "$CACHE/peers"
    mv "$CACHE/peers.old" "$CACHE/peers"
}
