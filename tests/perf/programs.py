"""Scripts of perf/ end with a sentence or a status, and leave no program."""

import os
import signal
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

PERF = os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "perf"))
LIMIT_S = 60 * int(os.environ.get("TIME_SCALE", "3"))  # for a hang

SCRIPT = """
import sys
import time
sys.dont_write_bytecode = True
sys.path.insert(0, {!r})
from bench import programs
from bench.ours import Failure

def fail(text):
    raise Failure(text)

def wait():
    with programs.started(["sleep", "1000"]) as process:
        print(process.pid, flush=True)
        process.wait()

def wait_in_threads():
    with programs.threads(1) as pool:
        for job in [pool.submit(wait) for _ in range(3)]:
            job.result()

def fail_beside():
    with programs.threads(2) as pool:
        beside = pool.submit(programs.run, ["sh", "-c", "sleep 0.3; echo whole"])
        beside.add_done_callback(lambda run: print(run.result().stdout))
        while not beside.running():
            time.sleep(0.01)
        fail("failed")

programs.script(lambda: {})
"""


class Programs(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.path = os.path.join(work.name, "made")

    def start(self, what):
        """A script whose main() returns this."""
        with open(self.path, "w") as file:
            file.write(SCRIPT.format(PERF, what))
        # A job in the background ignores Ctrl-C.
        return subprocess.Popen(
            ["env", "--default-signal=INT,TERM", sys.executable, self.path],
            text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )

    def ended(self, run):
        out, errors = run.communicate(timeout=LIMIT_S)
        return run.returncode, out, errors

    def test_main_decides_the_status(self):
        for what, status in ("None", 0), ("False", 0), ("True", 1):
            self.assertEqual(self.ended(self.start(what)), (status, "", ""))

    def test_a_failure_is_a_sentence(self):
        self.assertEqual(
            self.ended(self.start("fail('no cores')")),
            (1, "", "made: no cores\n"),
        )

    def test_a_signal_ends_what_was_started(self):
        for number, status in (signal.SIGINT, 130), (signal.SIGTERM, 143):
            run = self.start("wait()")
            started = int(run.stdout.readline())
            run.send_signal(number)
            self.assertEqual(self.ended(run), (status, "", ""))
            with self.assertRaises(ProcessLookupError):
                os.kill(started, 0)

    def test_a_signal_ends_what_threads_have_started(self):
        """And what they have not started yet does not begin."""
        for number, status in (signal.SIGINT, 130), (signal.SIGTERM, 143):
            run = self.start("wait_in_threads()")
            started = int(run.stdout.readline())
            run.send_signal(number)
            self.assertEqual(self.ended(run), (status, "", ""))
            with self.assertRaises(ProcessLookupError):
                os.kill(started, 0)

    def test_a_failure_lets_what_runs_beside_end(self):
        status, out, errors = self.ended(self.start("fail_beside()"))
        self.assertEqual((status, out.strip()), (1, "whole"))
        self.assertIn("failed", errors)

    def test_output_and_status_of_a_program(self):
        run = self.start(
            "print(programs.run(['sh', '-c', 'echo a; echo b >&2; exit 3']))"
        )
        out = self.ended(run)[1]
        self.assertIn("returncode=3, stdout='a\\n', stderr='b\\n')", out)

    def test_a_program_without_output_is_named(self):
        for words, options, said in (
            (["sh", "-c", "echo b >&2; exit 3"], "", "sh ended with 3: b"),
            (["sleep", "9"], "limit=0.01", "sleep took more than 0.01 s"),
            (["/no"], "absent='!'", "/no: No such file or directory!"),
        ):
            run = self.start(f"programs.output({words}, {options})")
            self.assertEqual(self.ended(run), (1, "", f"made: {said}\n"))

    def test_a_helper_of_synthetic_that_fails_is_named(self):
        synthetic = load(os.path.join(PERF, "synthetic"), "synthetic")
        helper = unittest.mock.Mock()
        helper.path.return_value = "false"
        with self.assertRaisesRegex(synthetic.Failure, "^false ended with 1: "):
            synthetic.found_options(helper)


if __name__ == "__main__":
    unittest.main()
