"""perf/policies/campaign: campaigns that are interrupted go on, and grids that are
refused."""

import os
import signal
import subprocess
import sys
import time
import unittest
from unittest import mock

sys.dont_write_bytecode = True

from campaign_folder import (  # noqa: E402
    GRID,
    SCRIPT,
    Folder,
    build,
    campaign,
    source,
)

sys.path.insert(0, os.path.join(source, "perf"))

from bench import campaign_grid, campaign_store  # noqa: E402

# Popen of a busy machine: it returns long after the program has begun.
LATE = """\
import subprocess, time
class Late(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        time.sleep(2)
subprocess.Popen = Late
"""
SCALE = float(os.environ.get("TIME_SCALE", "3"))
# A program that passes its calls on, and hangs from call $HANG_AT on.  The same
# bytes each time: cells of another program are refused.
HANGS = """\
#!/bin/sh
case $* in *"${HANG_OPTION-no option}"*)
    echo $$ >>"$0.calls"
    [ $(wc -l <"$0.calls") -lt "$HANG_AT" ] || exec sleep 1000 ;;
esac
exec %s/mtlm-dag "$@"
"""


class Interrupted(Folder):
    def whole(self):
        """The lines of a campaign that nothing interrupts."""
        out, self.out = self.out, os.path.join(self.work, "whole")
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)
        lines, self.out = self.lines(), out
        return lines

    def calls(self):
        """Process numbers of the program's calls."""
        try:
            with open(os.path.join(self.work, "build", "mtlm-dag.calls")) as file:
                return [int(line) for line in file if line.endswith("\n")]
        except FileNotFoundError:
            return []

    def fake(self, text):
        """A build whose program is that script."""
        build_dir = os.path.join(self.work, "build")
        os.makedirs(build_dir, exist_ok=True)
        program = os.path.join(build_dir, "mtlm-dag")
        with open(program, "w") as file:
            file.write(text)
        os.chmod(program, 0o755)
        return build_dir

    def start(self, calls, option="--modes-out", path=""):
        """A campaign whose program hangs from a call with the option on, once
        it hangs."""
        run = subprocess.Popen(
            [sys.executable, "-B", SCRIPT, self.grid(), "--out", self.out,
             "--build", self.fake(HANGS % build)],
            stderr=subprocess.PIPE, text=True, start_new_session=True,
            env=dict(os.environ, PYTHONPATH=path, HANG_OPTION=option,
                     HANG_AT=str(calls)),
        )
        end = time.monotonic() + 60 * SCALE
        while len(self.calls()) < calls:
            self.assertIsNone(run.poll())
            self.assertLess(time.monotonic(), end)
            time.sleep(0.02)
        return run

    def wait_for_end(self, process):
        """An orphan that has ended is there until init takes its status."""
        end = time.monotonic() + 10 * SCALE
        try:
            while time.monotonic() < end:
                os.kill(process, 0)
                time.sleep(0.02)
        except ProcessLookupError:
            return
        self.fail(f"process {process} goes on")

    def test_a_killed_campaign_goes_on(self):
        want = self.whole()
        run = self.start(4)
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
        there = self.lines()
        self.assertTrue(2 < len(there) < len(want))
        code, said = campaign(self.grid(), self.out, "--jobs", "2", "--build",
                              self.fake(HANGS % build))
        self.assertEqual(code, 0, said)
        self.assertEqual(self.lines()[:len(there)], there)
        self.assertEqual(sorted(self.lines()), sorted(want))

    def interrupt(self, run, number, code):
        """The program that hangs ends, too."""
        os.kill(run.pid, number)
        said = run.communicate()[1]
        self.assertEqual(run.returncode, code)
        self.assertTrue(said.endswith("interrupted; the same command goes "
                                      "on\n"), said)
        self.wait_for_end(self.calls()[-1])

    def test_a_signal_leaves_whole_lines(self):
        for number, code, calls, option in (
            (signal.SIGINT, 130, 3, "--modes-out"),
            (signal.SIGTERM, 143, 3, "--modes-out"),
            (signal.SIGTERM, 143, 1, "--jitter"),  # before the first cell
        ):
            run = self.start(calls, option)
            self.interrupt(run, number, code)
            with open(self.path("cells.csv")) as file:
                self.assertTrue(file.read().endswith("\n"))
            os.remove(os.path.join(self.work, "build", "mtlm-dag.calls"))

    def test_a_signal_while_a_program_starts(self):
        """The program runs already, and the campaign has yet to note it."""
        with open(os.path.join(self.work, "sitecustomize.py"), "w") as file:
            file.write(LATE)
        run = self.start(1, "--jitter", self.work)
        self.interrupt(run, signal.SIGTERM, 143)

    def test_a_line_cut_off_is_written_again(self):
        want = self.whole()
        data = "\n".join(want) + "\n"
        os.makedirs(self.out)
        os.link(os.path.join(self.work, "whole", "grid.json"),
                self.path("grid.json"))
        head = len(want[0])
        for cut in (0, 3, head, head + 1, head + 20, len(data) // 2,
                    len(data) - 1):
            with open(self.path("cells.csv"), "w") as file:
                file.write(data[:cut])
            code, said = campaign(self.grid(), self.out)
            self.assertEqual(code, 0, said)
            self.assertEqual(sorted(self.lines()), sorted(want))
        # All is there: nothing is evaluated.
        before = self.lines()
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)
        self.assertEqual(self.lines(), before)

    def test_a_full_disk(self):
        """Here a file of at most 4 KiB."""
        want = self.whole()
        done = subprocess.run(
            ["bash", "-c", 'ulimit -f 4; exec "$@"', "bash", sys.executable, "-B",
             SCRIPT, self.grid(), "--out", self.out, "--build", build],
            capture_output=True, text=True,
        )
        self.assertEqual(done.returncode, 4, done.stderr)
        self.assertEqual(done.stderr.splitlines()[-1],
                         "campaign: cells.csv: File too large")
        self.assertEqual(campaign(self.grid(), self.out)[0], 0)
        self.assertEqual(sorted(self.lines()), sorted(want))

    def test_a_failed_call_is_tried_again(self):
        """Also one that says nothing of its cell, in the manner of a refusal."""
        for status, why in (
            (2, "STARPU_SCHED_LIB=./mine.so was built for StarPU 1.3.10"),
            (2, "the scheduling policy mine has started linear_fwd twice"),
            (6, "not enough memory: 64 bytes more are needed"),
            (4, "no luck"),
        ):
            with self.subTest(why):
                self.out = os.path.join(self.work, f"out {why[:9]}")
                fake = self.fake(
                    f'#!/bin/sh\n[ "$1" != --version ] && ! [ -e "$0.luck" ] && '
                    f"{{ echo 'mtlm-dag: {why}' >&2; exit {status}; }}\n"
                    f'exec {build}/mtlm-dag "$@"\n')
                code, said = campaign(self.grid(), self.out, "--build", fake)
                self.assertEqual(code, 1)
                self.assertIn(why, said)
                self.assertIn("the same command tries them again", said)
                # Of a schedule, mode and policy: one cell, and 2 x 3 of noise.
                self.assertIn("campaign: 0 of 126 cells, 126 failed\n", said)
                self.assertEqual(len(self.lines()), 1)
        with open(os.path.join(fake, "mtlm-dag.luck"), "w"):
            pass
        self.assertEqual(campaign(self.grid(), self.out, "--build", fake)[0], 0)


class Refused(Folder):
    def refused(self, text, want):
        """In one sentence, the last line."""
        code, said = campaign(self.grid(text), self.out)
        lines = [x for x in said.splitlines() if not x.endswith(" cells")]
        self.assertEqual(len(lines), 1, said)
        self.assertIn(want, said)
        self.assertEqual(code, 2)

    def test_grids(self):
        for old, new, want in (
            ("mode =", "moods =", "unknown axis 'moods'"),
            ("title", "titel", "unknown key 'titel'"),
            ("[times]", "[time]", "unknown section [time]"),
            ("zb-v", "zb-w", "schedule is 'zb-w', it must be "),
            ("hint", "hunt", "mode is 'hunt', it must be strict, hint"),
            ("mtlm", "lws", "how = evaluate knows prio and mtlm"),
            ("p = 2", "p = two", "p is 'two', it must be ranks"),
            ("m = 2p", "m = 0p", "m is '0p', it must be microbatches"),
            ("m = 2p", "m =", "axis 'm' has no value"),
            ("m = 2p\n", "", "[axes] lacks m"),
            ("1..3", "3..1", "seed '3..1' is no number and no range"),
            ("1..3", "1..9999999", "5000000"),
            ("1f1b", "zb-v", "schedule has 'zb-v' twice"),
            ("plain\n", "fancy\n", "times 'fancy' have no line in [times]"),
            ("plain\n", "no/such.ini\n", "No such file"),
            ("1 1.2 0.9 0.05", "1 1.2 0.9", "seconds of F, B, W and a message"),
            ("1 1.2 0.9 0.05", "1 1.2 -0.9 0", "seconds of F, B, W and a message"),
            ("A test", "A test\nhow = guess", "how is 'guess'"),
            ("A test", "A test\nlayers = 0", "layers is '0'"),
            ("A test", "A test\noptions = --fp16 --schedule=gpipe",
             "options has '--schedule', which the axis schedule sets"),
            ("A test", "A test\noptions = --global-b 64",
             "options has '--global-b', which the axis m sets"),
            ("A test", "A test\noptions = --num-layers 6",
             "options has '--num-layers', which the key layers sets"),
            ("A test", "A test\noptions = --stretch 2",
             "options has '--stretch', which the key stretch sets"),
            ("title = A test", "title", "grid.ini"),
            ("0.3", "0.3x", "--jitter is '0.3x', it must be "),
            ("1f1b zb-v window", "window", "no cell of the grid is possible; "),
        ):
            with self.subTest(new):
                self.assertIn(old, GRID)
                text = GRID.replace(old, new, 1)
                if "possible" in want:
                    text = text.replace("hint emergent", "hint")
                    text = text.replace("prio mtlm", "prio")
                self.refused(text, want)

    def test_policies(self):
        self.refused(GRID.replace("A test", "A test\nhow = run")
                     .replace("mtlm", "foo"),
                     "STARPU_SCHED=foo is no scheduling policy")

    def test_virtual_time_that_is_not_there(self):
        """No cell is written: each of them is possible elsewhere."""
        why = "this mtlm-dag was built without StarPU in virtual time"
        text = GRID.replace("A test", "A test\nhow = simulate")
        program = os.path.join(self.work, "mtlm-dag")
        with open(program, "w") as file:
            file.write(f'#!/bin/sh\n[ "$1" = --version ] || '
                       f"{{ echo 'mtlm-dag: {why}' >&2; exit 2; }}\n")
        os.chmod(program, 0o755)
        code, said = campaign(self.grid(text.replace("mtlm", "eager")), self.out,
                              "--build", self.work)
        self.assertEqual(code, 2, said)
        self.assertIn(why, said)
        self.assertEqual(len(self.lines()), 1)

    def test_files_and_directories(self):
        code, said = campaign(os.path.join(self.work, "none.ini"), self.out)
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("none.ini: No such file or directory", said)
        code, said = campaign(self.grid(), "/proc/campaign")
        self.assertEqual((code, said.count("\n")), (2, 1))
        self.assertIn("/proc/campaign: No such file or directory", said)
        with open(self.out, "w") as file:
            file.write("no directory")
        self.refused(GRID, "File exists")

    def test_cells_of_another_grid(self):
        os.makedirs(self.out)
        with open(self.path("cells.csv"), "w") as file:
            file.write("schedule,seconds\n1f1b,3\n")
        self.refused(GRID, "has no grid.json beside it")
        os.remove(self.path("cells.csv"))
        small = GRID.replace("0 0.3 0,rank=1:2", "0")
        self.assertEqual(campaign(self.grid(small), self.out)[0], 0)
        self.refused(GRID, "has the cells of another campaign, with other axes")
        self.refused(small.replace("1.2", "1.3"), "with other times")
        with open(self.path("cells.csv"), "a") as file:
            file.write(self.lines()[1] + "\n")
        self.refused(small, "has a cell for the second time")

    def test_cells_of_another_program(self):
        """Also of the same version: somebody changes a policy and goes on."""
        def refuses(*words, **variables):
            done = subprocess.run(
                [sys.executable, "-B", SCRIPT, self.grid(small), "--out",
                 self.out, "--build", build, *words],
                capture_output=True, text=True, env={**os.environ, **variables})
            self.assertEqual(done.returncode, 2, done.stderr)
            return done.stderr

        small = GRID.replace("0 0.3 0,rank=1:2", "0")
        self.assertEqual(campaign(self.grid(small), self.out)[0], 0)
        other = os.path.join(self.work, "build")
        os.makedirs(other)
        with open(os.path.join(other, "mtlm-dag"), "w") as file:
            file.write(f'#!/bin/sh\nexec {build}/mtlm-dag "$@"\n')
        os.chmod(os.path.join(other, "mtlm-dag"), 0o755)
        self.assertIn("with other program", refuses("--build", other))
        self.assertIn("with other policies", refuses(MTLM_HOLD="0"))
        self.assertIn("with other policies", refuses(STARPU_SCHED_LIB=SCRIPT))
        self.assertIn("none.so: No such file or directory",
                      refuses(STARPU_SCHED_LIB="none.so"))

    def test_a_simulator_counts_where_a_policy_needs_it(self):
        found = {}
        for policies in "prio mtlm", "prio eager":
            text = GRID.replace("prio mtlm", policies).replace(
                "A test", "A test\nhow = simulate")
            program = mock.Mock()
            program.digest.side_effect = lambda name="mtlm-dag": name
            program.version.return_value = "1"
            store = campaign_store.Store(
                self.out, campaign_grid.read(self.grid(text)), program)
            found[policies] = store.identity["program"]
        self.assertEqual(found["prio mtlm"], ["1", "mtlm-dag"])
        self.assertEqual(found["prio eager"], ["1", "mtlm-dag", "mtlm-dag-sim"])


if __name__ == "__main__":
    unittest.main()
