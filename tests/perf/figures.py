"""The arithmetic of perf/train_vs_pytorch, perf/parallel_vs_pytorch and
perf/overhead."""

import math
import os
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import (  # noqa: E402
    bounds,
    cases,
    comparison,
    figures,
    layouts,
    machine,
    ours,
    report,
    report_parallel,
    trace,
)

LINE = (
    " [2024-01-02 03:04:05] iteration        2/       9 | consumed samples:"
    "            8 | elapsed time per iteration (ms): 1234.5 | learning rate: "
    "1.000000E-04 | global batch size:     4 | lm loss: 1.031585E+01 | loss "
    "scale: 1.0 | grad norm: 9.528 | number of skipped iterations:   0 | "
    "number of nan iterations:   0 | tokens per second: 81.4 |"
)


class Losses(unittest.TestCase):
    def test_equal_series_agree(self):
        self.assertIsNone(figures.disagreement([[10.5], [9]], [[10.5], [9]]))

    def test_series_within_the_bound_agree(self):
        self.assertIsNone(figures.disagreement([10.0009], [10]))

    def test_small_losses_are_compared_absolutely(self):
        self.assertIsNone(figures.disagreement([[10, 3e-4]], [[10, 2e-4]]))
        self.assertIsNotNone(figures.disagreement([[10, 3e-3]], [[10, 2e-3]]))

    def test_one_iteration_off_is_refused(self):
        why = figures.disagreement([10, 9.01, 8], [10, 9, 8])
        self.assertIn("iteration 2", why)

    def test_second_kind_of_loss_counts(self):
        why = figures.disagreement([[10, 0.7]], [[10, 0.6]])
        self.assertIn("iteration 1", why)

    def test_missing_kind_of_loss_is_refused(self):
        self.assertIn("kinds", figures.disagreement([[10]], [[10, 0.6]]))

    def test_bf16_has_a_looser_bound(self):
        near, far = ([10.015], [10]), ([10.05], [10])
        self.assertIsNotNone(figures.disagreement(*near))
        self.assertIsNone(figures.disagreement(*near, figures.BF16_BOUND))
        self.assertIsNotNone(figures.disagreement(*far, figures.BF16_BOUND))

    def test_a_bound_may_be_two_one_for_the_first_kind(self):
        self.assertIsNone(
            figures.disagreement([[10, 1.015]], [[10, 1]], figures.BF16_BOUND)
        )
        self.assertIsNotNone(
            figures.disagreement([[10.05, 1]], [[10, 1]], figures.BF16_BOUND)
        )

    def test_missing_iteration_is_refused(self):
        self.assertIn("1 losses", figures.disagreement([10], [10, 9]))

    def test_nothing_at_all_is_refused(self):
        self.assertIsNotNone(figures.disagreement([], []))

    def test_nan_is_refused(self):
        for pair in ([math.nan], [10]), ([10], [math.nan]):
            self.assertIsNotNone(figures.disagreement(*pair))

    def test_largest_difference_is_relative(self):
        found = figures.largest_difference([[10, 2.002]], [[10.001, 2]])
        self.assertAlmostEqual(found, 1e-3)


class Ratio(unittest.TestCase):
    def test_half_the_time_is_twice_as_fast(self):
        found = figures.ratio([[1, 1, 1]], [[2, 2, 2]])
        self.assertEqual(
            found, {"median": 2, "fastest": 2, "least": 2, "most": 2}
        )

    def test_rounds_spread(self):
        found = figures.ratio([[1, 1], [2, 2]], [[3, 3], [3, 3]])
        self.assertEqual((found["least"], found["most"]), (1.5, 3))
        self.assertEqual(found["median"], 2.25)

    def test_fastest_iterations_are_compared_over_all_rounds(self):
        found = figures.ratio([[2, 1], [4, 4]], [[6, 6], [3, 6]])
        self.assertEqual(found["fastest"], 3)

    def test_one_slow_iteration_does_not_count(self):
        self.assertEqual(figures.ratio([[1, 9, 1]], [[2, 2, 2]])["median"], 2)


class Floor(unittest.TestCase):
    def rates(self, case, value):
        names = [n for p in cases.products(case) for n in cases.three(p)]
        return {name: value for name in names}

    def test_flops_are_those_of_the_formula(self):
        """6 N T + 12 L h s T, N with the embedding counted once."""
        for case in cases.CASES.values():
            model = case.model
            weights = 12 * model.layers * model.hidden**2
            weights += model.vocab * model.hidden
            weights += model.bert * model.hidden**2
            want = 6 * weights + 12 * model.layers * model.hidden * (
                case.seq_length
            )
            found = figures.floor(case, self.rates(case, 1))["gflop"]
            self.assertAlmostEqual(found, 1e-9 * want * case.tokens, places=6)

    def test_seconds_follow_from_the_rate(self):
        case = cases.CASES["1x1024"]
        slow = figures.floor(case, self.rates(case, 100))
        self.assertAlmostEqual(slow["seconds"], slow["gflop"] / 100)
        fast = figures.floor(case, self.rates(case, 200))
        self.assertAlmostEqual(slow["seconds"], 2 * fast["seconds"])

    def test_only_a_causal_model_saves_attention(self):
        gpt, bert = cases.CASES["1x1024"], cases.CASES["bert-1x512"]
        found = figures.floor(gpt, self.rates(gpt, 1))
        attention = 1e-9 * cases.attention_flops(gpt)
        saved = found["seconds"] - found["seconds_least"]
        self.assertAlmostEqual(saved, attention / 2)
        found = figures.floor(bert, self.rates(bert, 1))
        self.assertEqual(found["seconds"], found["seconds_least"])

    def test_products_have_the_names_of_perf_gemm(self):
        self.assertEqual(
            cases.three((256, 3072, 768)),
            ("nt256x3072x768", "nn256x768x3072", "tn3072x768x256"),
        )

    def test_the_better_attempt_counts(self):
        found = figures.best_rates({"a": 2, "b": 1}, {"a": 1, "b": 3})
        self.assertEqual(found, {"a": 2, "b": 3})
        self.assertEqual(figures.best_rates({}, {"a": 1}), {"a": 1})

    def test_a_slow_peer_is_seen(self):
        case = cases.CASES["4x64"]
        full, slow = self.rates(case, 100), self.rates(case, 20)
        self.assertAlmostEqual(figures.gemm_share(case, full, slow), 0.2)
        self.assertLess(0.2, figures.PEER_GEMM)


class LogLine(unittest.TestCase):
    def test_fields_of_an_iteration(self):
        fields = ours.iteration_of(LINE)
        self.assertEqual(fields["elapsed time per iteration (ms)"], 1234.5)
        self.assertEqual(ours.losses_of(fields), [10.31585])

    def test_loss_of_sentence_order_comes_second(self):
        line = LINE.replace(" | loss scale", " | sop loss: 6.9E-01 | loss scale")
        fields = ours.iteration_of(line)
        self.assertEqual(ours.losses_of(fields), [10.31585, 0.69])

    def test_other_lines_are_none(self):
        for line in (
            " validation loss at iteration 938 | lm loss value: 2.29E+00 |",
            "layout: tensor 1 x pipeline 1 = 1 rank",
            "",
        ):
            self.assertIsNone(ours.iteration_of(line))


class Engine(unittest.TestCase):
    def test_share_is_that_of_the_last_lines(self):
        lines = ["memory: peak 1 MiB", "communication thread: 0.25 % of a core"]
        self.assertEqual(ours.engine_of(lines), 0.0025)

    def test_without_a_share_there_is_no_record(self):
        with self.assertRaises(ours.Failure):
            ours.engine_of(["memory: peak 1 MiB"])

    def test_peers_have_none(self):
        self.assertEqual(report.engine(None), "-")
        self.assertEqual(report.engine(0.0123), "1.23 %")


class Prediction(unittest.TestCase):
    """Of launch/report/synthetic_report.c."""

    TEXT = (
        "Predicted: 40.5 ms an iteration, bubble 15.4 %, 49 % of the "
        "communication under computation, with 0.123 ms per hop as measured.\n"
        "Measured 2.8 % slower than predicted (tasks +1.6 %).\n"
    )

    DRAWN = (
        "Drawn 31 times from the times of messages: 40.1 to 42.7 ms an "
        "iteration.\n"
    )

    def test_numbers_are_those_of_the_sentences(self):
        self.assertEqual(
            ours.prediction_of("memory\n" + self.TEXT + self.DRAWN),
            {
                "evaluated_ms": 40.5,
                "hop_ms": 0.123,
                "more": 2.8,
                "late": 1.6,
                "drawn_ms": [40.1, 42.7],
            },
        )

    def test_a_range_may_be_missing(self):
        self.assertIsNone(ours.prediction_of(self.TEXT)["drawn_ms"])

    def test_faster_is_less_than_nothing(self):
        found = ours.prediction_of(self.TEXT.replace("slower", "faster"))
        self.assertEqual(found["more"], -2.8)

    def test_one_stage_has_no_hop(self):
        text = self.TEXT.replace(", with 0.123 ms per hop as measured", "")
        self.assertIsNone(ours.prediction_of(text)["hop_ms"])

    def test_a_sentence_that_is_missing_is_no_zero(self):
        for line in self.TEXT.splitlines():
            with self.assertRaises(ours.Failure):
                ours.prediction_of(line)


SUMMARY = """{"windows": 1, "makespan_ms": 10, "ranks": [{"workers": 2,
"window_ms": 10, "busy_ms": 15, "engine_share": 0.02}], "iterations": [{"iteration": 3, "counts":
false}, {"iteration": 4, "counts": true}], "waits": [{"cause": "data",
"share": 0.25}]}"""

SCHEDULE = """worker,iteration,name,start_us,end_us,flops
0,3,adam,0,9000,10
0,4,linear_fwd,10000,19000,100
1,4,linear_fwd,10000,15000,100
1,4,adam,15000,16000,7
-1,4,send,0,1,0
"""


class Trace(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)
        for name, text in (
            ("summary.json", SUMMARY),
            ("schedule.csv", SCHEDULE),
        ):
            with open(os.path.join(self.directory.name, name), "w") as file:
                file.write(text)
        self.summary, self.rows = trace.read(self.directory.name)

    def test_only_nodes_of_whole_iterations_count(self):
        self.assertEqual(len(self.rows), 3)

    def test_busy_and_idle(self):
        found = trace.figures(self.summary, self.rows)
        self.assertEqual(found["efficiency"], 0.75)
        self.assertEqual(found["nodes_per_second"], 300)
        self.assertAlmostEqual(found["us_of_node"], 5000)
        self.assertAlmostEqual(found["us_of_workers_per_node"], 5000 / 3)
        self.assertEqual(found["waits"], {"data": 0.25})
        self.assertEqual(found["engine"], 0.02)

    def test_operations_by_time(self):
        found = trace.operations(self.rows)
        self.assertEqual([entry[0] for entry in found], ["linear_fwd", "adam"])
        self.assertEqual(found[0][1:], (2, 14, 200))


def stage(f, b, w, step=0, rest=0):
    return {"F": f, "B": b, "W": w, "step": step, "rest": rest}


class Bounds(unittest.TestCase):
    def test_equal_stages_are_those_of_1f1b(self):
        """Table of fused schedules: (m + p - 1) T."""
        for p, m, makespan in (2, 8, 27), (4, 8, 33), (8, 16, 69):
            found = bounds.equal_stages([stage(1, 1, 1)] * p, m)
            self.assertEqual(found, makespan)

    def test_equal_work_is_the_mean_of_uneven_stages(self):
        stages = [stage(1, 2, 1, 5, 1), stage(3, 4, 5, 2)]
        self.assertEqual(bounds.equal_stages(stages, 4), 5 * 8 + 6)

    def test_measured_stages_are_reached_by_zb_h1(self):
        """Its makespan with times of 1, m T + (p - 1), is optimal."""
        for p, m, makespan in (2, 8, 25), (4, 8, 27), (4, 16, 51), (8, 16, 55):
            found = bounds.measured_stages([stage(1, 1, 1)] * p, m)
            self.assertEqual(found, makespan)

    def test_the_slowest_stage_has_all_of_its_work_to_do(self):
        stages = [stage(2, 2, 2), stage(5, 5, 5)]
        self.assertEqual(bounds.measured_stages(stages, 4), 2 + 60)
        self.assertEqual(bounds.measured_stages(stages[::-1], 4), 60)

    def test_the_last_gradient_goes_down_to_the_first_stage(self):
        stages = [stage(1, 4, 4), stage(5, 5, 0)]
        self.assertEqual(bounds.measured_stages(stages, 4), 1 + 40 + 4 + 4)

    def test_steps_come_before_the_next_iteration(self):
        stages = [stage(1, 1, 1, 7, 2), stage(1, 1, 1, 3, 1)]
        self.assertEqual(bounds.measured_stages(stages, 4), 7 + 1 + 12 + 1)

    def test_times_are_per_microbatch_and_iteration(self):
        def row(rank, op, name, start, end):
            times = {"start_us": str(1e3 * start), "end_us": str(1e3 * end)}
            return {"rank": str(rank), "op": op, "name": name, **times}

        summary = {
            "run": {"microbatches": 2, "stages": 2},
            "windows": 2,
            "ranks": [{}, {}],
            "makespan_ms": 12,
            "bubble_fraction": 0.25,
            "overlap_fraction": None,
        }
        rows = [
            *[row(0, "F", "linear_fwd", 0, 3)] * 4,
            *[row(1, "W", "linear_wgrad", 1, 3)] * 8,
            *[row(1, "OPT", "adam", 0, 5)] * 2,
            row(1, "OPT", "square_sum", 0, 5),
        ]
        found = bounds.figures(summary, rows)
        self.assertEqual(
            found["stages"], [stage(3, 0, 0), stage(0, 0, 4, 5, 2.5)]
        )
        self.assertEqual(found["bounds"]["equal"], 3 * 3.5 + 7.5)
        self.assertEqual(found["bounds"]["measured"], 5 + 8 + 2.5)
        self.assertAlmostEqual(found["over"]["equal"], 12 / 18 - 1)
        # Of tensor-parallel ranks the slower one counts.
        summary["run"]["stages"] = 1
        found = bounds.figures(summary, rows)
        self.assertEqual(found["bounds"], {"measured": 5 + 8 + 2.5})


class Layouts(unittest.TestCase):
    def test_stages_have_all_layers(self):
        for layout in layouts.LAYOUTS.values():
            if layout.tensor == 1:
                self.assertEqual(sum(layout.stages), cases.GPT2.layers)
            self.assertEqual(layout.ranks, 2)

    def test_uneven_stages_are_told(self):
        text = " ".join(layouts.LAYOUTS["P2-9-3"].options())
        self.assertIn("--pipeline-model-parallel-size 2", text)
        self.assertIn("--stage-layers 9,3", text)
        self.assertIn("--schedule zb-2p", text)
        self.assertNotIn("--stage", " ".join(layouts.LAYOUTS["P2"].options()))

    def test_replicas_are_what_the_processes_leave(self):
        layout = layouts.LAYOUTS["D2"]
        self.assertEqual(layout.ranks, 2)
        self.assertNotIn("2", layout.options())
        self.assertEqual(layout.peer()["replicas"], 2)

    def test_other_losses_end_the_comparison(self):
        run, other = {"losses": [[10]]}, {"losses": [[9]]}
        comparison.must_agree("P2", run, run)
        with self.assertRaises(ours.Failure):
            comparison.must_agree("P2", run, other)

    def test_bars_are_said(self):
        def layout(ratio, over):
            return {
                "name": "P2",
                "ratio": {
                    **dict.fromkeys(("median", "least", "most"), ratio),
                    "fastest": 1.5,
                },
                "cpu_ratio": {"median": 1},
                "default_malloc": {"median": 1.75},
                "ours": {"tokens_per_second": 2},
                "theirs": {"tokens_per_second": 1},
                "loss_difference": 0,
                "loop": "torch 1F1B",
                "schedule": {
                    "makespan_ms": 1,
                    "bubble": 0,
                    "overlap": None,
                    "bounds": {"measured": 1, "equal": 2},
                    "over": {"measured": over, "equal": 0},
                },
            }

        good, bad = layout(1.3, 0.08), layout(1.29, 0.081)
        self.assertIn("reached", report_parallel.ratios([good]))
        self.assertIn("torch 1F1B", report_parallel.ratios([good]))
        self.assertIn(" 1.50 |", report_parallel.ratios([good]))
        self.assertIn(" 1.75 |", report_parallel.ratios([good]))
        self.assertIn("MISSED", report_parallel.ratios([bad]))
        self.assertIn("yes", report_parallel.schedules([good]))
        self.assertIn("NO", report_parallel.schedules([bad]))


class Ranks(unittest.TestCase):
    def test_a_launcher_s_processes_are_found(self):
        child = subprocess.Popen(["sleep", "60"])
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        self.assertIn(child.pid, machine.children(os.getpid()))

    def test_several_processes_are_added_up(self):
        one = machine.Process(os.getpid())
        two = machine.Processes([os.getpid()] * 2)
        self.assertGreaterEqual(two.cpu_seconds(), 2 * one.cpu_seconds() - 0.1)
        self.assertAlmostEqual(
            two.peak_bytes(), 2 * one.peak_bytes(), delta=2**20
        )

    def test_ranks_share_the_cores_as_the_peer_s_processes_do(self):
        command = " ".join(ours.mpirun(2))
        self.assertIn("-n 2 ", command)
        self.assertIn("--bind-to none", command)


class Report(unittest.TestCase):
    def test_columns_are_aligned(self):
        lines = report.table([("case", "n"), ("a long one", "1")]).split("\n")
        self.assertEqual(len({len(line) for line in lines}), 1)
        self.assertTrue(lines[1].startswith("| ---"))

    def test_neighbours_are_said_out_loud(self):
        def combined(*others):
            run = dict(seconds=[1], cpu=[1], switches=[0], peak_bytes=1)
            runs = [dict(run, others=took) for took in others]
            return report.combined(runs, 1, {"seconds": 1})

        def case(*others):
            return {"ours": combined(*others), "theirs": combined(0)}

        self.assertIn("NOISY", report.quiet([case(0), case(0.7)]))
        self.assertIn("quiet", report.quiet([case(0.01)]))
        two = case(0.7, 0.01)  # rounds
        self.assertIn("up to 0.70 of the cores", report.quiet([two]))
        self.assertAlmostEqual(two["ours"]["others"], 0.355)

    def test_name_of_a_processor_is_one_of_a_file(self):
        about = {"model": "INTEL(R) XEON(R) Gold 1", "family": 6, "number": 2}
        self.assertEqual(machine.slug(about), "intel-xeon-gold-1-family6-2")


    def test_every_pytorch_has_a_line(self):
        def case(*shares):
            blas = "OpenBLAS core Haswell", "its own BLAS"
            return {
                "peers": [
                    {"torch": t, "blas": b, "gemm_share": share}
                    for t, b, share in zip(("1.13", "2.15"), blas, shares)
                ]
            }

        old, new = report.peers([case(0.9, 1.1), case(0.95, 1)])
        self.assertIn("PyTorch 1.13, OpenBLAS core Haswell", old)
        self.assertIn("90 to 95 %", old)
        self.assertIn("PyTorch 2.15, its own BLAS", new)
        self.assertIn("100 to 110 %", new)
        self.assertIn("its sgemm has 90 % of", report.peers([case(0.9, 1)])[0])
        self.assertIn(
            "its products in bf16 have 90 % of",
            report.peers([case(0.9, 1)], bf16=True)[0],
        )
        new = report.peers([{"peers": [
            {"torch": "2.15", "blas": "x", "gemm_share": 1, "megatron": "0.16.1"}
        ]}])
        self.assertIn("megatron-core 0.16.1", new[0])

    def test_settings_that_do_not_run_are_told_with_the_reason(self):
        case = {
            "name": "P2",
            "setting": "one",
            "measured": {"one": {"median": 1}},
            "tried": {"three": 1.75, "one": 1.5},
            "failed": {"two": "PyTorch (two): it did nothing for 120 s"},
        }
        text = report.settings([case])
        cells = [[c.strip() for c in line.split("|")[1:-1]] for line in
                 text.splitlines()]
        self.assertEqual(cells[2], ["P2", "one", "1.500", "1.000"])
        self.assertEqual(cells[3], ["P2", "three", "1.750", "-"])
        self.assertIn(
            "* P2 did not run: PyTorch (two): it did nothing for 120 s.", text
        )
        del case["failed"]
        self.assertNotIn("did not run", report.settings([case]))

    def test_paths_of_this_machine_stay_out_of_a_page(self):
        words = "4x64 --build /a/b --rounds 2 --python=/c --write d --openblas e"
        found = report.public(words.split())
        self.assertEqual(found, ["4x64", "--rounds", "2"])


class BadInput(unittest.TestCase):
    """What is wrong is said before anything is measured."""

    def says(self, script, *words):
        perf = os.path.join(os.environ.get("srcdir", "."), "perf")
        done = subprocess.run(
            [os.path.join(perf, script), *words],
            capture_output=True,
            text=True,
            timeout=20 * int(os.environ.get("TIME_SCALE", 3)),
        )
        self.assertNotIn("Traceback", done.stderr)
        return done.returncode, done.stderr.strip().split("\n")[-1]

    def test_a_directory_to_write_to_must_be_there(self):
        for script in "overhead", "train_vs_pytorch":
            code, text = self.says(script, "--write", "/nowhere/at/all")
            self.assertEqual(code, 2)
            self.assertIn("no directory to write to: '/nowhere/at/all'", text)

    def test_a_build_must_be_there(self):
        for script in "overhead", "train_vs_pytorch":
            code, text = self.says(script, "--build", "/nowhere")
            self.assertEqual(code, 1)
            self.assertIn("/nowhere/mtlm-dag is not there: make -C", text)
        for script in "simulations", "staleness", "layernorm":
            code, text = self.says(script, "--build", "/nowhere")
            self.assertEqual(code, 1)
            self.assertIn("/nowhere/mtlm-dag is not there: make -C", text)

    def test_words_are_looked_at_first(self):
        for script, *words, want in (
            ("staleness", "--lr", "abc", "invalid rate value: 'abc'"),
            ("staleness", "--jobs", "0", "--jobs is at least 1"),
            ("layernorm", "--jobs", "0", "--jobs is at least 1"),
        ):
            code, text = self.says(script, *words)
            self.assertEqual(code, 2)
            self.assertIn(want, text)

    def test_transformers_must_be_there(self):
        build = os.environ.get("builddir", ".")
        code, text = self.says("generate", "--build", build, "--python",
                               "/nowhere/python")
        self.assertEqual(code, 1)
        self.assertIn("/nowhere/python: No such file or directory; "
                      "launch/setup --peers installs transformers", text)


if __name__ == "__main__":
    unittest.main()
