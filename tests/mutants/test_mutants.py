"""make check-mutants (mutants.py) on a product of one function: the Makefile of
the test builds, lists and runs tests as automake's does."""

import json
import os
import subprocess
import sys
import tempfile
import types
import unittest

HERE = os.path.join(os.path.abspath(os.environ.get("srcdir", ".")), "tests",
                    "mutants")
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True

import mutants  # noqa: E402
import mutate  # noqa: E402
import tree  # noqa: E402

SOURCE = """#include "sum.h"
#define MORE(n) ((n) + 1)

/* A comment: 1 < 2. */
static int *place(const char *text)
{
    return error_set("a < b", text + 1);
}

int sum_below(const int *x, int n)
{
    int sum = 0;  // sum + 0
    for (int i = 0; i < n; i++)
        sum += x[i] * -1;
    if (!x || n == 4)
        sum++;
    return sum;
}
"""
# Its only test compares the loop's lines with what they were; the script
# kills nothing, but wants what it runs to be built.
MAKEFILE = """TEST_SECONDS = 9
list-tests:
\t@printf '%s\\n' tests/graph/test_sum.t tests/slow.sh
check for-scripts:
\t@mkdir -p graph tests/graph && cp ../graph/sum.c built
distdir:
\t@mkdir -p $(distdir)/graph && cp ../graph/sum.c $(distdir)/graph
\t@cp ../configure $(distdir)
tests/graph/test_sum.log:
\t@! grep -q broken ../graph/sum.c
\t@if grep -q 'i = 0; i < n; i++' ../graph/sum.c && grep -q '+=' ../graph/sum.c; \\
\tthen r=PASS; else r=FAIL; fi; echo ":global-test-result: $$r" >tests/graph/test_sum.trs
tests/slow.log:
\t@cmp -s ../graph/sum.c built && echo ":global-test-result: PASS" \
\t    >tests/slow.trs; echo >>ran
"""
# A header: another folder's object has the code of the first function, and no
# object that of the second.
HEADER = """static inline int sum_is_less(int a, int b)
{
    return a < b;
}

static inline int sum_unused(int n)
{
    return n + 1;
}
"""
OBJECTS = """graph/sum.o models/user.o:
\t@mkdir -p $(@D)/.deps
\t@$(CC) -O2 -I.. -MMD -MT $@ -MF $(@:%.o=%.Po) -c -o $@ ../$(@:.o=.c)
\t@mv $(@:%.o=%.Po) $(@D)/.deps
-include graph/.deps/sum.Po models/.deps/user.Po
"""
CONFIGURE = "#!/bin/sh\ncp '%s' Makefile\n"
STATUS = "#!/bin/sh\necho\n"


class Picks(unittest.TestCase):
    def setUp(self):
        self.found = {(token.line, token.text, to)
                      for line in mutate.candidates(SOURCE)
                      for _, _, _, token, to in line}

    def test_operators_of_statements_and_bounds_of_loops_change(self):
        self.assertEqual(self.found, {
            (13, "0", "1"), (13, "<", "<="), (13, "<", ">="), (13, "++", "--"),
            (14, "+=", "-="), (14, "*", "/"),
            (15, "!", ""), (15, "||", "&&"), (15, "==", "!="),
            (16, "++", "--")})

    def test_code_for_devices_does_not_change(self):
        text = ("int f(int n)\n{\n#if MTLM_CUDA\n    n--;\n#else\n    n++;\n"
                "#endif\n    return n;\n}\n")
        self.assertEqual([[token.line for _, _, _, token, _ in line]
                          for line in mutate.candidates(text)], [[6]])


class Tree(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory()
        self.addCleanup(work.cleanup)
        self.top = work.name
        self.write("graph/sum.c", SOURCE)

    def write(self, path, text, mode=0o600):
        path = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def mutants(self):
        return mutate.pick(self.top, 1, 9)


class Later(Tree):
    def located(self, mutant, renames=None):
        return mutate.locate(self.top, mutant, renames)

    def test_the_same_seed_picks_the_same_mutants(self):
        self.assertEqual(self.mutants(), self.mutants())
        self.assertEqual(len(self.mutants()), 4)

    def test_a_mutant_changes_its_line_and_no_other(self):
        for mutant in self.mutants():
            path, text = self.located(mutant)
            self.assertEqual(path, "graph/sum.c")
            changed = [number + 1 for number, (was, now) in enumerate(
                zip(SOURCE.splitlines(), text.splitlines())) if was != now]
            self.assertEqual(changed, [mutant["line"]])

    def test_a_mutant_is_found_after_a_move_new_names_and_new_lines(self):
        os.remove(os.path.join(self.top, "graph/sum.c"))
        text = SOURCE.replace("sum", "total").replace("; i", ";\n  /* , */ i")
        before = self.mutants_of(SOURCE)
        self.write("models/room/total.c", "int before;\n" + text)
        for mutant in before:
            path, _ = self.located(mutant, {"sum": "total",
                                            "sum_below": "total_below"})
            self.assertEqual(path, "models/room/total.c")

    def test_a_mutant_is_found_in_a_header(self):
        mutants = self.mutants_of(SOURCE)
        self.write("models/sum.h", SOURCE)
        for mutant in mutants:
            path, _ = self.located(dict(mutant, file="graph/sum.h"))
            self.assertEqual(path, "models/sum.h")

    def mutants_of(self, text):
        self.write("graph/sum.c", text)
        found = self.mutants()
        os.remove(os.path.join(self.top, "graph/sum.c"))
        return found

    def test_a_mutant_of_code_that_is_gone_is_not_found(self):
        mutants = self.mutants()
        self.write("graph/sum.c", "int sum_below(void)\n{\n    return 0;\n}\n")
        self.assertEqual([self.located(mutant) for mutant in mutants], [None] * 4)


class Headers(Tree):
    def setUp(self):
        super().setUp()
        self.write("tree/graph/sum.h", HEADER)
        self.write("tree/graph/sum.c", '#include "graph/sum.h"\nint sum;\n')
        self.write("tree/models/user.c", '#include "graph/sum.h"\n'
                   "int use(int a) { return sum_is_less(a, 3); }\n")
        self.write("tree/build/Makefile", OBJECTS)
        self.tree = tree.Tree(self.top)
        done = self.tree.make("graph/sum.o", "models/user.o")
        self.assertEqual(done[0], 0, self.tree.said())

    def verdict(self, function, text, was, to):
        """Of a mutant that no test attacks."""
        mutant = {"number": 1, "file": "graph/sum.h", "function": function,
                  "text": text, "token": 2, "nth": 0, "from": was, "to": to}
        options = types.SimpleNamespace(
            results=os.path.join(self.top, "results"), renames=None)
        campaign = mutants.Campaign(options, [mutant], [self.tree])
        return campaign.attack(self.tree, mutant, [], 0, "survived")["verdict"]

    def test_a_header_of_the_same_code_is_told_from_one_of_other_code(self):
        self.assertEqual(
            self.verdict("sum_unused", "return n + 1 ;", "+", "-"), "same code")
        self.assertEqual(
            self.verdict("sum_is_less", "return a < b ;", "<", ">="), "survived")
        objects = self.tree.objects("graph/sum.h")
        self.assertEqual(set(objects), {"graph/sum.o", "models/user.o"})


class Campaign(Tree):
    def setUp(self):
        super().setUp()
        self.write("build/Makefile", MAKEFILE)
        self.write("configure",
                   CONFIGURE % os.path.join(self.top, "build/Makefile"), 0o700)
        self.write("build/config.status", STATUS, 0o700)
        self.write("list.json", json.dumps(self.mutants()))
        os.mkdir(os.path.join(self.top, "pages"))

    def campaign(self, *words):
        return subprocess.run(
            [sys.executable, "-B", os.path.join(HERE, "mutants.py"), "--build",
             "build", "--list", "list.json", *words], cwd=self.top,
            capture_output=True, text=True, check=False)

    def ran(self):
        """How often the script was run."""
        path = os.path.join(self.top, "build/tests/mutants/work/0/tree/build/ran")
        with open(path, encoding="utf-8") as file:
            return len(file.readlines())

    def test_mutants_are_killed_or_survive_and_a_second_call_goes_on(self):
        by_line = {mutant["line"]: mutant for mutant in self.mutants()}
        killed = [n for n in by_line if n == 13
                  or (n == 14 and by_line[n]["from"] == "+=")]
        done = self.campaign("--only", str(by_line[13]["number"]))
        self.assertIn("1 killed, 0 survived", done.stdout, done.stderr)
        done = self.campaign("--write", "pages")
        self.assertIn(f"{len(killed)} killed, {4 - len(killed)} survived",
                      done.stdout, done.stderr)
        self.assertNotIn("sum.c:13", done.stdout)
        # Once without a mutant, once for each that the program let through.
        self.assertEqual(self.ran(), 1 + 4 - len(killed))
        with open(os.path.join(self.top, "pages/mutants.md"),
                  encoding="utf-8") as file:
            page = file.read()
        self.assertIn("killed by tests/graph/test_sum.t", page)
        self.assertEqual(page.count("| survived |"), 4 - len(killed) + 1)

    def test_a_page_that_cannot_be_written_is_said_before_the_hours(self):
        done = self.campaign("--write", "nowhere")
        self.assertEqual(done.returncode, 2)
        self.assertIn("no directory to write to: 'nowhere'", done.stderr)


unittest.main()
