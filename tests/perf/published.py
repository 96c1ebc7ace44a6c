"""perf/published: its rows, options, errors, and a prediction."""

import os
import subprocess
import sys
import unittest
import xml.etree.ElementTree as xml

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "published")
script = load(SCRIPT, "published")
iterations = script.iterations
ROWS = iterations.read(script.ROWS)


def row_of(**wanted):
    (row,) = (
        r
        for r in ROWS
        if all(r.fields[name] == value for name, value in wanted.items())
    )
    return row


class Rows(unittest.TestCase):
    def test_all_sets_have_their_rows(self):
        counts = {name: 0 for name in iterations.SETS}
        for row in ROWS:
            counts[row.set] += 1
        self.assertEqual(
            counts,
            {
                "2019": 8,
                "2019 more": 5,
                "V1.0": 4,
                "2020-09": 7,
                "2021": 7,
                "2022": 4,
                "vTrain": 31,
                "ZB": 12,
                "ZB-I": 12,
                "ZB-1p": 12,
                "ZB-2p": 12,
                "ZB-2p sync": 4,
            },
        )

    def test_one_number_is_fitted_for_a_machine_and_code(self):
        fits = [(row.set, row.fitted) for row in ROWS if row.fitted]
        self.assertEqual(
            sorted(fits),
            [
                ("2019", "launch_s"),
                ("2021", "efficiency"),
                ("V1.0", "efficiency"),
                ("vTrain", "efficiency"),
                ("vTrain", "host_us"),
                ("vTrain", "shared_rate"),
            ],
        )

    def test_seconds_follow_from_published_rates(self):
        """502 PFLOP/s; 15.1 on 512 GPUs."""
        self.assertAlmostEqual(row_of(set="2021", layers=128).seconds, 102.6)
        self.assertAlmostEqual(row_of(set="2019", data=64).seconds, 2.423)

    def test_options_say_the_job(self):
        row = row_of(set="2022", layers=96, recompute="selective")
        words = " ".join(iterations.options(row))
        for part in (
            "--world-size 64 ",
            "--tensor-model-parallel-size 8 ",
            "--num-virtual-stages-per-pipeline-rank 3 ",
            "--recompute-granularity selective --sequence-parallel",
        ):
            self.assertIn(part, words + " ")
        self.assertNotIn("virtual", " ".join(iterations.options(ROWS[0])))
        self.assertIn("--vocab-size 50257 ", words)

    def test_a_schedule_that_the_code_never_had_replaces_its_order(self):
        row = row_of(set="ZB-2p sync", model="28.3B")
        words = " ".join(iterations.options(row))
        self.assertIn("--ours overlap --schedule zb-2p", words)
        self.assertIn("--vocab-size 32000 ", words)

    def test_the_vocabulary_of_zero_bubble_makes_the_names_of_its_models(self):
        """Parameters, equation 2 of arXiv 2104.04473 with 13 h a layer."""
        for row in ROWS:
            if row.set == "ZB":
                l, h = row.layers, row.hidden
                count = 12 * l * h**2 + 13 * l * h
                count += (row.vocabulary + row.sequence + 2) * h
                self.assertEqual(f"{count / 1e9:.1f}B", row.model)

    def test_days_are_of_an_epoch(self):
        for model, days in (("355M", 0.86), ("2.5B", 2.27)):
            row = row_of(set="2019 more", model=model)
            self.assertAlmostEqual(row.seconds * 68507 / 86400, days, places=2)


class Errors(unittest.TestCase):
    def rows(self, *predicted):
        fields = row_of(set="V1.0", tensor=1).fields
        return [iterations.Row(fields, 1.288 * p) for p in predicted]

    def test_errors_are_absolute_shares_of_the_published(self):
        mean, median, worst = iterations.errors(self.rows(0.9, 1.02, 1.06))
        self.assertAlmostEqual(mean, 6)
        self.assertAlmostEqual(median, 6)
        self.assertAlmostEqual(worst, 10)

    def test_a_row_that_misses_is_named(self):
        self.assertEqual(iterations.misses(self.rows(1.079)), "None.")
        self.assertEqual(
            iterations.misses(self.rows(1.1)),
            "* V1.0 1.2B, 1 x 1 x 1, 8 of 8: +10.0 %: no reason is known.",
        )

    def test_fits_leave_a_cluster_file(self):
        self.assertEqual(
            iterations.unfitted(
                "efficiency = 0.9  ; fitted: a\nhost_us = 3 ; fitted: b\nx = 1\n",
                0.5,
            ),
            "efficiency = 0.5\nx = 1\n",
        )

    def test_a_picture_has_a_point_for_each_row(self):
        picture = script.errors_picture.draw(
            "t", self.rows(0.5, 1.02), ["V1.0"]
        )
        points = [
            e for e in xml.fromstring(picture).iter() if e.tag.endswith("circle")
        ]
        self.assertEqual(len(points), 2 + 1)  # and the name of the set


class Notes(unittest.TestCase):
    def rows(self, **wanted):
        return [
            iterations.Row(r.fields, 0.95 * r.seconds)
            for r in ROWS
            if all(r.fields[name] == value for name, value in wanted.items())
        ]

    def test_bars_hold_or_not(self):
        rows = self.rows(set="2022") + self.rows(set="2019 more")
        lines = "\n".join(script.published_notes.bars(rows, None, ["13"]))
        for part in (
            r"median at most 3 %\s+\|\s+5.0 % \| does not hold",
            r"worst at most 8 %\s+\|\s+5.0 % \|\s+holds",
            r"2019 more: worst at most 10 %\s+\|\s+5.0 % \|\s+holds",
            r"figures 7, 8, 11 to 18: trends and optima\s+\| 13 miss",
        ):
            self.assertRegex(lines, part)

    def test_a_microbatch_more_is_a_difference_of_iterations(self):
        """9.091 - 5 s for 128 microbatches, and 5 % less."""
        lines = "\n".join(script.published_notes.passes(self.rows(set="ZB")))
        self.assertRegex(lines, r"28.3B \|\s+28.3 ms \|\s+32.0 ms \|\s+30.4 ms")

    def test_memory_stands_beside_the_measured_one(self):
        rows = [
            row
            for name in ("ZB", "ZB-I", "ZB-1p", "ZB-2p")
            for row in self.rows(set=name, model="6.2B")
        ]
        for row in rows:
            row.memory = (30 if row.set == "ZB-I" else 20) * 2**30
            row.room = 25 * 2**30
        lines = "\n".join(script.published_notes.memory(rows))
        self.assertRegex(
            lines,
            r"6.2B  \| 20.0 \(39\) \| 30.0 \(48\) \| 20.0 \(42\) \| 20.0 \(70\)",
        )
        lines = "\n".join(script.published_notes.bars(rows, None, None))
        self.assertRegex(lines, r"fits its device +\| 9 of 12 \| does not hold")

    def test_tensor_sizes_stand_beside_each_other(self):
        """14.53 s over 15.00 s of a job with twice the tensor-parallel size."""
        lines = "\n".join(
            script.published_notes.tensor_sizes(self.rows(set="vTrain"))
        )
        self.assertRegex(
            lines,
            r"39.1B \| 4 x 16 x 8, 2 of 1536 \|\s+8 x 8 x 8, 2 of 1536 \|"
            r"\s+-3.1 % \|\s+-3.1 % \|",
        )
        self.assertEqual(lines.count("175B"), 2)
        self.assertEqual(script.published_notes.tensor_sizes([]), [])

    def test_epochs_stand_beside_reductions_after_b(self):
        asked = []

        def predict(row):
            asked.append(row.fields["as"])
            return 2.0

        rows = self.rows(set="2019 more", model="8.3B 24 heads")
        lines = "\n".join(script.published_notes.epochs(rows, predict))
        self.assertEqual(asked, ["2019-unoverlapped"])
        self.assertRegex(lines, r"2 \(-24.5 %\) \|\s+0.65 \|")


class Figures(unittest.TestCase):
    def figure(self, number):
        (figure,) = (
            f
            for f in script.published_figures.FIGURES
            if f.number == number
        )
        return figure

    def test_speed_counts_as_the_source_does(self):
        """502 PFLOP/s on 3072 GPUs are 163.4 TFLOP/s of each."""
        row = row_of(set="2021", layers=128)
        row = iterations.Row(row.fields, row.seconds)
        speed = script.published_figures.speed(row)
        self.assertAlmostEqual(speed, 163.0, places=0)

    def test_a_curve_without_the_trend_is_named(self):
        figure = self.figure("13")
        good = {"B 32": [1, 2, 3, 2, 1], "B 128": [1, 2, 3, 2, 1]}
        self.assertEqual(figure.fails(good), [])
        self.assertEqual(
            figure.fails({**good, "B 128": [1, 3, 2, 2, 1]}), ["B 128"]
        )
        rising = {"v 1": [1, 1], "v 4": [1.2, 1.3]}
        self.assertEqual(self.figure("12").fails(rising), ["v 4"])
        kept = {"recomputed": [1, 2], "kept": [1.4, 0]}  # 0: does not fit
        held = {**kept, "kept": [1.4, 2.8]}
        self.assertEqual(self.figure("17").fails(held), ["kept"])
        self.assertEqual(self.figure("17").fails(kept), ["kept"])
        kept["recomputed"] = [1, 2.2]
        self.assertEqual(self.figure("17").fails(kept), [])
        kept["recomputed"] = [1.3, 2.2]
        self.assertEqual(self.figure("17").fails(kept), ["recomputed"])
        self.assertEqual(self.figure("7").fails({"": [1, 1.2, 1.3]}), [])
        self.assertEqual(self.figure("7").fails({"": [1, 1.3, 1.25]}), [""])
        little = {"fused": [135, 148], "unfused": [125, 133]}
        self.assertEqual(self.figure("5.8").fails(little), ["fused"])
        even = {"scattered": [1.05, 1.05], "whole": [1, 1]}
        self.assertEqual(self.figure("18").fails(even), ["scattered"])
        flat = {"B 128": [3, 3], "B 8": [3, 2]}
        self.assertEqual(self.figure("11").fails(flat), ["B 8"])

    def test_a_figure_that_misses_has_its_reason(self):
        def predict(row):
            row.predicted, row.memory, row.room = 1, 1, 2

        lines, failed = script.published_figures.section(predict)
        self.assertIn("13", failed)
        for number in failed:
            why = self.figure(number).why
            self.assertEqual(lines.count(why) if why else 1, 1)
        for number in "8", "13", "17", "18":
            self.assertTrue(self.figure(number).why)

    def test_an_estimate_fills_eight_stages(self):
        """128 microbatches take as long as 135 on one stage."""
        ((_, fields), *_) = self.figure("8").curves["B 128"]
        row = iterations.Row({**script.published_figures.BASE, **fields}, 2.0)
        alone = {k: v for k, v in row.fields.items() if k != "estimated"}
        speed = script.published_figures.speed
        self.assertAlmostEqual(
            speed(row) / speed(iterations.Row(alone, 2.0)), 128 / 135
        )

    def test_what_does_not_fit_has_no_speed(self):
        row = row_of(set="2021", layers=128)
        row = iterations.Row(row.fields, row.seconds, memory=3, room=2)
        self.assertEqual(script.published_figures.speed(row), 0)

    def test_figures_have_settings_of_the_program(self):
        for figure in script.published_figures.FIGURES:
            for row in figure.rows():
                self.assertEqual(row.layers % (row.pipeline * row.virtual), 0)


class Predictions(unittest.TestCase):
    def test_small_rows_are_within_the_bars(self):
        ours = script.Ours(build)
        for wanted in (
            {"set": "V1.0", "tensor": 8},
            {"set": "2021", "layers": 24},
            {"set": "2019", "tensor": 8, "layers": 40},
            {"set": "vTrain", "hidden": 8192, "data": 32},
        ):
            row = row_of(**wanted)
            row.predicted = script.predict(ours, row, script.cluster_of(row))
            self.assertLess(abs(row.error()), 8, (row.fields, row.predicted))

    def test_an_unknown_set_is_refused(self):
        done = subprocess.run(
            [SCRIPT, "--build", build, "--only", "2018,V1.0"],
            capture_output=True,
            text=True,
        )
        self.assertEqual(
            (done.returncode, done.stderr),
            (
                1,
                "published: --only has the sets 2019, 2019 more, V1.0, "
                "2020-09, 2021, 2022, vTrain, ZB, ZB-I, ZB-1p, ZB-2p, ZB-2p "
                "sync, not 2018\n",
            ),
        )


if __name__ == "__main__":
    unittest.main()
