# A Python environment with current PyTorch and transformers: tests compare the
# text of both sides.  Sourced by launch/setup after common.sh.

PACKAGES_PEERS="python3 python3-venv"

# peers_install: makes the environment in the cache directory, unless it works.
peers_install() {
    local peers=$CACHE/peers log=$CACHE/log/peers.log
    if "$peers/bin/python" -c 'import torch, transformers' 2>/dev/null; then
        say "  peers: $peers"
        return 0
    fi
    : >"$log"
    rm -rf "$peers"
    step "Python environment" "$log" /usr/bin/python3 -m venv "$peers"
    STEP_HINT="could not install PyTorch and transformers; see $log" \
        step "PyTorch and transformers" "$log" \
        "$peers/bin/pip" install --quiet numpy torch transformers
}
