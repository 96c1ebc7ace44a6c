"""A copy of the source tree with a build of its own: tests run there through
its Makefile, one at a time."""
import filecmp
import os
import pathlib
import re
import resource
import shlex
import shutil
import signal
import subprocess
import time
from collections import namedtuple

from mutate import PRODUCT

MARK = "MTLM_TEST_MUTANT"  # in the environment of all processes of a test
GIB = 2**30
BYTES = 12 * GIB  # that one process may allocate
BUILD_SECONDS = 1200
SCRIPTS = ".sh", ".py"  # make knows no program that they run

# how: "" for a pass; else "build", "test" or "time".
Outcome = namedtuple("Outcome", "how skipped seconds cpu")


def limit():
    resource.setrlimit(resource.RLIMIT_DATA, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def leave(mark):
    """Ends processes that a test left behind."""
    wanted = f"{MARK}={mark}".encode()
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    os.kill(int(pid), signal.SIGKILL)
        except OSError:
            continue


def sync(fresh, tree):
    """Brings the tree to the state of fresh; equal files keep their times."""
    for place, folders, names in os.walk(fresh):
        to = os.path.join(tree, os.path.relpath(place, fresh))
        os.makedirs(to, exist_ok=True)
        for name in names:
            old, new = os.path.join(place, name), os.path.join(to, name)
            if not os.path.exists(new) or not filecmp.cmp(old, new, False):
                shutil.copy2(old, new)
                os.utime(new)
    for place, folders, names in os.walk(tree):
        if place == tree and "build" in folders:
            folders.remove("build")
        was = os.path.join(fresh, os.path.relpath(place, tree))
        for name in names:
            if not os.path.exists(os.path.join(was, name)):
                os.remove(os.path.join(place, name))


class Tree:
    def __init__(self, place, make=()):
        """make: words for every make, such as TIER=quick."""
        self.top, self.make_words = os.path.join(place, "tree"), list(make)
        self.build = os.path.join(self.top, "build")
        self.log = os.path.join(place, "log")
        self.mark = f"{os.getpid()}.{os.path.basename(place)}"
        temporary = os.path.join(place, "tmp")
        os.makedirs(temporary, exist_ok=True)
        self.environment = {
            name: value for name, value in os.environ.items()
            if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        self.environment.update({MARK: self.mark, "CCACHE_NOHASHDIR": "1",
                                 "CCACHE_BASEDIR": self.top})
        self.changed = None

    def command(self, words, seconds=BUILD_SECONDS, cwd=None, limited=True):
        """(exit status or None when it took too long, CPU seconds of it and
        its children)."""
        with open(self.log, "wb") as log:
            process = subprocess.Popen(
                words, cwd=cwd or self.build, env=self.environment,
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True, preexec_fn=limit if limited else None)
            until = time.monotonic() + seconds
            done, status, used = os.wait4(process.pid, os.WNOHANG)
            while not done and time.monotonic() < until:
                time.sleep(0.01)
                done, status, used = os.wait4(process.pid, os.WNOHANG)
            if not done:
                os.killpg(process.pid, signal.SIGKILL)
                leave(self.mark)
                _, status, used = os.wait4(process.pid, 0)
            process.returncode = status
        return (os.waitstatus_to_exitcode(status) if done else None,
                used.ru_utime + used.ru_stime)

    def make(self, *words, seconds=BUILD_SECONDS):
        return self.command(["make", "-s", *self.make_words, *words], seconds)

    def prepare(self, origin):
        """Copies what origin, a build directory, is built from; builds it and
        all tests, as origin was configured."""
        fresh = os.path.join(os.path.dirname(self.top), "fresh")
        code, _ = self.command(["make", "-s", "distdir", f"distdir={fresh}"],
                               cwd=origin, limited=False)
        if code == 0:
            os.makedirs(self.build, exist_ok=True)
            sync(fresh, self.top)
            shutil.rmtree(fresh)
            if not os.path.exists(os.path.join(self.build, "Makefile")):
                how = subprocess.run([os.path.join(origin, "config.status"),
                                      "--config"], check=True, text=True,
                                     stdout=subprocess.PIPE).stdout
                code, _ = self.command(["../configure", *shlex.split(how)],
                                       limited=False)
        if code == 0:
            code, _ = self.make("check", "TESTS=")
        if code != 0:
            raise RuntimeError("cannot make a copy of the tree: " + self.said())

    def said(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()[-2000:]

    def tests(self):
        code, _ = self.make("list-tests")
        if code != 0:
            raise RuntimeError("cannot list the tests: " + self.said())
        return self.said_all().split()

    def said_all(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read()

    def restore(self):
        if self.changed:
            self.write(*self.changed)
            self.changed = None

    def change(self, path, text):
        """Writes the mutant; restore() takes it back."""
        with open(os.path.join(self.top, path), encoding="utf-8") as file:
            self.changed = path, file.read()
        self.write(path, text)

    def write(self, path, text):
        """Not in the second of the objects: make compares times."""
        with open(os.path.join(self.top, path), "w", encoding="utf-8") as file:
            file.write(text)

    def compiled_from(self, path):
        """Objects of that source, as paths in the build."""
        folder, name = os.path.split(path)
        place = os.path.join(self.build, folder)
        wanted = re.compile(r"(.*-)?" + re.escape(name[:-2]) + r"\.o")
        return [os.path.join(folder, entry)
                for entry in (os.listdir(place) if os.path.isdir(place) else [])
                if wanted.fullmatch(entry)]

    def compiled_with(self, header):
        """Objects of the product that include the header, as the compiler wrote
        down for make."""
        build = pathlib.Path(self.build)
        return [str((notes.parent.parent / notes.stem).relative_to(build)) + ".o"
                for folder in PRODUCT
                for notes in (build / folder).glob("**/.deps/*.Po")
                if f"../{header}" in notes.read_text(encoding="utf-8").split()]

    def objects(self, path):
        """{object of that source or with that header: its code without lines of
        the source}."""
        of_header = path.endswith(".h")
        found, bare = {}, os.path.join(self.build, "bare.o")
        for name in (self.compiled_with if of_header else self.compiled_from)(path):
            done = subprocess.run(
                ["strip", "-g", "-o", bare, os.path.join(self.build, name)],
                check=False)
            if done.returncode == 0:
                with open(bare, "rb") as file:
                    found[name] = file.read()
        return found

    def compiles(self, path):
        """Builds the objects of that source or with that header only; whether
        that went well."""
        names = list(self.objects(path))
        return not names or self.make(*names)[0] == 0

    def holds(self, test):
        """Names of the sources that a program is linked with."""
        done = subprocess.run(
            ["readelf", "-sW", os.path.join(self.build, test)], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        return sorted(set(re.findall(r" FILE .* (\S+\.c)$", done.stdout, re.M)))

    def run(self, test, seconds):
        """Builds and runs a test of make check, under that time limit."""
        base = os.path.join(self.build, os.path.splitext(test)[0])
        for ending in ".log", ".trs":
            if os.path.exists(base + ending):
                os.remove(base + ending)
        if os.path.splitext(test)[1] in SCRIPTS and self.make("for-scripts")[0]:
            return Outcome("build", False, 0, 0)
        begin = time.monotonic()
        code, cpu = self.make(os.path.splitext(test)[0] + ".log",
                              f"TEST_SECONDS={seconds:.0f}",
                              seconds=seconds + 60 + BUILD_SECONDS)
        took = time.monotonic() - begin
        result = ""
        if os.path.exists(base + ".trs"):
            with open(base + ".trs", encoding="utf-8") as file:
                found = re.search(r":global-test-result: (\w+)", file.read())
                result = found[1] if found else ""
        if result not in ("PASS", "SKIP"):
            leave(self.mark)
        how = ("" if result in ("PASS", "SKIP")
               else "time" if code is None or took >= seconds
               else "test" if result else "build")
        return Outcome(how, result == "SKIP", took, cpu)
