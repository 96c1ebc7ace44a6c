"""Changes one operator of the product at a time and runs the tests of make
check until one fails.

A mutant that no test kills shows a hole in the tests, unless the mutant behaves
as the original does (list.json says so by "equivalent").  The mutants are those
of list.json; --seed or --count pick others.  Programs come first, those of the
mutant's folder before others; then scripts, the cheapest first.  Results go to
a file, one line each; a second call goes on where the first one ended.
make check-mutants MUTANTS='--write DIR' keeps a page of the results."""
import argparse
import collections
import json
import os
import queue
import re
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "perf"))

from bench.report import directory, table  # noqa: E402

import mutate  # noqa: E402
from tree import Tree  # noqa: E402

PROGRAMS = ".t", ".mpi2", ".mpi4"
MEASURED = 600  # seconds that a test may take before its time is known


def key(mutant):
    return " ".join(str(mutant[name]) for name in
                    ("file", "function", "text", "nth", "token", "to"))


def program(test):
    return test.endswith(PROGRAMS)


class Results:
    """Lines of JSON: what each test takes, what became of each mutant."""

    def __init__(self, path):
        self.path, self.tests, self.mutants = path, {}, {}
        self.lock = threading.Lock()
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                for line in file:
                    self.take(json.loads(line))

    def take(self, entry):
        if "mutant" in entry:
            self.mutants[entry["mutant"]] = entry
        else:
            self.tests[entry["test"]] = entry

    def add(self, entry):
        with self.lock:
            self.take(entry)
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(entry) + "\n")


class Campaign:
    def __init__(self, options, mutants, trees):
        self.options, self.mutants, self.trees = options, mutants, trees
        self.results = Results(options.results)
        self.renames = {}
        if options.renames:
            with open(options.renames, encoding="utf-8") as file:
                self.renames = dict(line.split()[:2] for line in file
                                    if line.strip())

    def of_all_trees(self, items, work):
        """Calls work(tree, item) for all items, as many at once as trees."""
        waiting, wrong = queue.Queue(), []
        for item in items:
            waiting.put(item)

        def loop(tree):
            try:
                while not wrong:
                    work(tree, waiting.get_nowait())
            except queue.Empty:
                pass
            except BaseException as error:  # pylint: disable=broad-except
                wrong.append(error)
        threads = [threading.Thread(target=loop, args=(tree,), daemon=True)
                   for tree in self.trees]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise wrong[0]

    def measure(self, tree, test):
        """What a test takes without a mutant."""
        found = tree.run(test, MEASURED)
        self.results.add({"test": test, "seconds": round(found.seconds, 2),
                          "cpu": round(found.cpu, 2), "failed": found.how,
                          "skipped": found.skipped, "holds": tree.holds(test)})
        if found.how:
            print(f"{test} fails without a mutant ({found.how}): left out",
                  flush=True)

    def measure_all(self, tests):
        self.of_all_trees([test for test in tests
                           if test not in self.results.tests], self.measure)

    def tells(self, test, name):
        """Whether a mutant of the source of that name can make the test fail.
        A script may start any program, any program may have a header."""
        found = self.results.tests[test]
        return not (found["failed"] or found["skipped"]) and (
            not found["holds"] or name.endswith(".h")
            or name in found["holds"])

    def order(self, path, tests):
        """The tests that tell something, the likeliest to kill first."""
        name = os.path.basename(path)
        stem, folder = name[:-2], "tests/" + path.split("/", 1)[0] + "/"
        words = {word for word in re.split("[/_]", stem) if len(word) > 2}

        def first(test):
            near = words & set(re.split("[/_.]", test))
            return (not test.startswith(folder), not near,
                    self.results.tests[test]["cpu"])
        return sorted((test for test in tests if self.tells(test, name)),
                      key=first)

    def kills(self, tree, test):
        """The outcome of a test that fails, None when it passes.  A script may
        fail because the machine is busy: it fails twice."""
        takes = self.results.tests[test]["seconds"]
        seconds = 20 + 8 * takes if program(test) else 60 + 5 * takes
        found = tree.run(test, seconds)
        again = not test.endswith(".t") and found.how == "test"
        spent = found.cpu
        if again:
            found = tree.run(test, seconds)
            spent += found.cpu
        return found if found.how else None, spent

    def attack(self, tree, mutant, tests, budget, last):
        """Runs tests until one fails or budget seconds of CPU are spent."""
        entry = {"mutant": key(mutant), "number": mutant["number"]}
        found = mutate.locate(tree.top, mutant, self.renames)
        if not found:
            return dict(entry, verdict="not found")
        path, text = found
        before = tree.objects(path)
        tree.change(path, text)
        try:
            if not tree.compiles(path):
                return dict(entry, verdict="killed", how="build", test="", cpu=0)
            if before and tree.objects(path) == before:
                return dict(entry, verdict="same code")
            spent, left_out = 0.0, 0
            for test in self.order(path, tests):
                cost = self.results.tests[test]["cpu"]
                if budget and spent + cost > budget:
                    left_out += 1
                    continue
                failed, cpu = self.kills(tree, test)
                spent += cpu
                if failed:
                    return dict(entry, verdict="killed", how=failed.how,
                                test=test, cpu=round(spent, 1))
            return dict(entry, verdict=last, cpu=round(spent, 1),
                        left_out=left_out)
        finally:
            tree.restore()
            if not tree.compiles(path):
                raise RuntimeError("the tree does not build any more: "
                                   + tree.said())

    def verdict(self, mutant):
        return self.results.mutants.get(key(mutant), {}).get("verdict")

    def stage(self, tests, budget, last, states):
        self.measure_all(tests)

        def work(tree, mutant):
            entry = self.attack(tree, mutant, tests, budget, last)
            self.results.add(entry)
            print(self.line(mutant, entry), flush=True)
        self.of_all_trees([mutant for mutant in self.mutants
                           if self.verdict(mutant) in states], work)

    def line(self, mutant, entry):
        by = " ".join(filter(None, (entry.get("test"), entry.get("how"))))
        return (f"{mutant['number']:3} {mutant['file']}:{mutant['line']} "
                f"{mutant['from']} -> {mutant['to'] or 'nothing'}: "
                f"{entry['verdict']}" + (f", {by}" if by else "")
                + (f", {entry['cpu']:.0f} CPU s" if "cpu" in entry else ""))

    def run(self):
        wanted = self.options.tests
        tests = [test for test in self.trees[0].tests()
                 if not wanted or test in wanted]
        self.stage([test for test in tests if program(test)], 0, "passed",
                   (None,))
        if not self.options.programs:
            self.stage([test for test in tests if not program(test)],
                       60 * self.options.cpu_minutes,
                       "passed" if wanted else "survived", ("passed",))


def counts(campaign, mutants):
    """{what: how many}; lives: survivors that change behaviour."""
    found = collections.Counter()
    for mutant in mutants:
        entry = campaign.results.mutants.get(key(mutant), {})
        verdict = entry.get("verdict", "waiting")
        equivalent = mutant.get("equivalent") or verdict == "same code"
        found["equivalent"] += bool(equivalent)
        if not equivalent:
            found["lives" if verdict in ("survived", "passed") else verdict] += 1
            found["program"] += (verdict == "killed"
                                 and program(entry["test"] or ".t"))
    return found


def rate(found):
    all_of_them = found["killed"] + found["lives"]
    return f"{100 * found['killed'] / all_of_them:.0f} %" if all_of_them else "-"


def page(campaign):
    mutants = campaign.mutants
    total = counts(campaign, mutants)
    rows = [("folder", "mutants", "equivalent", "killed", "by programs",
             "survived", "not found", "rate")]
    for folder in mutate.FOLDERS + ("",):
        mine = [mutant for mutant in mutants
                if mutant["file"].startswith(folder)]
        found = counts(campaign, mine)
        rows.append((folder or "all", *map(str, (
            len(mine), found["equivalent"], found["killed"], found["program"],
            found["lives"], found["not found"])), rate(found)))
    lines = ["# One operator changed", "",
             "`make check-mutants MUTANTS='--write DIR'`: each mutant is the "
             "product with one operator or one bound of a loop changed, in a "
             "random line of graph, codelets, models or runtime. The tests of "
             "`make check` run until one fails and so kills the mutant. "
             f"{total['killed']} of the {total['killed'] + total['lives']} "
             "mutants that change behaviour are killed. Equivalent: the "
             "compiler makes the same code, or the reason is below.", "",
             table(rows), "",
             "| mutant | change | result |", "|---|---|---|"]
    for mutant in mutants:
        entry = campaign.results.mutants.get(key(mutant), {})
        result = entry.get("verdict", "waiting")
        if entry.get("test"):
            result = f"killed by {entry['test']}"
        elif entry.get("how") == "build":
            result = "killed by the compiler"
        if mutant.get("equivalent"):
            result = "equivalent: " + mutant["equivalent"]
        text = mutant["text"].replace("|", "\\|")
        was, new = (mutant[name].replace("|", "\\|") for name in ("from", "to"))
        lines.append(f"| {os.path.basename(mutant['file'])}, "
                     f"{mutant['function']}: `{text}` | `{was}` becomes "
                     + (f"`{new}`" if new else "nothing") + f" | {result} |")
    return "\n".join(lines) + "\n"


def listed(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def keep(path, mutants):
    """One mutant a line."""
    with open(path, "w", encoding="utf-8") as file:
        file.write("[\n" + ",\n".join(json.dumps(mutant) for mutant in mutants)
                   + "\n]\n")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--build", default=".", help="build directory of the original")
    add("--list", default=os.path.join(HERE, "list.json"), metavar="FILE")
    add("--seed", type=int, help="pick other mutants than those of the list")
    add("--count", type=int, help="so many (default: 60)")
    add("--keep", metavar="FILE", help="write the picked list and end")
    add("--only", type=int, nargs="+", metavar="N", help="these of the list")
    add("--again", action="store_true", help="forget what those came to")
    add("--jobs", type=int, default=1, help="copies of the tree")
    add("--tests", nargs="+", metavar="TEST", help="run no others")
    add("--programs", action="store_true", help="run no scripts")
    add("--cpu-minutes", type=float, default=0,
        help="of the scripts of one mutant (default: no limit)")
    add("--make", action="append", default=[], metavar="NAME=VALUE",
        help="for every make, such as TIER=quick")
    add("--renames", metavar="FILE", help="lines: old name, new name")
    add("--work", metavar="DIR", help="where the copies of the tree are")
    add("--results", metavar="FILE")
    add("--write", metavar="DIR", type=directory)
    return parser.parse_args()


def chosen(options, tree):
    if options.seed is None and options.count is None:
        mutants = listed(options.list)
    else:
        mutants = mutate.pick(tree, options.seed or 1, options.count or 60)
    return [mutant for mutant in mutants
            if not options.only or mutant["number"] in options.only]


def main():
    options = arguments()
    options.build = os.path.abspath(options.build)
    source = os.path.join(HERE, "..", "..")
    mutants = chosen(options, source)
    if options.keep:
        return keep(options.keep, mutants)
    work = os.path.abspath(options.work or os.path.join(
        options.build, "tests", "mutants", "work"))
    options.results = options.results or os.path.join(work, "results.jsonl")
    trees = [Tree(os.path.join(work, str(i)), options.make)
             for i in range(options.jobs)]
    campaign = Campaign(options, mutants, trees)
    for tree in trees:
        tree.prepare(options.build)
    if options.again:
        for mutant in mutants:
            campaign.results.mutants.pop(key(mutant), None)
    campaign.run()
    found = counts(campaign, mutants)
    print(f"{found['killed']} killed, {found['lives']} survived, "
          f"{found['equivalent']} equivalent, {found['not found']} not found: "
          + rate(found))
    if options.write:
        with open(os.path.join(options.write, "mutants.md"), "w",
                  encoding="utf-8") as file:
            file.write(page(campaign))
    return 0


if __name__ == "__main__":
    sys.exit(main())
