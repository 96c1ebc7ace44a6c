"""What make fuzz makes of its readers (run.py): a program that writes as
libFuzzer does stands for them."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

TESTS = os.path.abspath(os.path.join(os.environ.get("srcdir", "."), "tests"))
RUN = os.path.join(TESTS, "fuzz", "run.py")
# Whatever it is given; the reader llmc finds something.
PROGRAM = """#!/bin/sh
echo "$MTLM_FUZZ" >>started
echo "$*" >words
for last; do :; done
[ -d "$last" ] || echo "INFO: A corpus is not provided, starting from an empty one"
echo "#8 DONE cov: 115 ft: 200"
echo "stat::number_of_executed_units: 1000"
[ "$MTLM_FUZZ" != llmc ]
"""


class Run(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.work = work.name
        for name in "idx", "llmc":
            os.makedirs(os.path.join(self.work, "seeds", name))
        os.mkdir(os.path.join(self.work, "pages"))
        program = os.path.join(self.work, "fuzz")
        with open(program, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        os.chmod(program, 0o700)

    def run_readers(self, *words, script=RUN):
        return subprocess.run(
            [sys.executable, script, *words],
            cwd=self.work, capture_output=True, text=True, check=False,
            env=dict(os.environ, FUZZ_JOBS="1"))

    def started(self):
        path = os.path.join(self.work, "started")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return file.read().split()

    def page(self):
        with open(os.path.join(self.work, "pages", "fuzz.md"),
                  encoding="utf-8") as file:
            return {row[1]: row[3:] for row in
                    ([cell.strip() for cell in line.split("|")]
                     for line in file if line.startswith("| "))}

    def test_a_page_that_cannot_be_written_is_said_before_the_hours(self):
        done = self.run_readers("--write", "nowhere", "./fuzz", "seeds", "idx")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no directory to write to: 'nowhere'", done.stderr)
        self.assertEqual(self.started(), [])

    def test_so_do_the_other_campaigns(self):
        for name in "faults.py", "kills.py":
            done = self.run_readers(
                "--write", "nowhere", script=os.path.join(TESTS, "faults", name))
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn("no directory to write to: 'nowhere'", done.stderr)

    def test_page_has_every_reader_that_ran_this_time_or_before(self):
        for name, code in ("idx", 0), ("llmc", 1):
            done = self.run_readers("--write", "pages", "./fuzz", "seeds", name)
            self.assertEqual(done.returncode, code, done.stderr)
        page = self.page()
        self.assertEqual([page["idx"][i] for i in (1, 3, 4)],
                         ["1000", "115", "0"])
        self.assertEqual(page["llmc"][4], "**yes**")

    def test_page_keeps_the_rows_of_another_build(self):
        path = os.path.join(self.work, "pages", "fuzz.md")
        row = "| idx | 2020-01-02 | 512 | 77 | 151 | 115 | 0 |\n"
        with open(path, "w", encoding="utf-8") as file:
            file.write("| reader | date |\n|---|---|\n" + row)
        self.run_readers("--write", "pages", "./fuzz", "seeds", "llmc")
        with open(path, encoding="utf-8") as file:
            self.assertIn(row, file.readlines())
        self.assertIn("llmc", self.page())
        self.run_readers("--write", "pages", "./fuzz", "seeds", "idx")
        self.assertEqual(self.page()["idx"][1], "1000")

    def test_page_keeps_a_row_that_is_newer_than_the_build_knows(self):
        self.run_readers("./fuzz", "seeds", "idx")
        row = "| idx | 9999-01-02 | 512 | 77 | 151 | 115 | 0 |\n"
        path = os.path.join(self.work, "pages", "fuzz.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(row)
        self.run_readers("--write", "pages", "./fuzz", "seeds", "llmc")
        with open(path, encoding="utf-8") as file:
            self.assertIn(row, file.readlines())

    def write_row(self, name, findings):
        """A page with a row of the day on which the reader ran last."""
        with open(os.path.join(self.work, "seeds", name + ".json"),
                  encoding="utf-8") as file:
            date = json.load(file)["date"]
        path = os.path.join(self.work, "pages", "fuzz.md")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"| {name} | {date} | 512 | 77 | 151 | 115 | "
                       f"{findings} |\n")

    def test_page_has_a_finding_of_this_build_on_the_same_day(self):
        self.run_readers("./fuzz", "seeds", "llmc")
        self.write_row("llmc", "0")
        self.run_readers("--write", "pages", "./fuzz", "seeds", "idx")
        self.assertEqual(self.page()["llmc"][4], "**yes**")

    def test_page_keeps_a_finding_of_another_build_on_the_same_day(self):
        self.run_readers("./fuzz", "seeds", "idx")
        self.write_row("idx", "**yes**")
        self.run_readers("--write", "pages", "./fuzz", "seeds", "llmc")
        self.assertEqual(self.page()["idx"][4], "**yes**")
        self.run_readers("--write", "pages", "./fuzz", "seeds", "idx")
        self.assertEqual(self.page()["idx"][4], "0")

    def test_a_finding_is_said_and_the_rest_runs(self):
        done = self.run_readers("./fuzz", "seeds", "llmc", "idx")
        self.assertEqual(done.returncode, 1)
        self.assertIn("llmc: 1000 executions", done.stdout)
        self.assertIn("FOUND something: exit code 1", done.stdout)
        self.assertEqual(self.started(), ["llmc", "idx"])

    def test_time_for_which_a_reader_is_suspended_does_not_count(self):
        """fuzz.c limits the time of the processor instead."""
        self.run_readers("./fuzz", "seeds", "idx")
        with open(os.path.join(self.work, "words"), encoding="utf-8") as file:
            self.assertIn(" -timeout=0 ", file.read())

    def test_nothing_found_without_a_corpus_does_not_count(self):
        os.rmdir(os.path.join(self.work, "seeds", "idx"))
        done = self.run_readers("./fuzz", "seeds", "idx")
        self.assertEqual(done.returncode, 1)
        with open(os.path.join(self.work, "seeds", "idx.json"),
                  encoding="utf-8") as file:
            self.assertEqual(json.load(file)["code"], 1)


unittest.main()
