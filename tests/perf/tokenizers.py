"""perf/tokenizers: vocabularies come whole or not at all, and --write."""

import hashlib
import io
import os
import subprocess
import sys
import tarfile
import tempfile
import unittest
from unittest import mock

source = os.path.abspath(os.environ.get("srcdir", "."))
sys.dont_write_bytecode = True  # of scripts without a suffix

from perf_script import load  # noqa: E402

SCRIPT = os.path.join(source, "perf", "tokenizers")
script = load(SCRIPT, "tokenizers_script")

TEXTS = {"a-1/package/x": b"one", "a-1/package/y": b"two"}
# "npm pack" of a file beside the program.
NPM = """#!/bin/sh
/bin/cp "${0%/*}/a-1.tgz" .
"""


class Fetch(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.cache = os.path.join(work.name, "cache")
        self.path = os.path.join(work.name, "bin")
        os.mkdir(self.path)
        sums = {n: hashlib.sha256(t).hexdigest() for n, t in TEXTS.items()}
        for patch in (
            mock.patch.object(script, "CACHE", self.cache),
            mock.patch.object(script, "FILES", sums),
            mock.patch.dict(os.environ, {"PATH": self.path}),
        ):
            self.addCleanup(patch.stop)
            patch.start()

    def add_npm(self, text=NPM):
        with tarfile.open(os.path.join(self.path, "a-1.tgz"), "w:gz") as tar:
            for name, data in TEXTS.items():
                member = tarfile.TarInfo(name.removeprefix("a-1/"))
                member.size = len(data)
                tar.addfile(member, io.BytesIO(data))
        with open(os.path.join(self.path, "npm"), "w", encoding="ascii") as file:
            file.write(text)
        os.chmod(file.name, 0o700)

    def check_fetched(self):
        for path, data in zip(script.fetch(), TEXTS.values()):
            with open(path, "rb") as file:
                self.assertEqual(file.read(), data)
        self.assertEqual(os.listdir(self.cache), ["a-1"])

    def test_a_failure_is_a_sentence(self):
        with self.assertRaisesRegex(
            script.Failure, "^npm: No such file or directory$"
        ):
            script.fetch()
        self.add_npm("#!/bin/sh\necho no network >&2\nexit 1\n")
        with self.assertRaisesRegex(
            script.Failure, "^npm ended with 1: no network$"
        ):
            script.fetch()
        self.add_npm("#!/bin/sh\n")
        with self.assertRaisesRegex(script.Failure, "^a-1: .*No such file"):
            script.fetch()

    def test_files_that_are_there_are_not_fetched_again(self):
        self.add_npm()
        self.check_fetched()
        os.remove(os.path.join(self.path, "npm"))
        self.check_fetched()

    def test_an_extraction_that_is_cut_off_leaves_nothing(self):
        self.add_npm()

        def cut(_, member, folder):
            os.makedirs(folder, exist_ok=True)
            with open(os.path.join(folder, "x"), "wb"):
                raise KeyboardInterrupt

        with mock.patch.object(script.tarfile.TarFile, "extract", cut):
            with self.assertRaises(KeyboardInterrupt):
                script.fetch()
        self.assertEqual(os.listdir(self.cache), [])
        self.check_fetched()


class Words(unittest.TestCase):
    def test_the_folder_of_write_is_the_caller_s(self):
        with tempfile.TemporaryDirectory() as work:
            words = ["tokenizers", "--write", os.path.relpath(work)]
            with mock.patch.object(sys, "argv", words):
                self.assertEqual(script.arguments().write, work)

    def test_the_folder_of_write_must_be_there(self):
        done = subprocess.run(
            [sys.executable, "-B", SCRIPT, "--write", "/nowhere"],
            capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertIn("no directory to write to: '/nowhere'", done.stderr)


if __name__ == "__main__":
    unittest.main()
