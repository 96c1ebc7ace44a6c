"""Tasks of the published formats whose right answers are known: facts about a
small world.

A fact is "Anna has the red ball in the park."  Every name stands once in a text,
so each question has one answer, and who knows the facts is right every time.
Each thing has two words, which mean the same."""

import json
import os
import random

NAMES = "Anna Bruno Carla David Emma Felix Greta Hugo Ida Jonas".split()
COLOURS = "red blue green white black yellow".split()
THINGS = [pair.split("/") for pair in
          "ball/orb box/crate cup/mug boat/ship stone/rock coat/jacket".split()]
PLACES = "park house garden school station market".split()
CLASSES = "contradiction", "entailment", "neutral"
WORDS = "has have the in does what where is who a and . ? ,".split()
SPECIAL = "[PAD] [UNK] [CLS] [SEP] [MASK]".split()


def vocabulary():
    words = [*WORDS, *COLOURS, *PLACES, *(n.lower() for n in NAMES),
             *(word for pair in THINGS for word in pair)]
    return SPECIAL + sorted(set(words))


class Fact:
    def __init__(self, rng, name):
        self.name, self.colour = name, rng.choice(COLOURS)
        self.thing, self.place = rng.choice(THINGS), rng.choice(PLACES)

    def what(self, rng):
        return f"{self.colour} {rng.choice(self.thing)}"

    def sentence(self, rng):
        return f"{self.name} has the {self.what(rng)} in the {self.place}."

    def claim(self, rng, name=None, colour=None):
        return (f"{name or self.name} has the {colour or self.colour} "
                f"{rng.choice(self.thing)}.")


def facts(rng, n):
    return [Fact(rng, name) for name in rng.sample(NAMES, n)]


def absent(rng, world):
    """A name that no fact has."""
    return rng.choice([n for n in NAMES if n not in [f.name for f in world]])


def other(rng, colour):
    return rng.choice([c for c in COLOURS if c != colour])


def entailment(rng):
    """Premise, hypothesis and class.  The colour of a contradiction is the other
    fact's, if that differs: who looks for the colour alone does not see it."""
    world = facts(rng, 2)
    rng.shuffle(world)
    fact, label = world[0], rng.choice(CLASSES)
    wrong = world[1].colour
    if wrong == fact.colour:
        wrong = other(rng, fact.colour)
    hypothesis = fact.claim(
        rng, name=absent(rng, world) if label == "neutral" else None,
        colour=wrong if label == "contradiction" else None)
    rng.shuffle(world)
    return " ".join(f.sentence(rng) for f in world), hypothesis, label


def is_of_dev(fact):
    """Whether questions about the fact measure; from others a model learns."""
    return (NAMES.index(fact.name) + COLOURS.index(fact.colour)) % 4 == 0


def duplicate(rng, dev):
    """Two questions, and "1" if they mean the same.  No pair to measure with is
    one to learn from."""
    fact, same = facts(rng, 1)[0], rng.randrange(2)
    while is_of_dev(fact) != dev:
        fact = facts(rng, 1)[0]
    changed = {} if same else rng.choice((
        {"name": absent(rng, [fact])}, {"colour": other(rng, fact.colour)}))

    def question(**parts):
        return ("Does " + fact.claim(rng, **parts)[:-1].replace(" has ", " have ")
                + "?")
    return question(), question(**changed), str(same)


def choices(rng, number):
    """An article of RACE with two questions."""
    world = facts(rng, 4)
    questions, options, answers = [], [], []
    for fact in rng.sample(world, 2):
        wrong = rng.sample([c for c in COLOURS if c != fact.colour], 3)
        right = rng.randrange(4)
        wrong.insert(right, fact.colour)
        if rng.randrange(2):
            questions.append(f"{fact.name} has the _ {rng.choice(fact.thing)}.")
            options.append(wrong)
        else:
            questions.append(f"What does {fact.name} have?")
            options.append([f"the {c} {rng.choice(fact.thing)}" for c in wrong])
        answers.append("ABCD"[right])
    return {"article": " ".join(f.sentence(rng) for f in world), "id": number,
            "questions": questions, "options": options, "answers": answers}


def spans(rng, number, negative):
    """A paragraph of SQuAD with three questions."""
    world, context, qas = facts(rng, 4), "", []
    for fact in world:
        what = fact.what(rng)
        begin = len(context) + len(f"{fact.name} has the ")
        context += f"{fact.name} has the {what} in the {fact.place}. "
        where = context.rindex(fact.place)
        fact.answers = ((f"What does {fact.name} have?", what, begin),
                        (f"Where is {fact.name}?", fact.place, where))
    for i, fact in enumerate(rng.sample(world, 3)):
        question, text, start = rng.choice(fact.answers)
        impossible = negative and rng.randrange(3) == 0
        if impossible:
            question = question.replace(fact.name, absent(rng, world))
        qas.append({"id": f"{number}-{i}", "question": question, "answers":
                    [] if impossible else [{"text": text,
                                            "answer_start": start}]})
        if negative:
            qas[-1]["is_impossible"] = impossible
    return {"context": context.strip(), "qas": qas}


def story(rng):
    """A document to pretrain on: facts, and again in another order."""
    world = facts(rng, rng.randint(2, 4))
    again = rng.sample(world, len(world))
    return "\n".join(f.sentence(rng) for f in world + again) + "\n"


def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write_rows(path, rows):
    write(path, "".join("\t".join(row) + "\n" for row in rows))


def write_mnli(path, rng, n):
    """The columns of GLUE's train.tsv (label1) or dev_*.tsv (label1 .. 5)."""
    labels = 1 if "train" in path else 5
    names = ["index", "promptID", "pairID", "genre", "sentence1_binary_parse",
             "sentence2_binary_parse", "sentence1_parse", "sentence2_parse",
             "sentence1", "sentence2"]
    rows = [names + [f"label{i + 1}" for i in range(labels)] + ["gold_label"]]
    for i in range(n):
        premise, hypothesis, label = entailment(rng)
        rows.append([str(i), str(i), f"{i}p", "facts", "-", "-", "-", "-",
                     premise, hypothesis] + [label] * (labels + 1))
    write_rows(path, rows)


def write_qqp(path, rng, n):
    rows = ["id qid1 qid2 question1 question2 is_duplicate".split()]
    for i in range(n):
        a, b, same = duplicate(rng, "dev" in os.path.basename(path))
        rows.append([str(i), str(2 * i), str(2 * i + 1), a, b, same])
    write_rows(path, rows)


def write_race(folder, rng, n):
    for i in range(n // 2):
        write(os.path.join(folder, f"{i}.txt"),
              json.dumps(choices(rng, f"facts{i}.txt")) + "\n")


def write_squad(path, rng, n, negative):
    paragraphs = [spans(rng, i, negative) for i in range(n // 3)]
    data = [{"title": f"Facts {i}", "paragraphs": paragraphs[i:i + 20]}
            for i in range(0, len(paragraphs), 20)]
    write(path, json.dumps({"version": "v2.0" if negative else "1.1",
                            "data": data}))


def make(folder, seed, train, dev):
    """Writes all data sets, of train and dev questions each."""
    def rng(name):
        return random.Random(f"{seed} {name}")

    def path(*parts):
        return os.path.join(folder, *parts)

    write(path("vocab.txt"), "".join(w + "\n" for w in vocabulary()))
    drawn = rng("stories")
    write(path("stories.txt"), "\f\n".join(story(drawn) for _ in range(train)))
    for part, n in ("train", train), ("dev", dev):
        mnli = "train.tsv" if part == "train" else "dev_matched.tsv"
        write_mnli(path("MNLI", mnli), rng(f"mnli {part}"), n)
        write_qqp(path("QQP", f"{part}.tsv"), rng(f"qqp {part}"), n)
        write_race(path("RACE", part, "middle"), rng(f"race {part}"), n)
        for version in "1.1", "2.0":
            write_squad(path("SQuAD", f"{part}-v{version}.json"),
                        rng(f"squad {version} {part}"), n, version == "2.0")
