"""The settings of PyTorch that perf/train_vs_pytorch and
perf/parallel_vs_pytorch search, the loops, and the processes."""

import json
import os
import sys
import tempfile
import unittest
import unittest.mock

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "perf"))

from bench import (  # noqa: E402
    cases,
    comparison,
    figures,
    layouts,
    loops,
    machine,
    ours,
    theirs,
)


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
        two = [
            setting
            for question in theirs.variants(
                bound, version_of(), cases.CASES["4x1x256"], ["/x"]
            )
            for setting in (change(bound) for change in question)
            if setting.processes == 2
        ]
        self.assertTrue(two)
        self.assertFalse(any(setting.bound for setting in two))

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

    def search_where(self, fails):
        """Of a peer that can compile; fails(setting): whether that one does."""

        def few(setting, *_, **__):
            if fails(setting):
                raise ours.Failure(f"PyTorch ({setting.text()}): no luck\nmore")
            return {}, 1.0

        one = comparison.Comparison.__new__(comparison.Comparison)
        one.peers = [
            comparison.Peer(setting_of(), version_of(compiles=True))
        ]
        one.few, one.say = few, lambda text: None
        return one.search(cases.CASES["4x64"], {}, ["/x"], False)

    def test_a_setting_that_cannot_run_is_left_out(self):
        tried, failed = self.search_where(lambda s: s.compiled)
        self.assertTrue(tried)
        self.assertFalse(any(s.compiled for s in tried))
        (text,) = failed
        self.assertIn("compiled", text)
        self.assertEqual(failed[text], f"PyTorch ({text}): no luck")

    def test_the_first_setting_must_run(self):
        with self.assertRaisesRegex(ours.Failure, "no luck"):
            self.search_where(lambda s: True)

    def test_near_settings_are_measured_too(self):
        slow, far, second, first = (
            setting_of(core=core) for core in ("slow", "far", "second", "first")
        )
        tried = {slow: 2, second: 1.1, first: 1.0, far: 1.3}
        self.assertEqual(theirs.near(tried), [first, second])

    def test_users_who_set_nothing_for_malloc_are_measured_too(self):
        kept = setting_of(memory="kept memory")
        plain, slow = setting_of(), setting_of(core="slow")
        tried = {kept: 1.0, plain: 2.0, slow: 2.5}
        self.assertEqual(theirs.near(tried), [kept, plain])
        for setting in (
            setting_of(memory="kept memory", compiled=True),
            setting_of(memory="kept memory", loop="DDP"),
        ):
            self.assertEqual(
                theirs.without_malloc_settings(setting).text(),
                setting.text().replace(", kept memory", ""),
            )
        case = cases.CASES["4x64"]
        layout = layouts.LAYOUTS["D2"]
        for questions in (
            theirs.variants(setting_of(), version_of(), case, ["/x"]),
            theirs.loop_variants(version_of(), layout),
        ):
            *_, last = questions
            self.assertEqual([c(kept) for c in last], [kept, plain])

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

    def test_a_line_that_is_no_json_object_is_a_failure(self):
        for line in "a warning", "3", "":
            found = self.why(f"echo '{{}}'; echo '{line}'; exec sleep 1000\n")
            self.assertTrue(found.endswith(f"is no JSON object: {line}"), found)

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

    def test_a_python_must_be_there(self):
        with self.assertRaises(ours.Failure) as raised:
            theirs.about(setting_of(python="/nowhere/python"))
        self.assertEqual(
            str(raised.exception),
            "--python /nowhere/python: No such file or directory",
        )


# Of mtlm-dag.
LINE = " [now] iteration 1/2 | elapsed time per iteration (ms): 5.0 | lm loss: 2 |"


class Ours(unittest.TestCase):
    """Programs of ours that do not do what they are to."""

    def of(self, name, text):
        """The Ours of a build that has that program."""
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        path = os.path.join(work.name, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write("#!/bin/sh\n" + text)
        os.chmod(path, 0o755)
        return ours.Ours(work.name)

    def test_samples_that_are_not_written_are_a_failure(self):
        program = self.of("perf/samples", "echo 'the disk is full' >&2; exit 3\n")
        with self.assertRaisesRegex(
            ours.Failure, "^perf/samples: the disk is full$"
        ):
            program.samples(cases.CASES["4x64"], 1, "/nowhere")

    def test_a_run_that_ends_too_early_is_a_failure(self):
        program = self.of("mtlm-dag", f"echo '{LINE}'; exec sleep 1000\n")
        with unittest.mock.patch.object(
            machine.Process, "cpu_seconds", side_effect=FileNotFoundError("gone")
        ), self.assertRaisesRegex(ours.Failure, "a run ended too early: gone"):
            program.train(cases.CASES["4x64"], 1, 1, 1)


if __name__ == "__main__":
    unittest.main()
