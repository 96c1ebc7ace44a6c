#!/usr/bin/python3
"""perf/gpu_vs_pytorch and perf/gpu-check with programs that only say their
lines: what is made of these, and of failures."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

SOURCE = os.path.abspath(os.environ.get("srcdir", "."))
sys.path.insert(0, os.path.join(SOURCE, "perf"))

from bench import gpu_cases, gpu_session  # noqa: E402

OURS = """#!/bin/sh
[ "$1" != --version ] || exec echo "mtlm-dag 9.9"
for i in 1 2 3 4; do
    echo " [2024-01-02 03:04:05] iteration        $i/       4 |\
 elapsed time per iteration (ms): 50.0 | lm loss: 1.0E+01 |"
done
"""

PEER = """#!/bin/sh
echo '{"torch": "2.0", "device": "NVIDIA H200", "matrix_tflops": 500}'
case $2 in
*bert-1.3b*) exit 3 ;;
*seconds* | *case*)
    for i in 1 2 3 4; do echo '{"seconds": 0.1, "loss": 10}'; done ;;
esac
"""


def program(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w") as file:
        file.write(text)
    os.chmod(path, 0o755)
    return path


class AgainstPyTorch(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        program(self.work, "mtlm-dag", OURS)
        self.python = program(self.work, "python", PEER)

    def run_with(self, *words):
        return subprocess.run(
            [
                os.path.join(SOURCE, "perf", "gpu_vs_pytorch"),
                *("--build", self.work, "--python", self.python),
                *("--write", self.work, "--warm-up", "1"),
                *("--iterations", "3", *words),
            ],
            capture_output=True,
            text=True,
        )

    def result(self):
        path = os.path.join(self.work, "gpu_vs_pytorch-nvidia-h200.json")
        with open(path) as file:
            return json.load(file)

    def test_half_the_time_is_twice_as_fast(self):
        done = self.run_with("gpt2-124m")
        self.assertEqual(done.returncode, 0, done.stderr)
        (case,) = self.result()["cases"]
        self.assertEqual(case["autocast"]["ratio"]["median"], 2)
        self.assertEqual(case["ours"]["n"], 6)
        tflops = gpu_cases.CASES["gpt2-124m"].flops / 0.05 * 1e-12
        self.assertAlmostEqual(case["ours"]["tflops"], tflops)
        self.assertAlmostEqual(case["ours"]["mfu"], tflops / 989.5)
        self.assertAlmostEqual(case["ours"]["of_matrix_peak"], tflops / 500)

    def test_one_that_fails_is_named_and_the_others_are_kept(self):
        done = self.run_with("bert-1.3b", "gpt2-124m")
        self.assertEqual(done.returncode, 1)
        self.assertIn("bert-1.3b: ", done.stdout)
        self.assertIn("ended with 3", self.result()["failed"]["bert-1.3b"])
        self.assertEqual(len(self.result()["cases"]), 1)

    def test_no_case_begins_when_time_is_up(self):
        done = self.run_with("--seconds", "0", "gpt2-124m")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gpt2-124m: no time", done.stdout)

    def test_what_was_measured_is_kept_when_time_runs_out(self):
        """The second case would not begin, and the first has one round."""
        program(
            self.work, "python", PEER.replace("for i in", "sleep 5; for i in")
        )
        done = self.run_with("--seconds", "9", "gpt2-124m", "gpt2-2.5b")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.result()["cases"][0]["ours"]["n"], 3)

    def test_every_case_writes_what_there_is(self):
        """A stop in the middle of the second leaves the first."""
        stop = os.path.join(self.work, "stop")
        program(
            self.work,
            "mtlm-dag",
            OURS.replace("for i", f"case $* in *1.3b*) touch {stop}; sleep 60;; "
                         "esac\nfor i"),
        )
        run = subprocess.Popen(
            [
                os.path.join(SOURCE, "perf", "gpu_vs_pytorch"),
                *("--build", self.work, "--python", self.python),
                *("--write", self.work, "--warm-up", "1", "--rounds", "1"),
                *("--iterations", "3", "gpt2-124m", "bert-1.3b"),
            ],
            stdout=subprocess.DEVNULL,
            start_new_session=True,
        )
        while not os.path.exists(stop) and run.poll() is None:
            time.sleep(0.02)
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        self.assertEqual(
            [c["name"] for c in self.result()["cases"]], ["gpt2-124m"]
        )

    def test_model_flops_are_the_published_formula_s(self):
        """Table of megatron's V1.0 announcement: 1.2B, batch of 8."""
        case = gpu_cases.CASES["gpt2-v1-1.2b"]
        b, s, layers, h, v = 8, 1024, 24, 1920, 51200
        by_hand = 72 * b * s * layers * h**2 * (1 + s / 6 / h + v / 12 / layers / h)
        self.assertAlmostEqual(case.flops / case.microbatches / by_hand, 1)


# Losses 10, 9, 8 and 7, and which kernels; a trace where one is asked for.
TRAINS = r"""#!/bin/sh
echo "GELU: own kernels; its gradient: own kernels"
echo "bias gradients: own kernels"
for i in 1 2 3 4; do
    echo " [2024-01-02 03:04:05] iteration        $i/       4 |\
 elapsed time per iteration (ms): 50.0 | lm loss: $((11 - i)).0E+00 |"
done
while [ $# -gt 0 ]; do [ "$1" != --trace ] || cp -r "$0.trace" "$2"; shift; done
"""

PEER_CURVE = """import json, sys
setting = json.loads(sys.argv[1])["setting"]
for loss in 10, 9, 8, 7:
    print(json.dumps({"loss": loss * dict(zip(("masters", "fp32"), SHIFT))[
        setting]}))
"""

PEER_RATES = """print('{"matrix_tflops": 500}')
print('{"copy_gbs": 4000}')
"""

CUT_OFF = """import os, sys
path = sys.argv[sys.argv.index("--write") + 1]
with open(os.path.join(path, "gpu_vs_pytorch-x.json"), "w") as file:
    file.write('{"cases": ["one"]}')
sys.exit(1)
"""

TRACE = {
    "summary.json": json.dumps(
        {
            "makespan_ms": 10,
            "windows": 1,
            "iterations": [{"iteration": 4, "counts": True}],
            "ranks": [
                {
                    "workers": 1,
                    "window_ms": 10,
                    "busy_ms": 8,
                    "engine_share": 0,
                }
            ],
            "waits": [],
        }
    ),
    # What reads the tokens runs on another worker.
    "schedule.csv": "rank,worker,iteration,name,job,start_us,end_us,flops,"
    "workers\n"
    "0,0,4,linear_fwd,7,0,6000,1500000000000,1\n"
    "0,0,4,embedding_fwd,8,6000,8000,0,1\n"
    "0,1,4,batch,9,0,9000,0,0\n"
    "0,0,5,linear_fwd,10,0,6000,1500000000000,1\n",
    "tasks.rec": "Name: linear_fwd\nJobId: 0_7\nModes: R R W\n"
    "Sizes: 1000000 2000000 1000000\n\n"
    "Name: embedding_fwd\nJobId: 0_8\nModes: R R W\n"
    "Sizes: 100 900000000 4000000\n\n",
}


class GpuCheck(unittest.TestCase):
    def stand_ins(self, peer):
        """From here on gpu-check is that of a tree with programs that only say
        their lines."""
        self.root = os.path.join(self.work, "root")
        for folder in "launch", "build/perf", "build/mtlm-dag.trace":
            os.makedirs(os.path.join(self.root, folder))
        shutil.copytree(
            os.path.join(SOURCE, "perf", "bench"),
            os.path.join(self.root, "perf", "bench"),
        )
        shutil.copy(
            os.path.join(SOURCE, "perf", "gpu-check"),
            os.path.join(self.root, "perf"),
        )
        with open(
            os.path.join(self.root, "perf", "bench", "peer_gpu.py"), "w"
        ) as file:
            file.write(peer)
        build = os.path.join(self.root, "build")
        program(build, "mtlm-dag", TRAINS)
        program(build, "perf/samples", "#!/bin/sh\n")
        for name, text in TRACE.items():
            with open(os.path.join(build, "mtlm-dag.trace", name), "w") as file:
                file.write(text)

    def trains(self, words, others):
        """The stand-in for mtlm-dag prints others instead of these words."""
        program(
            os.path.join(self.root, "build"),
            "mtlm-dag",
            TRAINS.replace(words, others),
        )

    def check(self, *words, path=None):
        output = os.path.join(self.work, "out.json")
        done = subprocess.run(
            [
                *(sys.executable, os.path.join(self.root, "perf", "gpu-check")),
                *("--output", output, *words),
            ],
            capture_output=True,
            text=True,
            env={**os.environ, "PATH": path or os.environ["PATH"]},
        )
        if not os.path.exists(output):
            return done, None
        with open(output) as file:
            return done, json.load(file)["checks"]

    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        self.root = SOURCE

    def test_the_device_is_recorded(self):
        program(
            self.work,
            "nvidia-smi",
            "#!/bin/sh\necho 'NVIDIA H200, 580.1, 143771 MiB, 0 MiB, 1980 MHz'\n",
        )
        path = self.work + ":" + os.environ["PATH"]
        done, checks = self.check("--only", "device", path=path)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(checks["device"]["figures"]["name"], "NVIDIA H200")

    def test_a_machine_without_gpu_is_no_success(self):
        done, checks = self.check("--only", "device", path="/nowhere")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(checks["device"]["status"], "cannot run")

    def test_what_finds_no_time_is_said(self):
        done, checks = self.check("--only", "device", "--minutes", "0")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(checks["device"]["status"], "no time")

    def test_the_end_of_a_comparison_that_was_cut_off_is_kept(self):
        self.stand_ins(PEER_CURVE)
        with open(os.path.join(self.root, "perf", "gpu_vs_pytorch"), "w") as f:
            f.write(CUT_OFF)
        _, checks = self.check("--only", "against-pytorch")
        check = checks["against-pytorch"]
        self.assertEqual(check["status"], "wrong")
        self.assertEqual(check["figures"]["why"], "ended with 1, not 0")
        self.assertEqual(check["figures"]["cases"], ["one"])

    def test_a_folder_that_goes_away_hides_no_failure(self):
        self.stand_ins(PEER_CURVE)
        pages = os.path.join(self.work, "pages")
        os.mkdir(pages)
        with open(os.path.join(self.root, "perf", "gpu_vs_pytorch"), "w") as f:
            f.write("import os, sys\n"
                    "os.rmdir(sys.argv[sys.argv.index('--write') + 1])\n"
                    "sys.exit(1)\n")
        output = os.path.join(pages, "new.json")
        done, _ = self.check("--only", "against-pytorch", "--output", output)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, "against-pytorch +wrong .*ended with 1, not 0")
        self.assertEqual(
            done.stderr,
            f"gpu-check: cannot write {output}: No such file or directory\n",
        )

    def test_an_output_that_cannot_be_written_is_refused_first(self):
        self.stand_ins(PEER_RATES)
        for output, words in (
            (os.path.join(self.work, "none", "new.json"),
             f"--output: no directory to write to: '{self.work}/none'"),
            (self.work, f"--output: '{self.work}' names no file"),
            ("none/", "--output: 'none/' names no file"),
        ):
            done, _ = self.check("--only", "depth", "--output", output)
            self.assertEqual(done.returncode, 2)
            self.assertIn(words, done.stderr)
            self.assertEqual(done.stdout, "")

    def curve(self, *shift):
        """curve-bf16 where PyTorch's losses in bf16 and in fp32 are those of
        mtlm-dag times these."""
        peer = PEER_CURVE.replace("SHIFT", repr(shift))
        self.stand_ins(peer)
        done, checks = self.check("--only", "curve-bf16")
        return done, checks["curve-bf16"]

    def test_a_curve_like_pytorch_s_is_right(self):
        done, check = self.curve(1.004, 1.002)
        self.assertEqual(done.returncode, 0, (done.stderr, check))
        self.assertAlmostEqual(
            check["figures"]["gpt2-124m, bf16"], 1 - 1 / 1.004
        )
        distance = check["figures"]["mean distance from fp32"]
        self.assertAlmostEqual(distance["ours"], 1 - 1 / 1.002)
        self.assertAlmostEqual(distance["PyTorch"], 1.004 / 1.002 - 1)
        dump, samples, ours, *theirs = check["commands"]
        self.assertIn("--dump-first-step", dump)
        self.assertNotIn("--bf16", dump + samples)
        self.assertIn("--bf16", ours)
        for command, setting in zip(theirs, ("masters", "fp32")):
            self.assertIn(f'"setting": "{setting}"', command)

    def test_a_curve_elsewhere_is_wrong_and_kept(self):
        _, check = self.curve(1.02, 1.01)
        self.assertEqual(check["status"], "wrong")
        self.assertIn("losses differ by 0.02", check["figures"]["why"])
        self.assertEqual(len(check["figures"]["losses"]["ours"]), 4)

    def test_a_curve_further_from_fp32_than_pytorch_s_is_wrong(self):
        _, check = self.curve(1.004, 1.004)
        self.assertEqual(check["status"], "wrong")
        self.assertIn("from fp32", check["figures"]["why"])

    def test_without_pytorch_there_is_no_curve(self):
        self.stand_ins("import no_such_module\n")
        _, check = self.check("--only", "curve-bf16")
        self.assertEqual(check["curve-bf16"]["status"], "cannot run")

    def test_idle_time_and_floors_are_those_of_the_trace(self):
        self.stand_ins(PEER_RATES)
        done, checks = self.check("--only", "idle")
        check = checks["idle"]
        self.assertEqual(check["status"], "wrong", (done.stderr, check))
        self.assertIn("idle 20.0%, bar 3 %", check["figures"]["why"])
        found = check["figures"]["gpt2-v1-1.2b"]
        # Of 10 ms a product took 6 and an embedding 2.
        self.assertAlmostEqual(found["idle"], 0.2)
        self.assertAlmostEqual(found["us_idle_per_node"], 1000)
        product, embedding = found["operations"]
        # 1.5e12 FLOPs at 500 TFLOP/s take longer than 4e6 bytes at 4000 GB/s.
        self.assertEqual(product["name"], "linear_fwd")
        self.assertAlmostEqual(product["floor_ms"], 3)
        self.assertAlmostEqual(product["of_floor"], 0.5)
        # 100 of tokens, and twice the 4e6 of activations; no table.
        self.assertAlmostEqual(embedding["bytes"], 8e6 + 100)
        self.assertAlmostEqual(embedding["floor_ms"], 2e-3, places=6)

    def test_bf16_on_the_host_is_held_against_fp32(self):
        """All runs take 50 ms."""
        self.stand_ins(PEER_RATES)
        _, checks = self.check("--only", "host-bf16")
        check = checks["host-bf16"]
        self.assertEqual(check["figures"]["faster"], 1)
        bar = check["figures"]["bar"]
        self.assertEqual(check["status"], "right" if bar < 1 else "wrong")
        kinds = ["--bf16" in command for command in check["commands"]]
        self.assertEqual(kinds, [False, True, True, False])

    def test_the_widest_instructions_of_the_host_decide(self):
        for vendor, flags, bar in (
            ("AuthenticAMD", "avx2", 0.9),
            ("AuthenticAMD", "avx2 avx512_bf16", 1.6),
            ("GenuineIntel", "avx2 avx512_bf16", 0.9),
            ("GenuineIntel", "avx2 avx512_bf16 amx_bf16", 3),
        ):
            processor = {"vendor_id": vendor, "flags": flags}
            self.assertEqual(gpu_cases.bar_on_cpus(processor), bar)

    def test_each_epilogue_is_timed_in_turns_with_none(self):
        self.stand_ins(PEER_RATES)
        done, checks = self.check("--only", "epilogues")
        check = checks["epilogues"]
        self.assertEqual(done.returncode, 0, (done.stderr, check))
        wished = [
            [name for name, wish in re.findall(r"([a-z-]+):(on|off)", c)
             if wish == "on"]
            for c in check["commands"]
        ]
        there = [[], ["gelu"], ["gelu-gradient"], ["bias-gradient"]]
        self.assertEqual(wished, there + there[::-1])
        self.assertEqual(check["figures"]["ms"]["gelu"], [50, 50])
        self.assertEqual(check["figures"]["bias-gradient / none"], 1)

    def test_who_does_not_name_its_kernels_is_wrong(self):
        self.stand_ins(PEER_RATES)
        self.trains("bias gradients", "biases")
        _, checks = self.check("--only", "epilogues")
        self.assertEqual(checks["epilogues"]["status"], "wrong")
        self.assertIn("none: of GELU", checks["epilogues"]["figures"]["why"])

    def test_depths_of_the_queue_are_timed_in_turns(self):
        self.stand_ins(PEER_RATES)
        self.trains("50.0", "${STARPU_CUDA_PIPELINE}0.0")
        _, checks = self.check("--only", "depth")
        figures = checks["depth"]["figures"]
        self.assertEqual(
            figures["ms"], {"2 tasks": [20, 20], "4 tasks": [40, 40]}
        )
        self.assertEqual(figures["4 tasks / 2 tasks"], 2)

    def ends(self, path):
        """The process whose number is in that file, soon."""
        with open(path) as file:
            number = file.read().strip()
        self.assertTrue(number.isdigit())
        for _ in range(500):
            try:
                with open(f"/proc/{number}/status") as file:
                    if re.search("^State:\tZ", file.read(), re.M):
                        return
            except FileNotFoundError:
                return
            time.sleep(0.02)
        self.fail("it is still there")

    def test_who_is_stopped_stops_what_runs(self):
        self.stand_ins(PEER_RATES)
        pid = os.path.join(self.work, "pid")
        program(
            os.path.join(self.root, "build"),
            "mtlm-dag",
            f"#!/bin/sh\necho $$ >{pid}.new\nmv {pid}.new {pid}\nexec sleep 600\n",
        )
        run = subprocess.Popen(
            [
                *(sys.executable, os.path.join(self.root, "perf", "gpu-check")),
                *("--only", "depth", "--output", pid + ".json"),
            ],
            stdout=subprocess.DEVNULL,
        )
        while not os.path.exists(pid) and run.poll() is None:
            time.sleep(0.02)
        run.terminate()
        self.assertEqual(run.wait(), 143)
        self.ends(pid)

    def test_who_is_stopped_early_stops_what_starts(self):
        session = gpu_session.Session(1, self.work, os.path.join(self.work, "o"))
        session.result = gpu_session.Result("right")
        started = []

        def stopped_start(*words, **how):
            session.stop()  # as the handler of a signal
            started.append(start(*words, **how))
            return started[0]

        start = subprocess.Popen
        with unittest.mock.patch.object(subprocess, "Popen", stopped_start):
            with self.assertRaises(SystemExit) as stop:
                session.command("sleep", "600", limit=60)
        self.assertEqual(stop.exception.code, 143)
        self.assertEqual(started[0].wait(), -signal.SIGKILL)
        started[0].stdout.close()
        started[0].stderr.close()

    def kernels_say(self, script):
        """operations, where the test of the kernels is that."""
        self.stand_ins(PEER_RATES)
        folder = os.path.join(self.root, "build", "tests", "codelets")
        os.makedirs(folder)
        program(folder, "test_cuda.t", "#!/bin/sh\n" + script)
        _, checks = self.check("--only", "operations")
        return checks["operations"]

    def test_the_kernels_that_agree_are_counted(self):
        check = self.kernels_say(
            'echo "ok 1 - by $CMOCKA_MESSAGE_OUTPUT"\necho "ok 2 - all"\n'
        )
        self.assertEqual(check["status"], "right")
        self.assertEqual(check["figures"]["tests"], 2)
        self.assertIn("by TAP", check["said"])

    def test_no_kernel_is_not_right(self):
        self.assertEqual(self.kernels_say("exit 0")["status"], "wrong")

    def test_the_begin_of_what_is_said_is_kept_and_the_end(self):
        check = self.kernels_say("echo first\nseq 1 9999\necho last\nexit 9\n")
        self.assertEqual(check["status"], "wrong")
        self.assertTrue(check["said"].startswith("first\n1\n"))
        self.assertTrue(check["said"].endswith("9999\nlast\n"))
        self.assertLess(len(check["said"]), 5000)

    def test_what_a_command_leaves_running_ends_with_it(self):
        left = os.path.join(self.work, "left")
        self.kernels_say(f"sleep 600 >/dev/null 2>&1 &\necho $! >{left}\n")
        self.ends(left)

    def test_a_mistake_in_a_check_does_not_cost_the_next(self):
        self.stand_ins(PEER_RATES)
        trace = os.path.join(self.root, "build", "mtlm-dag.trace")
        os.remove(os.path.join(trace, "tasks.rec"))
        with open(os.path.join(trace, "summary.json"), "w") as file:
            file.write("{}")
        _, checks = self.check("--only", "idle,curve-bf16")
        self.assertEqual(checks["idle"]["status"], "wrong")
        self.assertIn("KeyError", checks["idle"]["figures"]["why"])
        self.assertIn("curve-bf16", checks)

    def test_names_are_checked(self):
        done, _ = self.check("--only", "all")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no check 'all' (device, ", done.stderr)


if __name__ == "__main__":
    unittest.main()
