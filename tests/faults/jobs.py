"""What the tests of this folder share: the program, and what it says."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "perf"))

from bench.report import directory  # noqa: E402, F401

BUILD = os.path.abspath(os.environ.get("builddir", "."))
PROGRAM = os.path.realpath(os.path.join(BUILD, "mtlm-dag"))
MPIRUN = os.environ.get("MPIRUN", "mpirun").split()
# Multiplies the limits of time (tests/time_scale.sh).
TIME_SCALE = int(os.environ.get("TIME_SCALE", 3))
ENVIRONMENT = dict(os.environ, STARPU_NCPU="1")


def find(pattern, text):
    found = re.search(pattern, text)
    return found.group(1) if found else ""


def weight_hash(out):
    return find(r"weight hash: ([0-9a-f]{16})", out)


def saved(out):
    """The iterations whose checkpoints were committed."""
    return [int(i) for i in
            re.findall(r"checkpoint: iteration (\d+) saved", out)]


def said_loaded(out):
    """Whether a job came so far as to say from where it goes on."""
    return "loaded: " in out


def loaded(out):
    """The iteration from which a job went on, or 0."""
    return int(find(r"loaded: \S*/iter_0*(\d+)", out) or 0)


def left(seconds):
    return f"{int(seconds) // 60} min {int(seconds) % 60:02d} s left"
