"""Two runs in turns of some milliseconds: a virtual machine's speed changes by
far more, from one tenth of a second to the next, than what is to be measured,
so that both must meet the same ones.  Who has not the turn is suspended."""

import queue
import signal
import threading
import time

# Turns in an iteration, more or less, and the shortest, in seconds.
TURNS = 1000
SHORTEST = 0.002
# Until what a suspended run has said is read.
SETTLE = 0.05


class Runner:
    """A Training of one rank that runs only in its turns."""

    def __init__(self, run, warm_up, iterations):
        self.run, self.left = run, warm_up + iterations
        self.over = queue.Queue()
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()
        for _ in range(warm_up):
            start = time.monotonic()
            self._await(None)
            self.iteration = time.monotonic() - start
        self._signal(signal.SIGSTOP)
        time.sleep(SETTLE)
        while self._await(0):
            pass  # ended before it was suspended
        self.seconds, self.cpu = 0, run.process.cpu_seconds()

    def _signal(self, number):
        self.run.run.send_signal(number)

    def _read(self):
        """Each iteration's end, or why there is none, to who waits for it."""
        try:
            for _ in range(self.left):
                self.run.iteration()
                self.over.put(None)
        except Exception as failure:  # raised again by _await()
            self.over.put(failure)

    def _await(self, seconds):
        """Whether an iteration ended within so many seconds."""
        try:
            failure = self.over.get(timeout=seconds)
        except queue.Empty:
            return False
        if failure:
            raise failure
        self.left -= 1
        return True

    def turn(self, seconds):
        """Whether its iteration ended in a turn of so many seconds at most."""
        start = time.monotonic()
        self._signal(signal.SIGCONT)
        over = self._await(seconds)
        self._signal(signal.SIGSTOP)
        self.seconds += time.monotonic() - start
        return over

    def took(self):
        """Seconds of its turns since this was asked last, and CPU seconds."""
        seconds, cpu = self.seconds, self.cpu
        self.seconds, self.cpu = 0, self.run.process.cpu_seconds()
        return seconds, self.cpu - cpu

    def end(self):
        self._signal(signal.SIGCONT)
        self.reader.join()
        self.run.end()


def _pair(runners, seconds):
    """An iteration of both; who is ready first waits for the other."""
    waiting, number = list(runners), 0
    while waiting:
        number += 1
        order = waiting if number % 2 else waiting[::-1]
        waiting = [r for r in order if not r.turn(seconds)]
        if number % 2 == 0:
            waiting.reverse()
    return tuple(runner.took() for runner in runners)


def length(runner):
    """Seconds of a turn, by the last iteration of a runner's warm-up."""
    return max(SHORTEST, runner.iteration / TURNS)


def pairs(first, second, seconds):
    """[((seconds, CPU seconds) of an iteration of the first runner, of the
    second)], made at the same time in turns of so many seconds, as many as both
    have left."""
    count = min(first.left, second.left)
    return [_pair((first, second), seconds) for _ in range(count)]
