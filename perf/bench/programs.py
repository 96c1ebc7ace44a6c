"""Starts programs that end with the script, and ends the script."""

import contextlib
import os
import signal
import subprocess
import sys

from bench.ours import Failure

PATIENCE = 10  # seconds to end in


def end(process):
    """mtlm-dag finishes its iteration at SIGTERM, and mpirun takes its ranks
    with it; one that hangs is killed."""
    process.terminate()
    try:
        process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


@contextlib.contextmanager
def started(words, **more):
    """A Popen.  Whatever cuts the block off ends the program, too, before
    directories that it writes to go away."""
    with subprocess.Popen(words, **more) as process:
        try:
            yield process
        except BaseException:
            end(process)
            raise


def run(words, env=None, limit=None):
    """As subprocess.run(), which would kill an mpirun and leave its ranks.
    After `limit` seconds: subprocess.TimeoutExpired."""
    with started(words, env=env, text=True, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE) as process:
        out, errors = process.communicate(timeout=limit)
    return subprocess.CompletedProcess(words, process.returncode, out, errors)


def script(main):
    """Ends the script with what main() returns.  A Failure is a sentence.  A
    signal ends what main() has started, too."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {failure}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
