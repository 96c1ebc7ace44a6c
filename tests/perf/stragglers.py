"""perf/stragglers: its reader of Parquet, the replay, files, and refusals.

trace-T.parquet has two steps of two ranks with two microbatches, in the columns
of the published jobs; another program wrote the file.  F takes 1 and 1.5 s, B 2
and 2.5 s, in the second step twice as long; a message takes 0.1 s, what is before
the passes 0.5 s and what is behind them 0.3 s."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "stragglers")
script = load(SCRIPT, "stragglers_script")
stragglers = script.stragglers
parquet = stragglers.parquet

HERE = os.path.join(source, "tests", "perf")
TRACE = os.path.join(HERE, "trace-T.parquet")
RESULT = os.path.join(HERE, "result-T.json")


class Reader(unittest.TestCase):
    def test_the_table_is_whole(self):
        table = parquet.read(TRACE, ("step", "optype", "duration", "mb_id"))
        self.assertEqual(table["step"], [5] * 20 + [7] * 20)
        self.assertEqual(table["optype"].count("forward-compute"), 8)
        self.assertEqual(table["duration"][0], 0.5)
        self.assertEqual(sorted(set(table["mb_id"])), [-1, 0, 1])

    def test_packed_bytes(self):
        """A literal, a copy of what it begins with, and an overlapping one."""
        packed = bytes([11, 2 << 2]) + b"abc" + bytes([0 << 2 | 1, 3, 3 << 2 | 2, 1, 0])
        self.assertEqual(parquet.unsnap(packed), b"abc" + b"abca" + b"aaaa")

    def test_runs_and_groups(self):
        data = parquet.Bytes(bytes([4 << 1, 2, 1 << 1 | 1, 0b11100100, 0]))
        self.assertEqual(
            parquet.runs(data, 2, 12), [2] * 4 + [0, 1, 2, 3, 0, 0, 0, 0]
        )

    def test_every_cut_is_refused(self):
        with open(TRACE, "rb") as file:
            whole = file.read()
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "cut")
            for n in range(0, len(whole), 101):
                with open(path, "wb") as file:
                    file.write(whole[:n])
                with self.assertRaises(parquet.Damaged):
                    parquet.read(path, stragglers.COLUMNS)

    def test_an_absent_column_is_refused(self):
        with self.assertRaisesRegex(parquet.Damaged, "no whole column 'x'"):
            parquet.read(TRACE, ("x",))


class Replay(unittest.TestCase):
    def test_steps_take_what_they_took(self):
        job = stragglers.read(HERE, "T")
        self.assertEqual((job.p, job.m, len(job.steps)), (2, 2, 2))
        self.assertAlmostEqual(job.hop, 0.1, places=5)
        for (path,), want in zip(stragglers.pipelines(job), (11.2, 22.2)):
            self.assertAlmostEqual(path, want, places=4)
        for seconds, want in zip(stragglers.replay(job), (12, 23)):
            self.assertAlmostEqual(seconds, want, places=4)

    def test_files_have_means_and_factors(self):
        job = stragglers.read(HERE, "T")
        with tempfile.TemporaryDirectory() as work:
            times = os.path.join(work, "t.ini")
            factors = os.path.join(work, "f.csv")
            stragglers.write(job, times, factors)
            with open(times) as file:
                text = file.read()
            self.assertIn(
                "[stage 1]\nforward_ms = 2250\nbackward_ms = 1875\n"
                "weight_ms = 1875\n",
                text,
            )
            with open(factors) as file:
                lines = file.read().splitlines()
        self.assertEqual(len(lines), 1 + 2 * 2 * 2 * 3)
        self.assertIn("0,0,1,1,W,0.666666667", lines)
        self.assertIn("1,0,0,0,F,1.33333333", lines)


class Script(unittest.TestCase):
    def run_script(self, directory, *words):
        done = subprocess.run(
            [sys.executable, "-B", SCRIPT, directory, "--build", build,
             "--job", "T", *words],
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout, done.stderr

    def damaged(self, change):
        """Runs the script on copies that change(directory) damages."""
        with tempfile.TemporaryDirectory() as work:
            for path in (TRACE, RESULT):
                shutil.copy(path, work)
            change(work)
            code, _, said = self.run_script(work)
            self.assertEqual(code, 1)
            self.assertEqual(said.count("\n"), 1)
            return said.replace(work + os.sep, "")

    def test_plans_have_the_recorded_durations(self):
        """11.2 s and 22.2 s in 1F1B's own order, as the replay says."""
        code, text, said = self.run_script(HERE)
        self.assertEqual((code, said), (0, ""))
        self.assertRegex(text, r"\| T +\| +2 \| +2 \| +1 \| +2 \| +17.500 s "
                               r"\| +[+-]0.00 % \| +[+-]0.00 % \|")
        self.assertRegex(text, r"\| 1f1b +\| +T \| 16.70 ")

    def test_damaged_files_are_refused(self):
        def cut_trace(work):
            path = os.path.join(work, "trace-T.parquet")
            os.truncate(path, os.path.getsize(path) // 2)

        def cut_result(work):
            os.truncate(os.path.join(work, "result-T.json"), 20)

        def no_trace(work):
            os.remove(os.path.join(work, "trace-T.parquet"))

        self.assertEqual(
            self.damaged(cut_trace),
            "stragglers: trace-T.parquet: it does not begin and end as a "
            "Parquet file does\n",
        )
        self.assertEqual(
            self.damaged(cut_result),
            "stragglers: result-T.json: it has no step times (step_t_base)\n",
        )
        self.assertEqual(
            self.damaged(no_trace),
            "stragglers: trace-T.parquet: No such file or directory\n",
        )

    def test_a_replay_far_off_is_not_compared(self):
        def longer(work):
            with open(os.path.join(work, "result-T.json"), "w") as file:
                file.write('{"step_t_base": {"5": 12.3, "7": 23}}')

        self.assertEqual(
            self.damaged(longer),
            "stragglers: T: a replayed step is -2.44 % off its published time, "
            "more than 2 %\n",
        )

    def test_a_step_without_all_passes_is_refused(self):
        table = parquet.read(TRACE, stragglers.COLUMNS)
        rows = list(zip(*(table[name] for name in stragglers.COLUMNS)))
        kept = [r for r in rows if not (r[2] == 7 and r[3] == "forward-compute"
                                        and r[1] == 1 and r[7] == 0)]
        cut = dict(zip(stragglers.COLUMNS, map(list, zip(*kept))))
        whole, parquet.read = parquet.read, lambda *_: cut
        try:
            with self.assertRaisesRegex(
                stragglers.Failure,
                "step 7, replica 0: F of microbatch 0 on stage 1 is missing",
            ):
                stragglers.read(HERE, "T")
        finally:
            parquet.read = whole


if __name__ == "__main__":
    unittest.main()
