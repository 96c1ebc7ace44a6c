"""Where PyTorch and transformers are."""

import os
import sys

# What launch/setup --peers makes.
PEERS = os.environ.get("PEERS_PYTHON") or os.path.join(
    os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"),
    "mtlm-dag/peers/bin/python",
)


def pythons():
    """Those that have PyTorch by default: the one that runs this, and that of
    launch/setup --peers if it is there."""
    return [sys.executable] + [PEERS] * os.access(PEERS, os.X_OK)


def add_option(parser):
    parser.add_argument(
        "--python",
        action="append",
        default=[],
        help="one that has PyTorch; several may be given (default: the one "
        "that runs this, and that of launch/setup --peers if it is there)",
    )
