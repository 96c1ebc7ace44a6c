"""models/task against task_oracle.py, by task_tool: samples of MNLI, QQP, RACE
and SQuAD from generated files, answers from logits, scores, and files that are
damaged."""
import array
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/models"))
import task_oracle as oracle
from test_tokenizers import SCRIPTS
from tokenizer_oracle import Bert, assigned

TIME_SCALE = int(os.environ.get("TIME_SCALE", 3))
TOOL = os.path.join(os.path.abspath(os.environ.get("builddir", ".")),
                    "tests/models/task_tool")
SPACES = [" "] * 12 + ["  ", "\u00a0", "\u2028", "\u3000", "\x1c", "\x85",
                       " . ", "\u202f", "\u200b"]
failures = 0


def fail(*what):
    global failures
    failures += 1
    if failures < 30:
        print("FAILED:", *what)


def tool(*words, text=None):
    return subprocess.run([TOOL, *map(str, words)], input=text,
                          capture_output=True, text=True, encoding="utf-8",
                          timeout=300 * TIME_SCALE)


def phrase(rng, n, spaces=SPACES):
    """n words of many scripts."""
    words = SCRIPTS.split() + ["the", "a", "an", "An", "The", "U.S.", "1895-1943",
                               "(Paris)", "co_op", "\u0130stanbul", "Smith's"] * 9
    return "".join(rng.choice(words) + rng.choice(spaces)
                   for _ in range(n)).strip() or "the"


def check_lines(what, done, want):
    """The samples, and the line about the data."""
    if done.returncode:
        fail(what, done.returncode, done.stderr)
        return None
    *lines, about = map(json.loads, done.stdout.splitlines())
    if len(lines) != len(want):
        fail(what, len(lines), "samples, not", len(want))
    for i, (got, sample) in enumerate(zip(lines, want)):
        for name, values in sample.items():
            if got[name] != values:
                fail(what, "sample", i, name, got[name], "not", values)
    print(f"{what}: {len(lines)} samples")
    return about


class Case:
    """A task's files and their samples, in order."""

    def __init__(self, name, task, paths, samples, group=1):
        self.name, self.task, self.paths = name, task, paths
        self.samples, self.group = samples, group

    def run(self, vocabulary, length, kind, count, piece=1000, seed=1):
        return tool("samples", self.task, vocabulary, "lower", length, kind,
                    seed, count, piece, *self.paths)

    def check(self, vocabulary, length, kind):
        """In order, twice around and in pieces; then, to learn from."""
        n = len(self.samples)
        if kind == "valid":
            about = check_lines(self.name, self.run(vocabulary, length, kind,
                                                    n + 2, 7),
                                self.samples + self.samples[:2])
            if about and about["epoch"] != n:
                fail(self.name, about)
            return about
        done = self.run(vocabulary, length, kind, 3 * n)
        if done.returncode:
            fail(self.name, done.stderr)
            return None
        *lines, about = done.stdout.splitlines()
        self.check_epochs([json.loads(line) for line in lines], n)
        if self.run(vocabulary, length, kind, 3 * n, 7).stdout != done.stdout:
            fail(self.name, "pieces of fields differ")
        if self.run(vocabulary, length, kind, 3 * n,
                    seed=2).stdout == done.stdout:
            fail(self.name, "the seed does not matter")
        return json.loads(about)

    def check_epochs(self, lines, n):
        """Each has all questions, in another order."""
        def groups(samples):
            return [json.dumps([{k: v for k, v in s.items() if k in
                                 self.samples[0]} for s in
                                samples[i:i + self.group]], sort_keys=True)
                    for i in range(0, len(samples), self.group)]
        want = groups(self.samples)
        epochs = [groups(lines[e * n:(e + 1) * n]) for e in range(3)]
        for epoch in epochs:
            if sorted(epoch) != sorted(want):
                fail(self.name, "an epoch has other samples")
        if want in epochs or epochs[0] == epochs[1] or epochs[1] == epochs[2]:
            fail(self.name, "epochs are not shuffled")


def check_hash(task, text):
    """Another answer is other data; text(0) and text(1) differ in that."""
    hashes = []
    for i in 0, 0, 1:
        case = Case("hash", task, [write("one", text(i))], [])
        done = case.run("vocab.txt", 128, "valid", 1)
        hashes.append(json.loads(done.stdout.splitlines()[-1])["hash"])
    if hashes[0] != hashes[1] or hashes[1] == hashes[2]:
        fail("hash", task, hashes)


def check_hashes():
    check_hash("qqp", lambda i: row(*QQP) + row(1, 1, 2, "a?", "b?", i))
    check_hash("race", lambda i: json.dumps({
        "article": "a", "questions": ["b"], "options": [["a", "b", "c", "d"]],
        "answers": ["AB"[i]]}))
    check_hash("squad", lambda i: json.dumps({"data": [{"paragraphs": [{
        "context": "the the", "qas": [{"id": "1", "question": "a?", "answers": [
            {"text": "the", "answer_start": 4 * i}]}]}]}]}))


# The files.

def row(*columns):
    return "\t".join(map(str, columns)) + "\n"


def write(path, text):
    with open(path, "w", encoding="utf-8", newline="") as file:
        file.write(text)
    return path


MNLI = "index promptID pairID genre p1 p2 s1 s2 sentence1 sentence2".split()
QQP = "id qid1 qid2 question1 question2 is_duplicate".split()


def write_mnli(rng, kind, n):
    extra = {"train": ["label1"], "test": [],
             "dev": [f"label{i}" for i in range(1, 6)]}[kind]
    head = MNLI + extra + ([] if kind == "test" else ["gold_label"])
    text = row(*head)
    for i in range(n):
        label = rng.choice(oracle.CLASSES["mnli"])
        pair = [phrase(rng, rng.randrange(1, 30)) for _ in range(2)]
        text += row(i, i, f"{i}c", "fiction", "( a )", "( b )", "(R)", "(R)",
                    *pair, *[label] * (len(head) - 10))
    return write(f"mnli-{kind}.tsv", text)


def write_qqp(rng, kind, n):
    text = row(*(QQP if kind == "train" else ["id", "question1", "question2"]))
    for i in range(n):
        pair = [phrase(rng, rng.randrange(1, 30)) + "?" for _ in range(2)]
        text += (row(i, 2 * i, 2 * i + 1, *pair, rng.randrange(2))
                 if kind == "train" else row(i, *pair))
        if kind == "train" and i == 60:  # published files have such rows
            text += row("half a question") + "\n"
        if kind == "train" and i == 90:
            text += row(i, 1, 2, "What is this?", "", 0)
    return write(f"qqp-{kind}.tsv", text)


def write_race(rng, name, files, answer=None):
    """answer(n): the answers to n questions, None: there is no such list."""
    answer = answer or (lambda n: rng.choices("ABCD", k=n))
    os.mkdir(name)
    for i in range(files):
        lines = []
        for _ in range(rng.choice((1, 1, 2))):
            n = rng.randrange(1, 5)
            data = {
                "article": phrase(rng, rng.randrange(5, 200)),
                "questions": [phrase(rng, rng.choice((3, 9, 99)))
                              + rng.choice(("?", " _ .", " _ and _ of"))
                              for _ in range(n)],
                "options": [[phrase(rng, rng.randrange(1, 9))
                             for _ in range(4)] for _ in range(n)],
                "answers": answer(n), "id": f"{name}{i}"}
            if data["answers"] is None:
                del data["answers"]
            lines.append(json.dumps(data, ensure_ascii=rng.random() < 0.5)
                         + rng.choice(("\n", "")))
        mark = "\ufeff" if i == 1 else ""
        write(f"{name}/{i}.txt", mark + "\n".join(lines))
    write(f"{name}/README", "not a file of questions")
    return name


def answer_in(rng, context):
    """A span of the context, mostly of whole words."""
    words = [i for i, c in enumerate(context)
             if not c.isspace() and (i == 0 or context[i - 1].isspace())]
    start = rng.choice(words)
    end = min(len(context), start + rng.choice((1, 4, 12, 40)))
    while rng.random() < 0.8 and end < len(context) \
            and not context[end].isspace():
        end += 1
    return {"text": context[start:end], "answer_start": start}


def write_squad(rng, name, negative, training, articles, longest=300, label=0):
    """label: [] or None for questions with empty lists of answers, or none."""
    data, number = [], 0
    for _ in range(articles):
        paragraphs = []
        for _ in range(rng.randrange(1, 4)):
            context = phrase(rng, rng.randrange(1, longest))
            qas = []
            for _ in range(rng.randrange(1, 4)):
                impossible = negative and rng.random() < 0.3
                n = 1 if training else rng.randrange(1, 4)
                qas.append({
                    "id": f"{name}-{number}", "question":
                    phrase(rng, rng.choice((5, 9, 80))) + "?",
                    "answers": [] if impossible else
                    [answer_in(rng, context) for _ in range(n)]})
                if negative and label == 0:
                    qas[-1]["is_impossible"] = impossible
                    qas[-1]["plausible_answers"] = []
                if label == []:
                    qas[-1]["answers"] = []
                if label is None:
                    del qas[-1]["answers"]
                number += 1
            paragraphs.append({"qas": qas, "context": context})
        data.append({"title": "T", "paragraphs": paragraphs})
    write(name, json.dumps({"version": "v2.0" if negative else "1.1",
                            "data": data, "rest": [1, {"data": []}]},
                           ensure_ascii=rng.random() < 0.5,
                           indent=rng.choice((None, 1))))
    return name


def make_words(rng):
    sample = (SCRIPTS * 3 + " ".join(phrase(rng, 2000).split())).encode()
    tokens = Bert.train(sample, 1500, True)
    write("vocab.txt", "".join(t + "\n" for t in tokens))
    bert = Bert(tokens, True)
    return oracle.Words(tokens, lambda t: bert.encode(t.encode())), bert


# The checks.

def check_texts(rng):
    points = [c for c in assigned() if c not in (0, 10) and not
              0xd800 <= c < 0xe000]
    texts = [phrase(rng, 20) for _ in range(200)]
    texts += ["".join(chr(c) for c in rng.choices(points, k=50))
              for _ in range(200)]
    texts += ["".join(rng.choices(" athenANTHE_.'\u0301\u03a3\u4e00\u00a01",
                                  k=40)) for _ in range(300)]
    texts += [f"{chr(c)}a{chr(c)}an{chr(c)} the{chr(c)}Σ{chr(c)}" for c in
              points if c < 0x3000 or c % 97 == 0]
    done = tool("text", text="".join(json.dumps(t) + "\n" for t in texts))
    if done.returncode:
        fail("texts", done.returncode, done.stderr)
    for text, line in zip(texts, done.stdout.splitlines()):
        want = [oracle.clean(text), oracle.normalize(text)]
        if json.loads(line) != want:
            fail("text", ascii(text), line, "not", ascii(want))
    print(f"texts: {len(texts)}")


def check_pairs(rng, words):
    for kind in "train", "dev", "test":
        path = write_mnli(rng, kind, 40)
        for length in 16, 64:
            about = Case(f"mnli {kind} {length}", "mnli", [path], oracle.glue(
                "mnli", words, [path], length)).check("vocab.txt", length,
                                                      "valid")
            if about and about["labelled"] != (kind != "test"):
                fail(path, about)
    paths = ["mnli-train.tsv", "mnli-dev.tsv"]
    Case("mnli epochs", "mnli", paths, oracle.glue(
        "mnli", words, paths, 32)).check("vocab.txt", 32, "train")
    for kind in "train", "test":
        path = write_qqp(rng, kind, 250)
        about = Case(f"qqp {kind}", "qqp", [path], oracle.glue(
            "qqp", words, [path], 48)).check("vocab.txt", 48, "valid")
        if about and about["left_out"] != 2 * (kind == "train"):
            fail(path, about)


def check_race(rng, words):
    paths = [write_race(rng, "middle", 12), write_race(rng, "high", 5)]
    for length in 64, 512:
        Case(f"race {length}", "race", paths, oracle.race(
            words, paths, length), 4).check("vocab.txt", length, "valid")
    Case("race epochs", "race", paths, oracle.race(
        words, paths, 64), 4).check("vocab.txt", 64, "train")


def check_unlabelled(rng, words):
    """The files of a test have the samples of others, without answers."""
    about = []
    for empty in False, True:
        name = f"test{empty:d}"
        write_race(rng, name, 7, lambda n: [] if empty else None)
        about.append(Case(f"race {name}", "race", [name], oracle.race(
            words, [name], 96), 4).check("vocab.txt", 96, "valid"))
    for negative, empty in (False, False), (False, True), (True, False):
        path = write_squad(rng, f"squad-{negative:d}{empty:d}.json", negative,
                           False, 5, label=[] if empty else None)
        squad = oracle.Squad(words, path, 128, False)
        about.append(Case(path, "squad", [path], squad.samples()).check(
            "vocab.txt", 128, "valid"))
    if any(a is None or a["labelled"] for a in about):
        fail("files without answers", about)


def check_predictions(rng):
    """The files that say what a model answers."""
    def predict(task, path, answers):
        done = tool("predict", task, "vocab.txt",
                    "".join(map(str, answers)), "predicted", path)
        if done.returncode:
            fail("predict", task, path, done.stderr)
        with open("predicted", encoding="utf-8") as file:
            return file.read()

    for task, path, ids in (
            ("mnli", write_mnli(rng, "test", 40), range(40)),
            ("mnli", write_mnli(rng, "dev", 7), range(7)),
            ("qqp", write_qqp(rng, "test", 30), range(30)),
            ("qqp", write_qqp(rng, "train", 250), range(250))):
        names = oracle.CLASSES[task]
        answers = rng.choices(range(len(names)), k=len(ids))
        want = "index\tprediction\n" + "".join(
            row(i, names[a]) for i, a in zip(ids, answers))
        if predict(task, path, answers) != want:
            fail("predictions", task, path)
    article = {"article": "a", "questions": ["b"] * 3,
               "options": [["a", "b", "c", "d"]] * 3, "answers": ["A"] * 3}
    few = dict(article, questions=[], options=[], answers=[])
    write("lines", "".join(json.dumps(a) + "\n" for a in (
        dict(article, id="high1.txt"), article, dict(few, id=[]),
        dict(article, id='\t"\u00e9'), dict(article, id=7),
        dict(article, id=8, more=10 ** 20), dict(few, id=7.0),
        dict(few, id=2 ** 53 - 1, more=10 ** 20),
        dict(few, id=2 ** 53 + 1, more=10 ** 20))))
    got = [json.loads(line) for line in
           predict("race", "lines", [3, 2, 1, 0, 0, 1, 3, 3, 2, 1, 2, 0,
                                      2, 1, 0]
                   ).splitlines()]
    want = [{"id": i, "answers": list(a)} for i, a in (
        ("high1.txt", "DCB"), ("lines:2", "AAB"), ("lines:3", ""),
        ('\t"\u00e9', "DDC"), (7, "BCA"), (8, "CBA"),
        ("lines:7", ""), (2 ** 53 - 1, ""), ("lines:9", ""))]
    if got != want:
        fail("predictions", got, "not", want)


def check_squad(rng, words):
    lost = 0
    for negative in False, True:
        for kind in "train", "valid":
            path = write_squad(rng, f"squad{2 if negative else 1}-{kind}.json",
                               negative, kind == "train", 12)
            for length in 68, 128, 384:
                squad = oracle.Squad(words, path, length, kind == "train")
                about = Case(f"{path} {length}", "squad", [path],
                             squad.samples()).check("vocab.txt", length, kind)
                lost += squad.left_out
                if about and about["left_out"] != squad.left_out:
                    fail(path, about, squad.left_out)
    if not lost:
        fail("every answer stands in its words")


def random_logits(rng, squad):
    """Of all windows, with equal ones; mostly the best of random places."""
    every = []
    for question in squad.questions:
        every.append([])
        for window in question.windows:
            starts, ends = ([float(rng.choice((rng.gauss(0, 4),
                                               rng.randrange(3))))
                             for _ in range(squad.length)] for _ in "ab")
            starts[0] += rng.choice((0, 12))
            for _ in range(3):
                a = len(question.query) + 2 + rng.randrange(len(window))
                starts[a] += 6
                ends[min(a + rng.randrange(9), squad.length - 1)] += 6
            every[-1].append([list(array.array("f", logits))
                              for logits in (starts, ends)])
    return every


def check_answers(rng, words, bert):
    for negative, length, threshold in (False, 68, 0), (True, 68, 0), (
            True, 128, -3.5), (False, 384, 0):
        path = f"squad{2 if negative else 1}-valid.json"
        squad = oracle.Squad(words, path, length, False)
        logits = random_logits(rng, squad)
        with open("logits", "wb") as file:
            for windows in logits:
                for starts, ends in windows:
                    array.array("f", starts + ends).tofile(file)
        done = tool("answers", "vocab.txt", "lower", length, "logits",
                    threshold, "answers.json", "odds.json", path)
        if done.returncode:
            fail("answers", done.stderr)
            continue
        with open("answers.json", encoding="utf-8") as file:
            answers = json.load(file)
        with open("odds.json", encoding="utf-8") as file:
            odds = json.load(file)
        for question, windows in zip(squad.questions, logits):
            want = squad.answer(question, windows,
                                lambda t: bert.words(t.encode()), threshold)
            if (answers[question.id], odds[question.id]) != want:
                fail("answer", question.id, ascii(answers[question.id]),
                     odds[question.id], "not", ascii(want))
        if list(answers) != [q.id for q in squad.questions]:
            fail("answers have another order")
        empty = sum(not a for a in answers.values())
        if negative != (0 < empty < len(answers)):
            fail("answers", path, empty, "of", len(answers), "are empty")
        print(f"answers {path} {length}: {len(answers)}, {empty} empty")


def predict(rng, question):
    """Near a right answer, mostly."""
    text = rng.choice(question.answers or [phrase(rng, 3)])
    kind = rng.randrange(6)
    if kind == 0:
        return text
    if kind == 1:
        return "The " + text.upper() + "."
    if kind == 2:
        return " ".join(rng.sample(text.split(), len(text.split()))[:4])
    if kind == 3:
        return phrase(rng, 2) + " " + text + "\u2019s a"
    return rng.choice(("", "the", "?!", text[1:], phrase(rng, 4)))


def check_scores(rng, words):
    for negative in False, True:
        path = f"squad{2 if negative else 1}-valid.json"
        squad = oracle.Squad(words, path, 128, False)
        for missing in 0.0, 0.2, 1.0:
            predictions = {q.id: predict(rng, q) for q in squad.questions
                           if rng.random() >= missing}
            odds = {i: rng.choice((rng.gauss(0, 3), 1.0)) for i in predictions}
            write("predictions.json", json.dumps(predictions))
            write("differences.json", json.dumps(odds))
            for differences in None, odds:
                if differences is not None and not predictions:
                    continue
                done = tool("score", "vocab.txt", path, "predictions.json",
                            "differences.json" if differences else "-")
                want = oracle.scores(squad, predictions, differences)
                got = done.stdout and json.loads(done.stdout)
                if got != json.loads(json.dumps(want)):
                    fail("scores", path, got, "not", want, done.stderr)
        print(f"scores {path}: {want[0]}")


def refuse(task, text, *said, kind="valid", name="bad"):
    """One sentence, with the file and these words."""
    write(name, text)
    done = tool("samples", task, "vocab.txt", "lower", 128, kind, 1, 1, 99,
                name)
    if done.returncode != 3 or done.stderr.count("\n") != 1 \
            or not done.stderr.startswith(f"task_tool: {name}: ") \
            or not all(words in done.stderr for words in said):
        fail("refused", task, repr(text[:80]), done.returncode, done.stderr,
             "expected", said)


def damaged_pairs():
    head = row(*MNLI, "label1", "gold_label")
    good = [1, 1, "1c", "g", "(", ")", "(", ")", "One.", "Two."]
    refuse("mnli", "", "is empty")
    refuse("mnli", " \n\t\n", "is empty")
    refuse("mnli", head, "line 1: the file ends without a pair")
    refuse("mnli", row(*MNLI[:9]), "line 1: found 9 columns, expected 12")
    refuse("mnli", row(*range(12)), 'line 1: expected names', '"sentence1"')
    refuse("mnli", head + row(*good, "neutral"),
           "line 2: found 11 columns, expected 12")
    refuse("mnli", head + row(*good, "neutral", "maybe"),
           'line 2: unknown class "maybe", expected contradiction, entailment')
    refuse("mnli", head + row(*good[:8], " ", "b", "-", "neutral"),
           "line 2: column 9 is empty")
    refuse("mnli", head + "\n" + row("x", *good[1:], "-", "neutral"),
           "line 3: column 1 is not a whole number")
    head = row(*QQP)
    refuse("qqp", row(*QQP[:5]), "line 1: found 5 columns, expected 6")
    refuse("qqp", head + row(1, 1, 2, "a?", "b?", 0) + row(1, 1, 2, "a?", "b?"),
           "line 3: found 5 columns, expected 6")
    refuse("qqp", head + row(1, 1, 2, "a?", "b?", 2),
           'line 2: unknown class "2", expected 0, 1')
    refuse("qqp", row(*QQP[:1], *QQP[3:5]) + row(1, "a?"), "line 2: found 2")
    refuse("qqp", row(*QQP[:1], *QQP[3:5]) + row(1, "a?", "b?") * 200
           + row(2, "a?"), "line 202: found 2")
    done = tool("samples", "mnli", "vocab.txt", "lower", 64, "valid", 1, 1, 99,
                "mnli-dev.tsv", "mnli-test.tsv")
    if "mnli-test.tsv: line 1: the file has no classes" not in done.stderr:
        fail("classes and none", done.stderr)


def damaged_race():
    good = {"article": "An article.", "questions": ["Who?", "What _ ?"],
            "options": [["a", "b", "c", "d"]] * 2, "answers": ["A", "D"]}

    def changed(*said, **parts):
        refuse("race", json.dumps(good) + "\n" + json.dumps({**good, **parts}),
               "line 2: ", *said)

    refuse("race", "", "is empty")
    refuse("race", "\n\n", "is empty")
    refuse("race", json.dumps(good)[:-9], "line 1, column")
    refuse("race", json.dumps(good) + "\n{", "line 2, column")
    refuse("race", "[" * 100000, "line 1, column")
    refuse("race", "[]", 'line 1: expected a text "article"')
    refuse("race", json.dumps({**good, "questions": [], "options": [],
                               "answers": []}), "there is no question")
    changed('expected a text "article"', article=None)
    changed("expected lists", options={})
    changed("different lengths", answers=["A"])
    changed("expected lists", answers=None)
    changed("the questions have no answers, unlike the questions before them",
            answers=[])
    refuse("race", json.dumps({**good, "answers": []}) + "\n"
           + json.dumps(good), "line 2: the questions have answers, unlike")
    changed("question 2: expected four options",
            options=[["a", "b", "c", "d"], ["a", "b", "c"]])
    changed("question 1: an option is no text",
            options=[["a", 1, "c", "d"], ["a", "b", "c", "d"]])
    changed("question 1: the question is no text", questions=[1, "b"])
    changed('question 2: expected an answer "A"', answers=["A", "E"])
    changed('question 1: expected an answer "A"', answers=["AB", "E"])
    changed("question 1: the question has more than 1 MiB",
            questions=["_" * 2000, "b"], options=[["x" * 2000] * 4] * 2)
    os.mkdir("nothing")
    os.mkfifo("pipe")
    for task, path, said in (
            ("race", "nothing", "the directory has no file *.txt"),
            ("race", "nowhere", "No such file"),
            ("race", "pipe", "not a regular file"),
            ("mnli", "nothing", "not a regular file"),
            ("squad", "pipe", "not a regular file")):
        done = tool("samples", task, "vocab.txt", "lower", 128, "valid", 1, 1,
                    99, path)
        if done.returncode != 3 or f"{path}: {said}" not in done.stderr:
            fail(task, path, done.returncode, done.stderr)


def damaged_squad():
    def text(**parts):
        qa = {"id": "q7", "question": "Who?", "answers": [
            {"text": "ntext", "answer_start": 2}], **parts}
        context = qa.pop("context", "A context.")
        return json.dumps({"version": "1.1", "data": [{"paragraphs": [
            {"context": context, "qas": [qa]}]}]})

    def answers(*pairs, **parts):
        return text(answers=[{"text": t, "answer_start": s} for t, s in pairs],
                    **parts)

    refuse("squad", "", "is empty")
    refuse("squad", "[]", "line 1, column 1: expected '{'")
    refuse("squad", "{}", "line 1, column 2: expected a key")
    refuse("squad", '{"version": 1}', 'line 1: the object has no "data"')
    refuse("squad", '{"data": 1}', "line 1, column 10: expected '['")
    refuse("squad", '{"data": [],\n "data": []}', "line 2, column", "twice")
    refuse("squad", '{"data": [}', "line 1, column 11")
    refuse("squad", '{"data": [' + "[" * 100000, "line 1, column")
    refuse("squad", '{"data": [{}]}', 'line 1: an article needs a list')
    refuse("squad", '{"data": []}', "ends without a question")
    refuse("squad", '{"data": []} x', "line 1, column 14: expected the end")
    refuse("squad", '{"data" []}', "line 1, column 9: expected ':'")
    for cut in range(1, 120, 7):
        refuse("squad", text()[:-cut], "line 1, column")
    refuse("squad", text().replace(', "data"', ',\n"data"')[:-20],
           "line 2, column")
    refuse("squad", text(id=3), "line 1: a question needs")
    refuse("squad", text(question=None), 'question "q7": a question needs')
    refuse("squad", text(answers={}), 'question "q7": a question needs')
    mixed = json.loads(text())
    qas = mixed["data"][0]["paragraphs"][0]["qas"]
    qas.append({"id": "q8", "question": "Who?"})
    refuse("squad", json.dumps(mixed), 'question "q8": no "answers", unlike')
    refuse("squad", json.dumps(mixed), 'question "q8": a question needs',
           kind="train")
    qas.reverse()
    refuse("squad", json.dumps(mixed), 'question "q7": "answers", unlike')
    write("good", text())
    write("bad", json.dumps({"data": [{"paragraphs": [
        {"context": "a", "qas": qas[:1]}]}]}))
    done = tool("samples", "squad", "vocab.txt", "lower", 128, "valid", 1, 1,
                99, "good", "bad")
    if "bad: line 1: the file has no answers, unlike" not in done.stderr:
        fail("answers and none", done.stderr)
    refuse("squad", text(context=3), "a paragraph needs")
    refuse("squad", answers(("context", 5)), 'question "q7": an answer of 7 '
           "characters from number 5 on is outside of its context of 10")
    refuse("squad", answers(("context", -1)), "from number -1 on is outside")
    refuse("squad", answers(("context", 2), ("x" * 11, 0)), "outside")
    refuse("squad", answers(("\u0130" * 9, 2)), "an answer of 9 characters")
    refuse("squad", answers(("", 2)), "an answer is empty")
    refuse("squad", text(answers=[{"text": "x"}]), "an answer needs")
    refuse("squad", text(answers=[3]), "an answer needs")
    refuse("squad", text(answers=[{"text": "x", "answer_start": 1.0}]),
           "an answer needs")
    refuse("squad", answers(("A", 0), ("context", 2)), 'question "q7": expected '
           "exactly one answer", kind="train")
    refuse("squad", answers(), "expected exactly one answer", kind="train")
    refuse("squad", answers(("contaxt", 2)), "without a question with a usable",
           kind="train")
    refuse("squad", answers(context=""), "all contexts are empty")
    done = tool("samples", "squad", "vocab.txt", "lower", 67, "valid", 1, 1, 99,
                "bad")
    if done.returncode != 2 or "--seq-length 67 has no room" not in done.stderr:
        fail("seq_length", done.returncode, done.stderr)


def main():
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        words, bert = make_words(rng)
        check_texts(rng)
        check_pairs(rng, words)
        check_race(rng, words)
        check_squad(rng, words)
        check_unlabelled(random.Random(2), words)
        check_predictions(random.Random(3))
        check_answers(rng, words, bert)
        check_scores(rng, words)
        check_hashes()
        damaged_pairs()
        damaged_race()
        damaged_squad()
        os.chdir("/")
    if not failures:
        print("all as expected")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
