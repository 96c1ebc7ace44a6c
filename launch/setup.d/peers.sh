# A Python environment with current PyTorch, transformers and megatron-core: tests
# and perf/ compare with them.  Sourced by launch/setup after common.sh.

PACKAGES_PEERS="python3 python3-venv"

# What the tests compared with.  Raise them together.
PEERS_PINS="numpy==2.4.6 torch==2.15.0 transformers==5.23.0 megatron-core==0.16.1"

# peers_install: makes the environment in the cache directory, unless it is there
# in these versions.
peers_install() {
    local peers=$CACHE/peers log=$CACHE/log/peers.log
    if [ "$(cat "$peers/.mtlm-pins" 2>/dev/null)" = "$PEERS_PINS" ] \
        && "$peers/bin/python" -c 'import torch, transformers, megatron.core' \
            2>/dev/null; then
        say "  peers: $peers"
        return 0
    fi
    : >"$log"
    rm -rf "$peers"
    step "Python environment" "$log" /usr/bin/python3 -m venv "$peers"
    # shellcheck disable=SC2086 # several words
    STEP_HINT="could not install $PEERS_PINS; see $log" \
        step "PyTorch, transformers, megatron-core" "$log" \
        "$peers/bin/pip" install --quiet $PEERS_PINS
    printf '%s\n' "$PEERS_PINS" >"$peers/.mtlm-pins"
    say "  peers: $peers"
}
