"""Fine-tuning tasks, defined anew: cleaned texts, pairs in a sequence, windows
of SQuAD, answers from logits, and scores.  WordPiece is tokenizer_oracle.py's.

The definitions follow Megatron-LM v2.6 (tasks/), google-research/bert
(run_squad.py) and SQuAD's evaluate-v1.1.py and evaluate-v2.0.py."""
import glob
import itertools
import json
import os
import re
import string

CLASSES = {"mnli": ["contradiction", "entailment", "neutral"],
           "qqp": ["0", "1"]}
STRIDE, QUERY, BEST, LONGEST_ANSWER, CHOICE = 128, 64, 20, 30, 128


def clean(text):
    text = re.sub(r"\s+", " ", text)
    for _ in range(3):
        text = ". ".join(text.split(" . "))
    return text


class Words:
    """The tokens of one vocabulary; encode() is any tokenizer's."""

    def __init__(self, vocabulary, encode):
        self.text = vocabulary
        self.number = {t: i for i, t in enumerate(vocabulary)}
        self.encode = encode


def sequence(words, a, b, length):
    """[CLS] a [SEP] b [SEP], cut and padded, with types."""
    cls, sep, pad = (words.number[f"[{t}]"] for t in ("CLS", "SEP", "PAD"))
    tokens = [cls, *a, sep, *b]
    types = [0] * (len(a) + 2) + [1] * len(b)
    del tokens[length - 1:], types[length - 1:]
    tokens.append(sep)
    types.append(1)
    rest = length - len(tokens)
    return {"tokens": tokens + [pad] * rest, "types": types + [0] * rest,
            "length": [len(tokens)]}


def glue(task, words, paths, length):
    samples = []
    for path in paths:
        with open(path, encoding="utf-8", errors="ignore", newline="\n") as file:
            head, *rows = [line.strip().split("\t") for line in file]
        if task == "mnli":
            a, b, label = 8, 9, None if len(head) == 10 else -1
        else:
            a, b, label = (1, 2, None) if len(head) == 3 else (3, 4, 5)
        for row in rows:
            if len(row) != len(head) or not (row[a].strip() and row[b].strip()):
                continue
            one = sequence(words, words.encode(clean(row[a].strip())),
                           words.encode(clean(row[b].strip())), length)
            one["class"] = [0 if label is None
                            else CLASSES[task].index(row[label].strip())]
            samples.append(one)
    return samples


def race(words, paths, length):
    samples = []
    files = itertools.chain.from_iterable(
        sorted(glob.glob(os.path.join(path, "*.txt")), key=os.fsencode)
        for path in paths)
    for name in files:
        with open(name, encoding="utf-8-sig", newline="\n") as file:
            lines = [json.loads(line) for line in file if line.strip()]
        for data in lines:
            article = words.encode(clean(data["article"]))
            answers = data.get("answers") or "A" * len(data["questions"])
            for question, options, answer in zip(
                    data["questions"], data["options"], answers):
                for option in options:
                    text = (option.join(question.split("_"))
                            if "_" in question else question + " " + option)
                    one = sequence(words, words.encode(clean(text))[:CHOICE],
                                   article, length)
                    one["class"] = ["ABCD".index(answer)]
                    samples.append(one)
    return samples


class Context:
    def __init__(self, words, text):
        self.words, self.word_of = [], []
        for i, c in enumerate(text):
            if c not in " \t\r\n\u202f":
                if i == 0 or text[i - 1] in " \t\r\n\u202f":
                    self.words.append("")
                self.words[-1] += c
            self.word_of.append(len(self.words) - 1)
        pieces = [words.encode(word) for word in self.words]
        self.tokens = [t for piece in pieces for t in piece]
        self.word_of_token = [w for w, piece in enumerate(pieces)
                              for _ in piece]
        self.begin = [0, *itertools.accumulate(map(len, pieces))]

    def find(self, words, text, start):
        """The tokens of an answer, or None."""
        a, b = self.word_of[start], self.word_of[start + len(text) - 1]
        if a < 0 or " ".join(text.split()) not in " ".join(self.words[a:b + 1]):
            return None
        first, last = self.begin[a], self.begin[b + 1] - 1
        if last < first:
            return None
        want = words.encode(text)
        for i in range(first, last + 1):
            end = i + len(want)
            if want and end <= last + 1 and self.tokens[i:end] == want:
                return i, end - 1
        return first, last


class Question:
    def __init__(self, words, context, qa, length, training):
        self.id, self.context = qa["id"], context
        self.answers = [a["text"] for a in qa.get("answers", [])]
        self.query = words.encode(qa["question"])[:QUERY]
        self.span = None
        if self.answers and not qa.get("is_impossible"):
            self.span = context.find(words, self.answers[0],
                                     qa["answers"][0]["answer_start"])
        self.lost = bool(training and self.answers and self.span is None
                         and not qa.get("is_impossible"))
        room = length - len(self.query) - 3
        self.windows = []
        for first in range(0, len(context.tokens), min(room, STRIDE)):
            self.windows.append(
                range(first, min(first + room, len(context.tokens))))
            if self.windows[-1].stop == len(context.tokens):
                break

    def samples(self, words, length):
        for window in self.windows:
            one = sequence(words, self.query,
                           [self.context.tokens[i] for i in window], length)
            inside = self.span and all(t in window for t in self.span)
            for name, token in zip(("start", "end"), self.span or (0, 0)):
                one[name] = [len(self.query) + 2 + window.index(token)
                             if inside else 0]
            yield one

    def widest(self, token):
        """The number of the window with the most context for a token."""
        def context(i):
            w = self.windows[i]
            return (min(token - w.start, w.stop - 1 - token) + 0.01 * len(w),
                    -i)
        return max((i for i, w in enumerate(self.windows) if token in w),
                   key=context)


class Squad:
    def __init__(self, words, path, length, training):
        self.words, self.length = words, length
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        qas = [(Context(words, p["context"]), p["qas"]) for article in
               data["data"] for p in article["paragraphs"]]
        every = [Question(words, context, qa, length, training)
                 for context, questions in qas for qa in questions]
        self.questions = [q for q in every if not q.lost]
        self.left_out = len(every) - len(self.questions)
        self.negative = data.get("version", "").startswith("v2") or any(
            "is_impossible" in qa for _, questions in qas for qa in questions)

    def samples(self):
        return [s for q in self.questions
                for s in q.samples(self.words, self.length)]

    def answer(self, question, logits, basic, threshold):
        """The text and the difference; logits: (starts, ends) per window."""
        best, null = None, 1000000
        for i, (starts, ends) in enumerate(logits):
            null = min(null, starts[0] + ends[0])
            offset = len(question.query) + 2
            window = question.windows[i]
            for a, b in itertools.product(largest(starts), largest(ends)):
                if (offset <= a <= b < offset + len(window)
                        and b - a < LONGEST_ANSWER
                        and question.widest(window[a - offset]) == i
                        and (best is None
                             or starts[a] + ends[b] > best[0] + best[1])):
                    best = (starts[a], ends[b], window[a - offset],
                            window[b - offset])
        start, end = best[:2] if best else (0, 0)
        difference = null - start - end
        if self.negative and difference > threshold:
            return "", difference
        if not best:
            return "empty", difference
        context, (first, last) = question.context, best[2:]
        pieces = " ".join(self.words.text[t]
                          for t in context.tokens[first:last + 1])
        pieces = pieces.replace(" ##", "").replace("##", "")
        w = context.word_of_token
        original = " ".join(context.words[w[first]:w[last] + 1])
        return (final_text(" ".join(pieces.split()), original, basic),
                difference)


def largest(logits):
    return sorted(range(len(logits)), key=lambda i: (-logits[i], i))[:BEST]


def final_text(answer, original, basic):
    """The part of the original text; basic() cuts it into plain words."""
    plain = " ".join(basic(original))
    at = plain.find(answer)
    letters = [i for i, c in enumerate(original) if c != " "]
    plain_letters = [i for i, c in enumerate(plain) if c != " "]
    if not answer or at < 0 or len(letters) != len(plain_letters):
        return original
    first = letters[plain_letters.index(at)]
    last = letters[plain_letters.index(at + len(answer) - 1)]
    return original[first:last + 1]


def normalize(text):
    text = text.lower().translate(dict.fromkeys(map(ord, string.punctuation)))
    return " ".join(re.sub(r"\b(?:the|an?)\b", " ", text).split())


def f1(a, b, negative):
    a, b = normalize(a).split(), normalize(b).split()
    if negative and not (a and b):
        return float(a == b)
    common = sum(min(a.count(w), b.count(w)) for w in set(a))
    if not common:
        return 0.0
    precision, recall = common / len(b), common / len(a)
    return 2 * precision * recall / (precision + recall)


def mean(scores):
    n = len(scores)
    return [100.0 * sum(s[0] for s in scores) / n if n else 0.0,
            100.0 * sum(s[1] for s in scores) / n if n else 0.0, n]


def best(scored, every, which):
    """Over all thresholds between two neighbouring differences."""
    score = sum(not q.answers for q in every)
    found = score, 0.0
    for difference, question, text, scores in sorted(
            scored, key=lambda s: s[0]):
        if question.answers:
            score += scores[which]
        elif text:
            score -= 1
        if score > found[0]:
            found = score, difference
    return 100.0 * found[0] / len(scored), found[1]


def scores(squad, predictions, differences):
    """All, answerable, unanswerable; the best means and their thresholds."""
    negative, scored = squad.negative, []
    for q in squad.questions:
        if q.id not in predictions:
            continue
        right = q.answers
        if negative:
            right = [a for a in q.answers if normalize(a)] or [""]
        text = predictions[q.id]
        scored.append((differences[q.id] if differences else 0.0, q, text, (
            max(float(normalize(a) == normalize(text)) for a in right),
            max(f1(a, text, negative) for a in right))))
    points = [s[3] for s in scored]
    if not negative:
        points += [(0.0, 0.0)] * (len(squad.questions) - len(scored))
        return [mean(points), [0, 0, 0], [0, 0, 0], [0, 0, 0, 0]]
    thresholds = [0, 0, 0, 0]
    if differences:
        thresholds = [*best(scored, squad.questions, 0),
                      *best(scored, squad.questions, 1)]
    return [mean(points), mean([s[3] for s in scored if s[1].answers]),
            mean([s[3] for s in scored if not s[1].answers]), thresholds]
