"""perf/parallel_vs_pytorch: each round runs ours and all of PyTorch's settings,
and ours is traced in the iterations that count."""

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

source = os.environ.get("srcdir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "parallel_vs_pytorch")
script = load(SCRIPT, "parallel_vs_pytorch")

from bench import command_line, page_files  # noqa: E402  (the script knows where)

RUN = {"seconds": [1.0], "losses": [[2.0]], "cpu": [1.0], "others": 0}
LAYOUT = script.layouts.LAYOUTS["P2-9-3"]


class Rounds(unittest.TestCase):
    def setUp(self):
        """A run of the script whose programs take no time."""
        self.parallel = object.__new__(script.Parallel)
        self.parallel.say = lambda text: None
        self.parallel.inputs = None
        self.parallel.options = argparse.Namespace(
            rounds=3, warm_up=2, iterations=4, more="--schedule 1f1b"
        )
        self.parallel.ours = mock.Mock()
        self.parallel.ours.train.side_effect = lambda *_: dict(RUN)
        for name, value in (
            ("trace.read", ({}, [])),
            ("bounds.figures", {"makespan_ms": 5}),
            ("theirs.train", dict(RUN)),
        ):
            patch = mock.patch.object(
                getattr(script, name.split(".")[0]),
                name.split(".")[1],
                return_value=value,
            )
            self.addCleanup(patch.stop)
            patch.start()

    def test_a_round_has_a_run_of_each(self):
        settings = [mock.Mock(), mock.Mock()]
        ours, peers = self.parallel.rounds(LAYOUT, settings)
        self.assertEqual(len(ours), 3)
        self.assertEqual(ours[0]["schedule"], {"makespan_ms": 5})
        self.assertEqual([len(peers[s]) for s in settings], [3, 3])

    def test_every_other_round_goes_in_reverse(self):
        turns, first, second = [], mock.Mock(), mock.Mock()
        self.parallel.tell = lambda number, who, run: turns.append(who)
        first.text.return_value, second.text.return_value = "first", "second"
        self.parallel.rounds(LAYOUT, [first, second])
        there = ["ours", "first", "second"]
        self.assertEqual(turns, there + there[::-1] + there)

    def test_processes_are_judged_by_the_clock(self):
        """CPU seconds of two processes count both."""
        run = {**RUN, "seconds": [3.0, 2.0], "cpu": [4.0, 5.0]}
        with mock.patch.object(script.theirs, "train", lambda *_, **__: run):
            for threads, processes, best in (1, 1, 4), (1, 2, 2), (2, 1, 2):
                setting = mock.Mock(threads=threads, processes=processes)
                self.assertEqual(
                    self.parallel.few(setting, "4x64", {})[1], best)

    def test_a_setting_that_fails_is_left_out(self):
        good, bad = mock.Mock(), mock.Mock()

        def train(who, *_):
            if who is bad:
                raise script.Failure("no luck")
            return dict(RUN)

        with mock.patch.object(script.theirs, "train", train):
            ours, peers = self.parallel.rounds(LAYOUT, [bad, good])
            self.assertEqual((len(ours), list(peers)), (3, [good]))
            with self.assertRaisesRegex(script.Failure, "no luck"):
                self.parallel.rounds(LAYOUT, [bad])

    def test_ours_is_traced_from_the_end_of_the_warm_up(self):
        self.parallel.ours_once(LAYOUT)
        *_, workers, options, ranks = self.parallel.ours.train.call_args.args
        text = " ".join(options)
        self.assertEqual((workers, ranks), (1, 2))
        self.assertIn("--stage-layers 9,3", text)
        self.assertIn("--schedule 1f1b --trace", text)
        self.assertIn("--trace-iterations 2:6", text)

    def test_what_was_compared_is_kept(self):
        """Of five layouts one fails and one is interrupted."""
        layouts = [mock.Mock() for _ in range(5)]
        for name, layout in zip("abcde", layouts):
            layout.name = name
        found = {"a": 1, "b": script.Failure("no luck"), "c": 3,
                 "d": KeyboardInterrupt}

        def compare(layout):
            if isinstance(found[layout.name], int):
                return found[layout.name]
            raise found[layout.name]

        self.parallel.compare = compare
        compared, failed = self.parallel.compare_all(layouts)
        self.assertEqual(compared, [1, 3])
        self.assertEqual(failed, {"b": "failed: no luck", "d": "interrupted",
                                  "e": "interrupted"})

    def test_the_fastest_setting_is_compared(self):
        """By CPU seconds, not those of the clock."""
        def run(seconds, cpu):
            return {**RUN, "seconds": [seconds], "cpu": [cpu], "switches": [0],
                    "peak_bytes": 1}

        busy, lazy = mock.Mock(), mock.Mock()
        busy.text.return_value, lazy.text.return_value = "busy", "lazy"
        busy.memory, lazy.memory = "default", "kept memory"
        setting, found = self.parallel.outcome(
            100, {"seconds": 1}, [run(2, 2)],
            {busy: [run(3, 6)], lazy: [run(4, 4)]}, {busy: 3, lazy: 4}, "cpu",
        )
        self.assertIs(setting, lazy)
        self.assertEqual(found["setting"], "lazy")
        self.assertEqual(found["ours"]["tokens_per_second"], 50)
        self.assertEqual(found["theirs"]["tokens_per_second"], 25)
        self.assertEqual(found["ratio"]["median"], 2)
        self.assertEqual(found["cpu_ratio"]["median"], 2)
        self.assertEqual(found["default_malloc"]["median"], 1.5)
        self.assertEqual(found["tried"], {"busy": 3, "lazy": 4})
        self.assertEqual(found["measured"]["busy"]["median"], 3)


class Files(unittest.TestCase):
    def test_a_page_and_what_belongs_to_it(self):
        with tempfile.TemporaryDirectory() as work:
            options = argparse.Namespace(write=work)
            with contextlib.redirect_stdout(io.StringIO()) as out:
                command_line.report_page(options, "a", "text", {"n": 1},
                                         lambda: "svg")
                command_line.report_page(options, "b", "text")
                options.write = None
                command_line.report_page(options, "c", "text",
                                         picture=self.fail)
            self.assertEqual(out.getvalue(), 3 * "text\n")
            self.assertEqual(sorted(os.listdir(work)),
                             ["a.json", "a.md", "a.svg", "b.md"])
            with open(os.path.join(work, "a.json"), encoding="utf-8") as file:
                self.assertEqual(file.read(), '{\n "n": 1\n}\n')

    def test_a_page_begins_with_the_command_as_given(self):
        words = "/mine --write d --rounds 2 --build=b -- --a".split()
        with mock.patch.object(sys, "argv", ["script", *words, "b c"]):
            self.assertEqual(
                command_line.command("perf/x", {"/mine": "DIR"}),
                "perf/x DIR --rounds 2 -- --a 'b c'",
            )

    def test_part_of_the_cases_replaces_no_page(self):
        parallel = object.__new__(script.Parallel)
        parallel.say = lambda text: None
        with tempfile.TemporaryDirectory() as work:
            parallel.write(work, "a", {"n": 1}, "all")
            parallel.write(work, "a", {"n": 2}, "some", whole=False)
            self.assertEqual(
                sorted(os.listdir(work)),
                ["a-part.json", "a-part.md", "a.json", "a.md"])
            with open(os.path.join(work, "a.md"), encoding="utf-8") as file:
                self.assertEqual(file.read().strip(), "all")

    def test_numbers_below_one_are_refused(self):
        parser = command_line.parser("text")
        given = argparse.Namespace(rounds=1, warm_up=0)
        command_line.at_least_one(parser, given, "rounds")
        with contextlib.redirect_stderr(io.StringIO()) as said:
            with self.assertRaises(SystemExit):
                command_line.at_least_one(parser, given, "rounds", "warm_up")
        self.assertTrue(
            said.getvalue().endswith("error: --warm-up is at least 1\n"))

    def test_a_full_disk_leaves_the_old_files(self):
        """Here files of at most 1 KiB."""
        with tempfile.TemporaryDirectory() as work:
            page, data = (os.path.join(work, n) for n in ("a.md", "a.json"))
            page_files.write({page: "old", data: "old"})
            code = ("import sys; sys.path.insert(0, sys.argv[1])\n"
                    "from bench import page_files\n"
                    "page_files.write({sys.argv[2]: 'new', "
                    "sys.argv[3]: 'x' * 4000})")
            done = subprocess.run(
                ["bash", "-c", 'ulimit -f 1; exec "$@"', "bash",
                 sys.executable, "-B", "-c", code,
                 os.path.join(source, "perf"), page, data],
                capture_output=True, text=True)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertEqual(done.stderr, f"{data}: File too large; nothing "
                             "is written\n")
            self.assertEqual(sorted(os.listdir(work)), ["a.json", "a.md"])
            for path in page, data:
                with open(path, encoding="utf-8") as file:
                    self.assertEqual(file.read(), "old")


if __name__ == "__main__":
    unittest.main()
