"""perf/gains: its jobs, equal memory, sources of a gain, and a small job."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree as xml
from unittest import mock

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "gains")
script = load(SCRIPT, "gains")
GIB = script.GIB


def step(source, name, seconds, gib):
    found = {"seconds": seconds, "memory": gib * GIB, "text": ""}
    return script.Step(source, name, (), found=found)


class Jobs(unittest.TestCase):
    def test_jobs_are_those_of_the_papers(self):
        gpus = {}
        for name in script.JOBS:
            row = script.row_of(name)
            gpus[name] = row.tensor * row.pipeline * row.data
            self.assertTrue(name.endswith(f" {gpus[name]}"), name)
        self.assertEqual(len(gpus), 6)
        row = script.row_of("530B on 280")
        self.assertEqual(
            (row.virtual, row.recompute, row.global_batch), (3, "selective", 280)
        )

    def test_a_schedule_has_the_stages_that_the_layers_allow(self):
        names = [s.name for s in script.steps_of(script.row_of("530B on 280"))]
        self.assertIn("zb-h1, strict", names)
        self.assertNotIn("zb-v, strict", names)
        names = [s.name for s in script.steps_of(script.row_of("175B on 64"))]
        self.assertIn("zb-v, strict", names)


    def test_every_row_of_the_tables_has_a_name(self):
        rows = script.rows_of_tables()
        have = [r for r in script.iterations.read(script.ROWS)
                if r.set in ("2019", "V1.0", "2021", "2022")]
        self.assertEqual(list(rows.values()), have)
        self.assertIn("2022: 1008B selective on 512", rows)
        names = [s.name for s in script.steps_of_table(rows["2021: 1008B on 3072"])]
        self.assertIn("zb-h1, strict", names)
        self.assertNotIn("auto, prio", names)


class Sources(unittest.TestCase):
    STEPS = [
        step("published", "a", 10, 50),
        step("recompute", "b", 9, 50),
        step("overlap", "c", 9.5, 50),
        step("zero bubble", "d", 7, 51),
        step("zero bubble", "e", 8, 40),
        script.Step("zero bubble", "f", ()),
    ]

    def test_a_step_with_more_memory_does_not_count(self):
        best = script.best(self.STEPS, "zero bubble")
        self.assertEqual(best.name, "e")
        self.assertEqual(script.best(self.STEPS, "overlap").name, "b")
        self.assertEqual(
            script.summary("job", self.STEPS),
            ("job", "10", "9", "9", "8", "20.0 %", "e"),
        )

    def test_the_page_names_its_seconds_simulated(self):
        """No column has the seconds that a paper measured."""
        text = script.page("gains", {"job": self.STEPS}, {}, [])
        self.assertIn("| as published s |", text)
        self.assertNotIn("| published s", text)
        self.assertIn("all seconds are simulated", text)

    def test_the_page_says_what_does_not_count(self):
        text = script.details("job", self.STEPS)
        self.assertRegex(text, r"\| d +\| +7 \| +\+30.0 % \| +51.00 \| +no \|")
        self.assertRegex(text, r"\| f +\| not simulated \|")

    def test_auto_has_devices_of_the_published_memory(self):
        auto = script.Step("zero bubble", "auto", ("--schedule", "auto"))

        def answer(_ours, words, *_):
            self.assertNotIn("--ignore-memory", words)
            cluster = words[words.index("--simulate") + 1]
            with open(cluster, encoding="utf-8") as file:
                (line,) = (l for l in file if l.startswith("memory_gb ="))
            self.assertAlmostEqual(
                float(line.split("=")[1]), script.ROOM * 55 * GIB / 1e9, 5
            )
            return {"seconds": 2, "memory": memory, "text": text}

        row = script.row_of("175B on 64")
        text = "schedule auto: 2 virtual stages, --window 2 --act-mem 9000000000\n"
        for memory, times in ((55 * GIB, 1), (50 * GIB, 2)):
            with mock.patch.object(
                script.iterations, "simulate", side_effect=answer
            ) as ask:
                found = script.simulate_within(None, row, auto, 9, 55 * GIB)
            self.assertEqual((found["seconds"], ask.call_count), (2, times))

    def test_auto_that_does_not_fit_is_left_out(self):
        auto = script.Step("zero bubble", "auto", ("--schedule", "auto"))
        text = "schedule auto: 2 virtual stages, --window 2 --act-mem 9000000000\n"
        first = {"seconds": 3, "memory": 50 * GIB, "text": text}
        none = script.iterations.TooLarge("needs more")
        row = script.row_of("175B on 64")
        for answers, wanted in (([none], None), ([first, none], first)):
            with mock.patch.object(script, "simulate", side_effect=answers):
                found = script.simulate_within(None, row, auto, 9, 55 * GIB)
            self.assertEqual(found, wanted)

    def test_other_steps_have_any_memory(self):
        one = script.Step("overlap", "", ("--schedule", "zb-h1"))
        row = script.row_of("175B on 64")
        with mock.patch.object(script.iterations, "simulate") as ask:
            script.simulate_within(None, row, one, 9, 55 * GIB)
        self.assertIn("--ignore-memory", ask.call_args.args[1])

    def test_auto_may_use_the_memory_of_published_code(self):
        auto = script.Step("zero bubble", "auto", ("--schedule", "auto"))
        text = "schedule auto: 2 virtual stages, --window 2 --act-mem 9000000000\n"
        answers = [
            {"seconds": 3, "memory": 50 * GIB, "text": text},
            {"seconds": 2, "memory": 55 * GIB, "text": text},
        ]
        with mock.patch.object(script, "simulate", side_effect=answers) as ask:
            row = script.row_of("175B on 64")
            found = script.simulate_within(None, row, auto, 9, 55 * GIB)
        self.assertEqual(found["seconds"], 2)
        more = (script.ROOM * 55 - 50) * GIB
        self.assertEqual(
            ask.call_args.args[4:], ("--act-mem", f"{9e9 + more:.0f}")
        )

    def test_the_picture_has_a_part_for_each_source(self):
        found = script.parts(self.STEPS)
        self.assertEqual(list(found), list(script.SOURCES))
        for have, wanted in zip(found.values(), (10, 0, 10)):
            self.assertAlmostEqual(have, wanted)
        page = xml.fromstring(script.picture({"job": self.STEPS}))
        titles = [e.text for e in page.iter("{http://www.w3.org/2000/svg}title")]
        self.assertEqual(
            titles,
            ["recompute: 10.0 %", "overlap: 0.0 %", "zero bubble: 10.0 %"],
        )


class Failures(unittest.TestCase):
    def run_main(self, answer, only, work):
        """What main() returns where answer() takes the place of simulations."""
        words = [SCRIPT, "--only", only, "--write", work]
        with mock.patch.object(script, "Ours"), mock.patch.object(
            script.iterations, "simulate", side_effect=answer
        ), mock.patch.object(sys, "argv", words):
            with contextlib.redirect_stdout(io.StringIO()):
                with contextlib.redirect_stderr(io.StringIO()):
                    return script.main()

    def test_what_fails_is_named_and_the_rest_goes_on(self):
        def answer(_ours, words, *_):
            if words[words.index("--num-layers") + 1] == "96":
                raise script.Failure("no such code")
            if "recompute" in words:  # of --ours
                raise script.Failure("it crashed")
            return {"seconds": 2, "memory": GIB, "text": ""}

        with tempfile.TemporaryDirectory() as work:
            rc = self.run_main(answer, "175B on 64,8.7B on 8", work)
            with open(os.path.join(work, "gains.md"), encoding="utf-8") as file:
                text = file.read()
        self.assertIs(rc, True)
        self.assertIn("* Failed: 175B on 64: no such code\n", text)
        self.assertIn("* Failed: 8.7B on 8, recompute pruned: it crashed\n", text)
        self.assertRegex(text, r"(?m)^\| recompute pruned +\| +failed ")
        self.assertRegex(text, r"(?m)^\| 8.7B on 8 +\| +2 ")
        self.assertNotIn("| 175B on 64", text)

    def test_a_page_that_is_there_survives_a_failure(self):
        def answer(_ours, words, *_):
            if "recompute" in words:
                raise script.Failure("it crashed")
            return {"seconds": 2, "memory": GIB, "text": ""}

        with tempfile.TemporaryDirectory() as work:
            whole = os.path.join(work, "gains.md")
            with open(whole, "w", encoding="utf-8") as file:
                file.write("whole")
            self.run_main(answer, "8.7B on 8", work)
            with open(whole, encoding="utf-8") as file:
                self.assertEqual(file.read(), "whole")
            with open(os.path.join(work, "gains-part.md"), encoding="utf-8") as file:
                self.assertIn("![gains](gains-part.svg)", file.read())

    def test_nothing_is_written_when_every_job_fails(self):
        with tempfile.TemporaryDirectory() as work:
            with self.assertRaisesRegex(script.Failure, "every job failed"):
                self.run_main(script.Failure("it crashed"), "8.7B on 8", work)
            self.assertEqual(os.listdir(work), [])


class Predictions(unittest.TestCase):
    def test_a_job_that_does_not_fit_is_told_from_failures(self):
        ours, row = script.Ours(build), script.row_of("8.7B on 8")
        words = script.iterations.options(row)
        words.remove("--ignore-memory")
        with script.devices_of(row, 1e9) as cluster:
            with self.assertRaises(script.iterations.TooLarge):
                script.iterations.simulate(ours, ["--simulate", cluster, *words])

    def test_nothing_of_ours_is_the_published_code(self):
        ours, row = script.Ours(build), script.row_of("8.7B on 8")
        first = script.steps_of(row)[0]
        nothing = script.Step("published", "", ("--ours", "nothing"))
        cluster = os.path.join(script.CLUSTERS, "dgx-2h.ini")
        self.assertEqual(
            script.simulate(ours, row, first, None)["seconds"],
            script.iterations.predict(
                ours,
                ["--simulate", cluster, "--as", "v1.0"]
                + script.iterations.options(row),
            ),
        )
        self.assertEqual(
            script.simulate(ours, row, first, None)["seconds"],
            script.simulate(ours, row, nothing, None)["seconds"],
        )

    def test_a_job_of_eight_gpus(self):
        """Pruned recomputation drops a product of four a layer, and messages."""
        row = script.row_of("8.7B on 8")
        steps = script.steps_of(row)
        steps = script.evaluate(script.Ours(build), row, steps, None)
        seconds = [s.found["seconds"] for s in steps]
        self.assertEqual(seconds, sorted(seconds, reverse=True))
        self.assertTrue(5 < script.gain(steps[1], steps[0]) < 12, seconds)
        self.assertTrue(10 < script.gain(steps[-1], steps[0]) < 25, seconds)
        self.assertTrue(all(s.fits(steps[0].found["memory"]) for s in steps))

    def test_an_unknown_job_is_refused(self):
        done = subprocess.run(
            [SCRIPT, "--build", build, "--only", "1T"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(done.returncode, 1)
        self.assertTrue(
            done.stderr.startswith("gains: --only has the jobs 1T on 512, "),
            done.stderr,
        )


if __name__ == "__main__":
    unittest.main()
