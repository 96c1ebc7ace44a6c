"""Two runs in turns of some milliseconds: a virtual machine's speed changes by
far more, from one tenth of a second to the next, than what is to be measured,
so that both must meet the same ones.  Who has not the turn is suspended."""

import queue
import signal
import threading
import time

TURN = 0.005
# Until what a suspended run has said is read.
SETTLE = 0.05


class Runner:
    """A Training of one rank that runs only in its turns, from a line that
    begins with one text to a line that begins with another."""

    def __init__(self, run, begin, end):
        self.run, self.over = run, queue.Queue()
        self.reader = threading.Thread(
            target=self._read, args=(begin, end), daemon=True
        )
        self.reader.start()
        self._await(None)
        self._signal(signal.SIGSTOP)
        if self._await(SETTLE):
            raise RuntimeError(f"'{end}' came before the first turn")
        self.seconds, self.cpu = 0, run.processes().cpu_seconds()
        self.cpu_now = self.cpu

    def _signal(self, number):
        self.run.run.send_signal(number)

    def _read(self, *texts):
        """Each of the lines, or why there is none, to who waits for it."""
        try:
            for text in texts:
                self.run.line(text)
                self.over.put(None)
        except Exception as failure:  # raised again by _await()
            self.over.put(failure)

    def _await(self, seconds):
        """Whether its line came within so many seconds."""
        try:
            failure = self.over.get(timeout=seconds)
        except queue.Empty:
            return False
        if failure:
            raise failure
        return True

    def _look(self):
        try:
            self.cpu_now = self.run.processes().cpu_seconds()
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended

    def turn(self):
        """Whether it came to its end."""
        self._look()
        start = time.monotonic()
        self._signal(signal.SIGCONT)
        over = self._await(TURN)
        self._signal(signal.SIGSTOP)
        self.seconds += time.monotonic() - start
        return over

    def took(self):
        """(seconds, CPU seconds) of its turns; if it has ended without the CPU
        seconds of the last one."""
        self._look()
        return self.seconds, self.cpu_now - self.cpu

    def finish(self):
        """Lets it run on after its last turn."""
        self._signal(signal.SIGCONT)
        self.reader.join()
        self.run.end()


def race(first, second):
    """Both runners to their ends, in turns; who is there first waits."""
    waiting, number = [first, second], 0
    while waiting:
        number += 1
        order = waiting if number % 2 else waiting[::-1]
        waiting = [r for r in order if not r.turn()]
        if number % 2 == 0:
            waiting.reverse()
