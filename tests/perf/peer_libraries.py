"""The loops of torch.distributed.pipelining and of megatron-core that
perf/parallel_vs_pytorch times: tests/perf/peer_parallel.py with the Python of
launch/setup --peers."""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench.peers import PEERS  # noqa: E402


def main():
    if not os.access(PEERS, os.X_OK):
        print(f"skipped: no {PEERS}; launch/setup --peers makes it")
        return 77
    test = os.path.join(
        os.path.dirname(os.path.abspath(__file__)), "peer_parallel.py"
    )
    return subprocess.run([PEERS, test, "-v", "Libraries"], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
