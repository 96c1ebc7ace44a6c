"""perf/schedules: its formulas and tables, refusals, and a run on two ranks."""

import contextlib
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix
sys.path.insert(0, os.path.join(source, "perf"))

from bench import page_files, published, schedule_store, sleeping  # noqa: E402
from bench import schedule_table as table  # noqa: E402
from bench.ours import Failure  # noqa: E402
from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "schedules")
JOB = {"ranks": 4, "microbatches": 8, "unit": 16, "quick": False}

PLAN = """\
schedule auto: 2 virtual stages on each rank, placement v, --window 3 --act-mem 2113929

schedule         zb-h1: 0.626 s an iteration without optimizer; bubble 20 % of all ranks,
                 20 % of the busiest rank; no schedule takes less than 0.562 s: this one is 11.39 % above
"""
WAITS = (
    "                 0.61 s, 2.56 % less, where workers wait for messages: "
    "STARPU_SCHED=mtlm\n"
)


def script():
    return load(SCRIPT, "schedules")


def cell(planned, measured, more=0.0, memory=4, least=25):
    return {
        "planned": planned,
        "measured": measured,
        "least": least,
        "more": more,
        "memory": memory,
        "late": 0,
        "others": 0,
    }


def row(name, memory, cells):
    return {
        "schedule": name,
        "memory": memory,
        "formula": 27,
        "cells": dict(zip(table.MODES, cells)),
    }


class Formulas(unittest.TestCase):
    def test_names_are_those_of_the_program(self):
        with open(os.path.join(source, "graph/order/published.c")) as file:
            names = re.findall(r'\.name = "([^"]+)"', file.read())
        self.assertEqual([s.name for s in published.SCHEDULES], names)

    def test_makespans_of_equal_times(self):
        found = [s.makespan(4, 8, (1, 1, 1)) for s in published.SCHEDULES]
        self.assertEqual(
            found,
            [33, 33, 28.5, 28.5, 27, 24, None, None, 25.5, None, None, None],
        )

    def test_makespans_of_other_times(self):
        # 8 x 3.1, and 3 times F + B - W, or half of F.
        times = 1, 1.3, 0.8
        for name, makespan in ("zb-h1", 29.3), ("zb-v", 26.3), ("1f1b", 34.1):
            found = published.find(name).makespan(4, 8, times)
            self.assertAlmostEqual(found, makespan)

    def test_memory(self):
        found = [s.memory(4, s.v, 8) for s in published.SCHEDULES]
        self.assertEqual(found, [8, 4, 5.5, 8, 4, 7, 4, 8, 4, 3, 2, 4.5])

    def test_emergent_is_without_an_order(self):
        self.assertNotIn(
            "--schedule-mode", published.find("zb-v").options("emergent")
        )
        self.assertEqual(
            published.find("v-half").options("emergent")[-2:],
            ["--schedule-mode", "windows"],
        )
        self.assertEqual(
            published.find("zb-v").options("strict")[-1], "strict"
        )


class Plans(unittest.TestCase):
    def test_seconds_and_bound(self):
        found = table.plan_of(PLAN + WAITS, "prio")
        self.assertEqual((found["planned"], found["least"]), (0.626, 0.562))
        self.assertIn("placement v", found["choice"])

    def test_bounds_of_fused_schedules(self):
        fused = PLAN.replace("no schedule", "no schedule with B and W as one")
        self.assertEqual(table.plan_of(fused, "prio")["least"], 0.562)
        self.assertEqual(
            table.proved_of(
                "bound            in this memory no schedule with B and W as one"
                " takes less than 0.6 s, by linear program\n"
            ),
            0.6,
        )

    def test_policy_mtlm_waits_for_messages(self):
        self.assertEqual(table.plan_of(PLAN + WAITS, "mtlm")["planned"], 0.61)
        self.assertEqual(table.plan_of(PLAN, "mtlm")["planned"], 0.626)

    def test_what_is_missing_is_no_zero(self):
        for words in "s an iteration", "no schedule takes":
            with self.assertRaises(Failure):
                table.plan_of(PLAN.replace(words, ""), "prio")
        with self.assertRaises(Failure):
            table.act_mem_of(PLAN.replace("--act-mem", ""))

    def test_bytes_of_auto(self):
        self.assertEqual(table.act_mem_of(PLAN), 2113929)


class Tables(unittest.TestCase):
    AUTO = cell(26, 26.5, memory=5)
    ROWS = [
        row("zb-h1", 4, [cell(27, 27.2, 0.4), cell(28, 28.1, -1.1),
                         cell(27, 27.1, 0.2), cell(27, 28), AUTO]),
        row("zb-v", 4, [cell(25.5, 26, 0.5, 4.5), cell(30, 30, 0.1),
                        cell(30, 30, 0.1), cell(27, 28), AUTO]),
        row("gpipe", 8, [cell(33, 33, 1.9, 8)]),
    ]

    def test_a_row(self):
        lines = table.setting(self.ROWS).split("\n")
        cells = [x.strip() for x in lines[2].split("|")][1:-1]
        self.assertEqual(
            cells,
            ["zb-h1", "27", "25.00", "27.00 27.20", "28.00 28.10",
             "27.00 27.10", "27.00 28.00", "26.00 26.50", "4 / 4 / 5",
             "-1.1 %"],
        )

    def test_a_job_that_failed_is_no_number(self):
        lines = table.setting(self.ROWS).split("\n")
        cells = [x.strip() for x in lines[4].split("|")][1:-1]
        self.assertEqual(cells[4:10], ["failed"] * 4 + ["8 / - / -", "+1.9 %"])

    def test_auto_stands_beside_the_best_order_of_its_memory(self):
        best, (policy, auto) = table.beside(self.ROWS)[4]
        self.assertEqual((best["schedule"], policy), ("zb-v", "mtlm"))
        self.assertIs(auto, self.AUTO)
        line = table.auto_table({"1, 1, 1, 0": self.ROWS}).split("\n")[2]
        self.assertRegex(line, r"\+2\.0 % \| +\+1\.9 %")

    def test_distances_count_a_shared_run_once(self):
        found = {d["orders"]: d for d in table.distances(self.ROWS)}
        self.assertEqual(found["auto, mtlm"]["runs"], 1)
        self.assertEqual(found["strict"]["runs"], 3)
        self.assertEqual(max(found["strict"]["off"]), (1.9, "gpipe"))
        self.assertEqual(max(found["all"]["off"]), (1.9, "gpipe"))

    def test_the_bar(self):
        lines = table.verdict(self.ROWS)
        self.assertRegex(lines[0], "^. strict: the bar of 2 % holds")
        far = [row("1f1b", 4, [cell(27, 28, -2.1)])]
        self.assertRegex(table.verdict(far)[0], "does not hold.* 2.1 % off")

    def test_the_bar_is_on_the_range_of_drawn_messages(self):
        self.assertEqual(table.beyond(31, [33, 30, 34]), 0)
        self.assertAlmostEqual(table.beyond(33, [30, 30.5]), 8.2, 1)
        self.assertAlmostEqual(table.beyond(29.4, [30, 30.5]), -2)
        far = [row("v-half", 3, [dict(cell(30, 31.4, -5.3), beyond=-1.2)])]
        self.assertRegex(
            table.verdict(far)[0], "holds; .* is 1.2 % beyond .* 5.3 % off"
        )
        line = table.distance_table(far).split("\n")[2]
        self.assertRegex(line, r"5\.3 % \| v-half \| +1\.2 % \| v-half \|")

    def test_the_distance_to_the_plan(self):
        rows = [row("a", 4, [cell(100, 100 + x)]) for x in (1, 2, 9)]
        plan = sorted(x for x, _ in table.distances(rows)[0]["plan"])
        self.assertAlmostEqual(plan[1], 2)
        self.assertAlmostEqual(plan[2], 9)
        line = table.distance_table(rows).split("\n")[2]
        self.assertRegex(line, r"2\.0 % \| +9\.0 % \|$")

    def test_overhead_is_the_median_of_strict_orders(self):
        rows = [row("a", 4, [cell(100, 100 + x)]) for x in (1, 2, 9)]
        self.assertAlmostEqual(table.overhead(rows), 2)
        self.assertIsNone(table.overhead([row("a", 4, [])]))

    def test_short_messages(self):
        cells = dict(zip(table.MODES, [cell(27, 27.0), cell(27, 27.27)]))
        line = table.short_hop_table(cells).split("\n")[3]
        self.assertRegex(line, r"27\.270 \| +\+1\.00 %")

    def test_spread(self):
        self.assertAlmostEqual(table.spread([99, 100, 101]), 2)



class Setting:
    """Of perf/schedules, without runs.  auto needs more than 2 bytes."""

    p, m, times, slow = 4, 8, (1, 1, 1), None

    def __init__(self):
        self.runs = []

    def title(self):
        return "here"

    def run(self, options, policy):
        self.runs.append(options)
        if "auto" in options and float(options[-1]) <= 2:
            raise Failure("no memory")
        return cell(1, 1)


class Noise(unittest.TestCase):
    def chosen(self, *runs):
        """Which of the runs stands in the table, and how many there were."""
        left = [
            {"others": others, "spread": spread, "more": more}
            for others, spread, more in runs
        ]
        given = list(left)
        found = sleeping.quietest(lambda: left.pop(0), script().noise)
        return given.index(found), len(given) - len(left)

    def test_a_quiet_and_steady_job_runs_once(self):
        self.assertEqual(self.chosen((0.1, 1.9, 0.9), (0, 0, 0)), (0, 1))
        self.assertEqual(self.chosen((0.1, 1.9, -5), (0, 0, 0)), (0, 1))

    def test_others_and_unsteady_iterations_make_it_run_again(self):
        self.assertEqual(self.chosen((0.1, 2.1, 0), (0.1, 1, 0)), (1, 2))
        self.assertEqual(self.chosen((0.3, 0, 0), (0, 0, 0)), (1, 2))

    def test_more_than_evaluated_makes_it_run_again(self):
        self.assertEqual(self.chosen((0, 0, 1.1), (0, 0, 0.5)), (1, 2))

    def test_the_least_noise_of_three_counts(self):
        runs = (0.3, 9, 0), (0.4, 8, 0), (0, 0, 5)
        self.assertEqual(self.chosen(*runs), (1, 3))
        runs = (0.3, 0, 0), (0.4, 0, 0), (0, 0, 2)
        self.assertEqual(self.chosen(*runs), (0, 3))


class Rows(unittest.TestCase):
    def test_one_that_fails_does_not_stop_the_others(self):
        failures = []
        found = script().measure_row(
            Setting(), published.find("v-min"), {}, 1, failures
        )
        self.assertEqual(list(found["cells"]), list(table.MODES[:3]))
        self.assertEqual(
            failures,
            [("v-min", f"here: v-min, auto, {p}: no memory") for p in ("prio", "mtlm")],
        )

    def test_schedules_of_equal_memory_share_the_jobs_of_auto(self):
        setting, jobs, measure = Setting(), {}, script().measure_row
        rows = [
            measure(setting, published.find(name), jobs, 1, [])
            for name in ("1f1b", "zb-v", "zb-h2")
        ]
        autos = [o[-1] for o in setting.runs if "auto" in o]
        self.assertEqual(autos, ["4", "4", "7", "7"])
        self.assertEqual(len(setting.runs), 3 * 3 + 4)
        for found in rows:
            self.assertEqual(list(found["cells"]), list(table.MODES))


    def test_rows_that_share_a_failed_job_all_have_its_sentence(self):
        class Failing(Setting):
            def run(self, how, policy):
                if "auto" in how:
                    raise Failure("late")
                return super().run(how, policy)

        setting, jobs, failures = Failing(), {}, []
        for name in ("1f1b", "zb-v"):
            script().measure_row(
                setting, published.find(name), jobs, 1, failures
            )
        self.assertEqual([name for name, _ in failures],
                         ["1f1b", "1f1b", "zb-v", "zb-v"])


class Store(unittest.TestCase):
    def test_rows_that_ran_again_replace_the_old_ones(self):
        old = {"a": [row("gpipe", 8, [cell(33, 34)]),
                     row("v-half", 3, [cell(30, 31)])]}
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "x.json")
            page_files.write_page(
                path.removesuffix(".json"), "",
                schedule_store.data({}, old, {}, ["once"], [("gpipe", "late")], JOB),
            )
            found, *others = schedule_store.read(path, JOB)
        self.assertEqual(found, old)
        self.assertEqual(others, [{}, ["once"], [("gpipe", "late")]])
        new = {"a": [row("v-half", 3, [cell(30, 30.5)])]}
        merged = schedule_store.merge(found, new)["a"]
        self.assertEqual([r["schedule"] for r in merged], ["gpipe", "v-half"])
        self.assertEqual(merged[1], new["a"][0])

    def read(self, stored, job):
        """schedule_store.read() of a file with that."""
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "x.json")
            with open(path, "w") as file:
                json.dump(stored, file)
            return schedule_store.read(path, job)

    def test_rows_of_another_job_are_refused(self):
        stored = schedule_store.data({}, {}, {}, [], [], JOB)
        self.assertEqual(self.read(stored, JOB), ({}, {}, [], []))
        for name, value in (
            ("ranks", 2), ("microbatches", 16), ("unit", 8), ("quick", True)
        ):
            with self.assertRaisesRegex(
                Failure,
                f"rows of another job: {name} is {JOB[name]} there and {value} ",
            ):
                self.read(stored, dict(JOB, **{name: value}))

    def test_a_file_without_a_job_is_of_the_defaults(self):
        stored = schedule_store.data({}, {}, {}, [], [], JOB)
        del stored["job"]
        with unittest.mock.patch.object(sys, "argv", [SCRIPT]):
            defaults = script().job_of(script().arguments())
        self.assertEqual(self.read(stored, defaults), ({}, {}, [], []))
        with self.assertRaises(Failure):
            self.read(stored, dict(defaults, ranks=2))

    def test_a_file_without_rows_is_refused(self):
        with tempfile.TemporaryDirectory() as work:
            path = os.path.join(work, "x.json")
            for text in "", "{}", "[]":
                with open(path, "w") as file:
                    file.write(text)
                with self.assertRaises(Failure):
                    schedule_store.read(path, JOB)


class Script(unittest.TestCase):
    def run_script(self, *options):
        return subprocess.run(
            [sys.executable, "-B", SCRIPT, "--build", build, *options],
            capture_output=True,
            text=True,
        )

    def test_refusals(self):
        for options, words in (
            (["--only", "zb-h3"], "no published schedule 'zb-h3'"),
            (["--microbatches", "6"], "the published orders need .* 2, 3, ... times"),
            (["--ranks", "1"], "the published orders need two ranks"),
            (["--unit", "nan"], "--unit is milliseconds"),
            (["--keep"], "--keep is for --only and --write"),
            (
                ["--keep", "--only", "zb-h1", "--write", source],
                ".*json has no rows to keep",
            ),
        ):
            done = self.run_script(*options)
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, f"^schedules: {words}")

    def test_some_rows_do_not_replace_the_page_of_all(self):
        module = script()
        about = {"model": "X", "family": 1, "number": 2}

        def name(*words, failures=()):
            with unittest.mock.patch.object(sys, "argv", [SCRIPT, *words]):
                options = module.arguments()
            schedules = module.check(options)
            return module.page_name(about, options, schedules, failures)

        whole, some = "schedules-x-family1-2", ("--only", "zb-h1,zb-v")
        with tempfile.TemporaryDirectory() as work:
            self.assertEqual(name(*some, "--keep", "--write", work), whole)
            failed = {"failures": ["zb-v: late"]}
            self.assertEqual(name("--write", work, **failed), whole)
            with open(os.path.join(work, whole + ".json"), "w"):
                pass
            self.assertEqual(name("--write", work, **failed), whole + "-part")
        self.assertEqual(name(), whole)
        self.assertEqual(name(*some), whole + "-part")
        self.assertEqual(name("--quick"), whole + "-part")

    def test_a_failure_stays_on_the_page_until_its_row_runs_again(self):
        module, quiet = script(), dict(cell(30, 31), spread=0, unit_ms=16)

        def page(work, ran, lost, *words):
            """Of a call that ran these rows, of which some failed."""

            def measure(_ours, _options, _schedules, failures):
                failures += [(name, f"{name} is late") for name in lost]
                return {
                    "a": [row(n, 4, [] if n in lost else [quiet]) for n in ran]
                }, {}

            words = [SCRIPT, "--write", work, *words]
            with unittest.mock.patch.multiple(
                module, measure=measure, Ours=unittest.mock.MagicMock()
            ), unittest.mock.patch.object(sys, "argv", words):
                with contextlib.redirect_stdout(io.StringIO()):
                    self.assertEqual(module.main(), bool(lost))
            (name,) = [x for x in os.listdir(work) if x.endswith(".md")]
            with open(os.path.join(work, name)) as file:
                return file.read()

        with tempfile.TemporaryDirectory() as work:
            keep = "--keep", "--only"
            text = page(work, ["gpipe", "v-half"], ["gpipe"])
            self.assertIn("* Failed: gpipe is late\n", text)
            text = page(work, ["v-half"], [], *keep, "v-half")
            self.assertIn("* Failed: gpipe is late\n", text)
            text = page(work, ["gpipe"], [], *keep, "gpipe")
            self.assertNotIn("Failed", text)

    def test_a_table_of_two_ranks(self):
        with tempfile.TemporaryDirectory() as work:
            done = self.run_script(
                *("--quick", "--only", "zb-h1", "--ranks", "2"),
                *("--microbatches", "4", "--write", work),
            )
            self.assertEqual(done.returncode, 0, done.stderr)
            (name,) = [x for x in os.listdir(work) if x.endswith("-part.json")]
            with open(os.path.join(work, name)) as file:
                settings = json.load(file)["settings"]
            again = self.run_script(
                *("--quick", "--only", "zb-h1", "--ranks", "2", "--keep"),
                *("--microbatches", "4", "--write", work),
            )
            self.assertEqual(again.returncode, 0, again.stderr)
            self.assertIn("* Rows of zb-h1 ran again later", again.stdout)
            other = self.run_script(
                *("--quick", "--only", "zb-h1", "--ranks", "2", "--keep"),
                *("--microbatches", "6", "--write", work),
            )
            self.assertEqual(other.returncode, 1)
            self.assertRegex(
                other.stderr,
                "^schedules: .* microbatches is 4 there and 6 here\n$",
            )
        (rows,) = settings.values()
        self.assertEqual(rows[0]["formula"], 13)
        self.assertEqual(set(rows[0]["cells"]), set(table.NAMES.values()))
        self.assertAlmostEqual(rows[0]["cells"]["strict"]["planned"], 13)
        for found in rows[0]["cells"].values():
            # Tasks that sleep never overtake the bound.
            self.assertGreater(found["measured"], 0.95 * found["least"])
        self.assertRegex(done.stdout, r"(?m)^\| zb-h1 +\| +13 \|( +[\d. ]+\|){6}")


if __name__ == "__main__":
    unittest.main()
