"""Starts programs that end with the script, and ends the script."""

import concurrent.futures
import contextlib
import os
import signal
import subprocess
import sys
import threading

from bench.ours import Failure

PATIENCE = 10  # seconds to end in

_lock = threading.Lock()
_running, _ending = set(), threading.Event()


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
    with _lock:
        if _ending.is_set():
            raise Failure("interrupted")
        process = subprocess.Popen(words, **more)
        _running.add(process)
    try:
        with process:
            try:
                yield process
            except BaseException:
                end(process)
                raise
    finally:
        with _lock:
            _running.discard(process)


def run(words, env=None, limit=None, **more):
    """As subprocess.run(), which would kill an mpirun and leave its ranks.
    After `limit` seconds: subprocess.TimeoutExpired."""
    with started(words, env=env, text=True, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, **more) as process:
        out, errors = process.communicate(timeout=limit)
    return subprocess.CompletedProcess(words, process.returncode, out, errors)


def output(words, limit=None, absent="", **more):
    """What a program prints, as run().  A Failure names the program.  absent:
    the end of the sentence on a program that is not there."""
    try:
        done = run(words, limit=limit, **more)
    except OSError as error:
        raise Failure(f"{words[0]}: {error.strerror}{absent}") from None
    except subprocess.TimeoutExpired as late:
        raise Failure(f"{words[0]} took more than {limit} s") from late
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-1500:]
        raise Failure(f"{words[0]} ended with {done.returncode}: {said}")
    return done.stdout


@contextlib.contextmanager
def threads(count):
    """Threads that run programs.  A Failure starts no more of them, and what runs
    comes to its end.  Whatever else cuts the block off ends the programs.
    Python raises a signal in the main thread, between any two steps: a thread
    that is about to start a program is refused."""
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        try:
            yield pool
        except Failure:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
        except BaseException:
            with _lock:
                _ending.set()
                running = list(_running)
            for process in running:
                process.terminate()  # mpirun takes its ranks along
            pool.shutdown(wait=True, cancel_futures=True)
            _ending.clear()
            raise


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
