"""The arithmetic of perf/train_vs_pytorch, perf/parallel_vs_pytorch and
perf/overhead."""

import json
import math
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import (  # noqa: E402
    bounds,
    cases,
    comparison,
    figures,
    layouts,
    loops,
    machine,
    ours,
    report,
    report_parallel,
    theirs,
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
        def case(others):
            return {"ours": {"others": others}, "theirs": {"others": 0}}

        self.assertIn("NOISY", report.quiet([case(0), case(0.7)]))
        self.assertIn("quiet", report.quiet([case(0.01)]))

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


def setting_of(**more):
    return theirs.Setting(
        **{"python": "/python", "torch": "2.15", "blas": "/x", **more}
    )


def version_of(**more):
    """What a PyTorch says of itself."""
    return {
        "torch": "2.15",
        "sdpa": False,
        "fused": False,
        "compiles": False,
        "masters": False,
        "pipelining": False,
        "megatron": None,
        **more,
    }


def asked(setting, version, name, bf16=False):
    """{the values of a field that a search asks for}"""
    case = cases.CASES["4x64"]
    return {
        getattr(change(setting), name)
        for question in theirs.variants(
            setting, version, case, ["/x", "/y"], bf16
        )
        for change in question
    }


class Setting(unittest.TestCase):
    def test_the_library_and_its_threads_are_the_setting_s(self):
        os.environ["OPENBLAS_NUM_THREADS"] = "7"
        self.addCleanup(os.environ.pop, "OPENBLAS_NUM_THREADS")
        env = setting_of(threads=2).environment()
        self.assertEqual(env["LD_LIBRARY_PATH"], "/x")
        self.assertEqual(env["OPENBLAS_NUM_THREADS"], "2")
        self.assertNotIn("OPENBLAS_CORETYPE", env)

    def test_a_setting_hides_nothing_of_what_a_run_is_given(self):
        given = dict(case="4x64", weights="/w", samples="/s", autocast=True)
        with unittest.mock.patch.object(theirs.subprocess, "Popen") as popen:
            theirs.start(setting_of(weights="bfloat16"), given, 0, None)
        options = json.loads(popen.call_args.args[0][2])
        self.assertEqual({name: options[name] for name in given}, given)

    def test_compiling_is_asked_where_the_version_can(self):
        for compiles in False, True:
            version = version_of(compiles=compiles)
            found = asked(setting_of(), version, "compiled")
            self.assertEqual(True in found, compiles)
        self.assertIn("compiled", setting_of(compiled=True).text())

    def test_processes_that_share_a_model_choose_a_loop_before_they_compile(self):
        version = version_of(compiles=True)
        found = asked(setting_of(loop="DDP"), version, "compiled")
        self.assertEqual(found, {False})

    def test_openblas_may_take_the_place_of_mkl(self):
        own = setting_of(blas=None)
        with unittest.mock.patch.object(
            machine, "blas_cores", lambda: ["SkylakeX", "Haswell"]
        ):
            self.assertEqual(asked(own, version_of(), "blas"), {None, "/x"})
            self.assertEqual(
                asked(own, version_of(), "core"), {None, "SkylakeX"}
            )
            self.assertEqual(asked(own, version_of(), "blas", bf16=True), {None})
        self.assertNotIn("LD_PRELOAD", own.environment())
        other = setting_of(blas="/x").environment()
        self.assertEqual(other["LD_PRELOAD"], "/x/libblas.so.3")
        self.assertEqual(asked(setting_of(), version_of(), "blas"), {"/x", "/y"})
        with unittest.mock.patch.dict(os.environ):
            os.environ.pop("LD_LIBRARY_PATH", None)
            self.assertNotIn("LD_LIBRARY_PATH", own.environment())
        self.assertIn("its own BLAS", own.text())

    def test_every_question_changes_one_thing(self):
        version = version_of(sdpa=True, compiles=True)
        setting = setting_of()
        case = cases.CASES["4x64"]
        for question in theirs.variants(setting, version, case, ["/x", "/y"]):
            for change in question:
                found = vars(change(setting))
                self.assertLessEqual(
                    sum(found[k] != v for k, v in vars(setting).items()),
                    2 if found["processes"] == 2 else 1,
                )

    def vectors_on(self, flags, torch="1.13.0a0"):
        """Vectors that PyTorch is asked for on a processor with these flags."""
        with unittest.mock.patch.object(
            machine, "processor", lambda: {"flags": flags}
        ):
            return {
                change(setting_of()).vectors
                for question in theirs.variants(
                    setting_of(),
                    version_of(torch=torch, sdpa=True, fused=True),
                    cases.CASES["4x64"],
                    ["/x"],
                )
                for change in question
            }

    def test_avx512_is_asked_where_the_processor_has_it(self):
        all_four = "fpu avx2 avx512f avx512bw avx512dq avx512vl"
        self.assertEqual(self.vectors_on(all_four), {"default", "avx512"})
        self.assertEqual(self.vectors_on("fpu avx2 avx512f"), {"default"})
        self.assertEqual(self.vectors_on("fpu avx2"), {"default"})
        self.assertEqual(self.vectors_on(""), {"default"})
        # Later versions take them by default.
        self.assertEqual(self.vectors_on(all_four, "2.15.0"), {"default"})

    def test_malloc_may_keep_the_memory_of_tensors(self):
        os.environ["MALLOC_TOP_PAD_"] = "7"
        self.addCleanup(os.environ.pop, "MALLOC_TOP_PAD_")
        found = asked(setting_of(), version_of(), "memory")
        self.assertEqual(found, {"default", "kept memory", "huge pages"})
        for memory in found:
            env = setting_of(memory=memory).environment()
            self.assertEqual("MALLOC_MMAP_MAX_" in env, memory == "kept memory")
            self.assertEqual("GLIBC_TUNABLES" in env, memory == "huge pages")
            self.assertNotEqual(env.get("MALLOC_TOP_PAD_"), "7")

    def test_weights_in_bf16_are_asked_for_training_in_bf16(self):
        for bf16, masters, found in (
            (True, True, {"float32", "bfloat16"}),
            (True, False, {"float32"}),
            (False, True, {"float32"}),
        ):
            questions = theirs.variants(
                setting_of(), version_of(masters=masters),
                cases.CASES["1x1024"], ["/x"], bf16,
            )
            changed = [change(setting_of()) for q in questions for change in q]
            self.assertEqual({s.weights for s in changed}, found)

    def test_cores_of_the_blas_are_those_that_the_processor_runs(self):
        for flags, cores in (
            ("avx2 avx512f avx512bw avx512dq avx512vl", ["SkylakeX", "Haswell"]),
            ("avx2", ["Haswell"]),
            ("sse2", []),
        ):
            with unittest.mock.patch.object(
                machine, "processor", lambda flags=flags: {"flags": flags}
            ):
                self.assertEqual(machine.blas_cores(), cores)

    def test_spinning_is_asked_first(self):
        version = version_of()
        setting = setting_of()
        case = cases.CASES["4x64"]
        first = next(theirs.variants(setting, version, case, ["/x"]))
        self.assertEqual([c(setting).spin for c in first], [True, False])

    def test_threads_may_be_bound_unless_processes_share_the_cores(self):
        found = asked(setting_of(), version_of(), "bound")
        self.assertEqual(found, {False, True})
        alone = setting_of(processes=2, threads=1)
        self.assertEqual(asked(alone, version_of(), "bound"), {False})
        bound = setting_of(bound=True)
        self.assertEqual(bound.environment()["OMP_PROC_BIND"], "close")
        self.assertIn("bound threads", bound.text())
        *_, last = theirs.variants(
            bound, version_of(), cases.CASES["4x1x256"], ["/x"]
        )
        for setting in (change(bound) for change in last):
            self.assertEqual(setting.bound, setting.processes == 1)

    def test_near_answers_are_tried_twice_and_the_faster_time_counts(self):
        times = {
            "loop": [3.0], "foreach": [2.2, 2.2], "fused": [2.5, 2.0],
        }
        asked = []

        def seconds(setting):
            asked.append(setting.adam)
            return times[setting.adam].pop(0)

        question = theirs.choices("adam", times)
        found = theirs.search(setting_of(), [question, question], seconds)
        self.assertEqual(asked, ["loop", "foreach", "fused", "foreach", "fused"])
        self.assertEqual(
            {s.adam: t for s, t in found.items()},
            {"loop": 3.0, "foreach": 2.2, "fused": 2.0},
        )

    def test_near_settings_are_measured_too(self):
        tried = {"slow": 2, "second": 1.1, "first": 1.0, "far": 1.3}
        self.assertEqual(theirs.near(tried), ["first", "second"])

    def test_the_rounds_choose_the_peer(self):
        runs = {"lucky once": [[1, 5, 5]], "steady": [[2, 2, 2]]}
        self.assertEqual(figures.fastest(runs), "steady")

    def test_threads_that_are_alone_do_not_spin(self):
        version = version_of()
        setting = setting_of(processes=2, threads=1)
        for question in theirs.variants(
            setting, version, cases.CASES["4x1x256"], ["/x"]
        ):
            for change in question:
                self.assertTrue(change(setting).spin)
                self.assertEqual(change(setting).processes, 2)

    def test_one_sample_is_not_for_two_processes(self):
        version = version_of()
        setting = setting_of()
        for name, two in (("1x1024", False), ("4x1x256", True)):
            questions = theirs.variants(
                setting, version, cases.CASES[name], ["/x"]
            )
            found = [c(setting).processes for q in questions for c in q]
            self.assertEqual(2 in found, two)


class Loops(unittest.TestCase):
    """Who trains a layout in PyTorch."""

    new = version_of(compiles=True, pipelining=True, megatron="0.16.1")

    def test_each_layout_has_those_that_are_for_it(self):
        for name, first, schedules in (
            ("P2", "own 1F1B", 3),
            ("P2-9-3", "own 1F1B", 3),
            ("T2", "own", 0),
            ("D2", "DDP", 0),
        ):
            layout = layouts.LAYOUTS[name]
            self.assertEqual(loops.names(layout, version_of()), [first])
            found = loops.names(layout, self.new)
            self.assertEqual(found[0], first)
            self.assertEqual(found[-1], "megatron-core")
            self.assertEqual(len(found), 2 + schedules)
            for loop in found:
                self.assertIn(loop, loops.MODULES)

    def search(self, layout, fastest):
        """The loops that a search asks for, "+" behind what is compiled, if one
        is fast."""
        layout = layouts.LAYOUTS[layout]
        tried = theirs.search(
            setting_of(loop=loops.first(layout)),
            theirs.loop_variants(self.new, layout),
            lambda s: 2 - (s.loop == fastest) - s.compiled / 2,
        )
        return [s.loop + "+" * s.compiled for s in tried]

    def test_the_fastest_loop_and_the_first_are_compiled_too(self):
        """Where that is possible."""
        megatron = ["megatron-core", "megatron-core+"]
        for fastest in "DDP", "megatron-core":
            self.assertEqual(
                self.search("D2", fastest), ["DDP", *megatron, "DDP+"]
            )
        self.assertEqual(self.search("T2", "own"), ["own", *megatron])
        every = ["own 1F1B", *loops.SCHEDULES, *megatron]
        for fastest, more in (
            ("own 1F1B", ["own 1F1B+"]),
            ("torch zero bubble", ["own 1F1B+"]),
            ("torch GPipe", ["torch GPipe+", "own 1F1B+"]),
        ):
            self.assertEqual(self.search("P2", fastest), every + more)

    def test_a_setting_names_its_loop(self):
        self.assertIn("torch 1F1B", setting_of(loop="torch 1F1B").text())
        self.assertIn("plain attention", setting_of(loop="own").text())
        self.assertNotIn("attention", setting_of(loop=loops.MEGATRON).text())

    def test_what_is_not_compiled_is_not(self):
        for compiled in False, True:
            env = setting_of(compiled=compiled).environment()
            self.assertEqual("TORCHDYNAMO_DISABLE" in env, not compiled)


class Processes(unittest.TestCase):
    """Of PyTorch, that do not do what they are to."""

    def run_script(self, text, processes=2):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "python")
            with open(path, "w") as file:
                file.write("#!/bin/sh\n" + text)
            os.chmod(path, 0o755)
            return theirs.run(setting_of(python=path, processes=processes), {})

    def why(self, *words):
        with self.assertRaises(ours.Failure) as raised:
            self.run_script(*words)
        return str(raised.exception).split("\n")[0]

    def test_all_that_the_first_one_says_comes_back(self):
        said = self.run_script("echo '{}'; echo '{\"a\": 1}'\n")
        self.assertEqual(said, [{}, {"a": 1}])

    def test_a_hang_ends(self):
        with unittest.mock.patch.object(theirs, "SILENCE", 1):
            found = self.why("echo '{}'; exec sleep 1000\n")
        self.assertIn("it did nothing for 1 s", found)

    def test_a_process_that_outlives_the_first_one_ends(self):
        script = "case $2 in *'\"rank\": 1'*) exec sleep 1000 ;; esac\n"
        with unittest.mock.patch.object(theirs, "SILENCE", 1):
            self.assertIn("it did nothing for 1 s", self.why(script))

    def test_the_first_error_is_the_cause(self):
        found = self.why(
            "case $2 in *'\"rank\": 1'*) exit ;; esac\n"
            "echo 'ValueError: too few' >&2; echo 'RuntimeError: closed' >&2\n"
            "exit 1\n"
        )
        self.assertTrue(found.endswith("it failed: ValueError: too few"), found)

    def test_a_failure_without_words_is_one(self):
        self.assertIn("it failed", self.why("exit 3\n"))


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

    def test_a_python_must_be_there(self):
        with self.assertRaises(ours.Failure) as raised:
            theirs.about(setting_of(python="/nowhere/python"))
        self.assertEqual(
            str(raised.exception),
            "--python /nowhere/python: No such file or directory",
        )


if __name__ == "__main__":
    unittest.main()
