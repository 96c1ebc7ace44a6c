"""perf/fit: finds the number that made the times, and says what is wrong."""

import os
import subprocess
import sys
import tempfile
import unittest

source = os.environ.get("srcdir", ".")
build = os.environ.get("builddir", ".")
sys.path.insert(0, os.path.join(source, "perf"))
sys.dont_write_bytecode = True

from bench import cluster_fit, iterations  # noqa: E402
from bench.ours import Ours  # noqa: E402

SCRIPT = os.path.join(source, "perf", "fit")
CLUSTER = os.path.join(source, "launch", "clusters", "dgx-a100.ini")
JOB = (
    "--model gpt2-345m --fp16 --tensor-model-parallel-size 2 "
    "--pipeline-model-parallel-size 2 --micro-batch-size 4 "
    "--global-batch-size 8"
)
TEXT = "[host]\ngb_per_s = 3 ; a\n[network]\ngb_per_s=1.5 ; b\ndevices = 8\n"


class Fit(unittest.TestCase):
    def setUp(self):
        self.work = tempfile.TemporaryDirectory()
        self.addCleanup(self.work.cleanup)

    def path(self, name, text):
        path = os.path.join(self.work.name, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def run_fit(self, *words):
        return subprocess.run(
            [SCRIPT, "--build", build, *words], capture_output=True, text=True
        )

    def refuses(self, words, why):
        done = self.run_fit(*words)
        self.assertEqual((done.returncode, done.stderr), (1, f"fit: {why}\n"))

    def test_a_key_belongs_to_its_section(self):
        self.assertEqual(
            cluster_fit.value_of(TEXT, "network", "gb_per_s"), 1.5
        )
        self.assertEqual(
            cluster_fit.with_value(TEXT, "network", "gb_per_s", 2.25),
            "[host]\ngb_per_s = 3 ; a\n[network]\ngb_per_s=2.25\ndevices = 8\n",
        )

    def test_text_behind_a_section_is_no_other_section(self):
        """As mtlm-dag reads such a file."""
        text = TEXT.replace("[network]", "[network] ; between hosts")
        self.assertEqual(cluster_fit.value_of(text, "host", "gb_per_s"), 3)
        self.assertEqual(cluster_fit.value_of(text, "network", "gb_per_s"), 1.5)

    def test_a_bad_cluster_file_is_a_sentence(self):
        rows = self.path("rows.csv", f"1,{JOB}\n")
        bad = self.path("bad.ini", "[device]\nefficiency = 0,8\n")
        self.refuses([bad, rows],
                     "efficiency = 0,8 of section [device] is no number")
        with open(bad, "wb") as file:
            file.write(b"[device]\nefficiency = 0.8 ; \xff\n")
        self.refuses([bad, rows], f"{bad}: is no text in UTF-8")

    def test_the_least_mean_error_is_found(self):
        """Times 1 / x of an x of 0.5, measured 2 % apart."""
        rows = [(2 * 0.99, "a"), (2 * 1.01, "b"), (2, "c")]
        value = cluster_fit.fit(rows, lambda x, _: 1 / x, 0.8, 1)
        self.assertAlmostEqual(value, 0.5, places=4)

    def test_the_number_behind_the_times_is_found(self):
        with open(CLUSTER, encoding="utf-8") as file:
            text = file.read()
        half = self.path(
            "half.ini",
            cluster_fit.with_value(text, "device", "efficiency", 0.5),
        )
        seconds = iterations.predict(
            Ours(build), ["--simulate", half, *JOB.split()]
        )
        rows = self.path("rows.csv", f"# mine\n{seconds},{JOB}\n")
        done = self.run_fit(CLUSTER, rows)
        self.assertEqual(done.returncode, 0, done.stderr)
        first, second = done.stdout.splitlines()
        self.assertEqual(first, "efficiency = 0.5   ; fitted: rows.csv")
        self.assertRegex(
            second,
            r"^mean error of 1 iteration: [1-9][0-9.]* % with 0\.8, "
            r"0\.0 % fitted$",
        )

    def test_a_bound_is_no_fit(self):
        rows = self.path("rows.csv", f"1000,{JOB}\n")
        done = self.run_fit(CLUSTER, rows)
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertRegex(
            done.stderr,
            r"^fit: efficiency = 0\.2 is a bound of the search, 0\.2 to 1, "
            r"and no fit: mean error [0-9.]* %, [0-9.]* % with 0\.8\n$",
        )

    def test_a_key_without_effect_is_no_fit(self):
        """The job's four ranks share a host."""
        rows = self.path("rows.csv", f"1,{JOB}\n")
        self.refuses(
            [CLUSTER, rows, "--section", "network", "--key", "gb_per_s"],
            f"gb_per_s of section [network] changes no iteration of {rows}",
        )

    def test_bad_rows_are_refused(self):
        bad = self.path("bad.csv", "1.5,--model gpt2-345m\n-2,--model x\n")
        self.refuses(
            [CLUSTER, bad], f"{bad}:2: not of the form SECONDS,OPTIONS"
        )
        none = self.path("none.csv", "# nothing\n")
        self.refuses([CLUSTER, none], f"{none}: has no rows")
        noise = self.path("noise.csv", "")
        with open(noise, "wb") as file:
            file.write(bytes(range(128, 256)))
        done = self.run_fit(CLUSTER, noise)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(
            done.stderr, f"^fit: {noise}: is no CSV file of text: .*\n$"
        )
        good = self.path("good.csv", f"1,{JOB}\n")
        self.refuses(
            ["nowhere.ini", good], "nowhere.ini: No such file or directory"
        )
        self.refuses(
            [CLUSTER, "nowhere.csv"], "nowhere.csv: No such file or directory"
        )
        self.refuses(
            [CLUSTER, good, "--key", "speed"],
            "the cluster file has no speed in section [device]",
        )


if __name__ == "__main__":
    unittest.main()
