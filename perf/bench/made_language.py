"""A language whose entropy is known: a Markov chain of second order.

After every two letters, four letters may follow, with the probabilities of
SHARES.  So the entropy of a letter after two or more is that of SHARES, whatever
the letters are: no model has a smaller loss."""

import json
import math
import os
import random

LETTERS = "abcdefghijklmno\n"
SHARES = 0.5, 0.25, 0.15, 0.1


def entropy(shares):
    """In nats."""
    return -sum(p * math.log(p) for p in shares if p > 0)


def deviation(shares):
    """Standard deviation of the loss of a letter, of a model that knows them."""
    squares = sum(p * math.log(p) ** 2 for p in shares if p > 0)
    return math.sqrt(squares - entropy(shares) ** 2)


class Language:
    def __init__(self, seed):
        rng = random.Random(f"{seed} language")
        self.after = {}
        for a in LETTERS:
            for b in LETTERS:
                # No empty line.
                letters = LETTERS[:-1] if b == "\n" else LETTERS
                self.after[a + b] = rng.sample(letters, len(SHARES))

    def text(self, rng, n):
        """n letters, the last one the end of a line."""
        written = ["a", "b"]
        while len(written) < n - 1:
            written += rng.choices(self.after[written[-2] + written[-1]], SHARES)
        return "".join(written) + "\n"

    def pairs(self, rounds=2000):
        """How often each pair of letters is, in the long run."""
        share = dict.fromkeys(self.after, 1 / len(self.after))
        for _ in range(rounds):
            following = dict.fromkeys(self.after, 0.0)
            for pair, p in share.items():
                for letter, q in zip(self.after[pair], SHARES):
                    following[pair[1] + letter] += p * q
            moved = sum(abs(following[pair] - share[pair]) for pair in share)
            share = following
            if moved < 1e-13:
                break
        return share

    def bounds(self):
        """The least loss, in nats for each letter, of a model that sees none,
        one, or all of the letters before."""
        pairs = self.pairs()
        single = {b: sum(p for pair, p in pairs.items() if pair[1] == b)
                  for b in LETTERS}
        return {"none": entropy(single.values()),
                "one": entropy(pairs.values()) - entropy(single.values()),
                "all": entropy(SHARES)}


def bound(bounds, seq_length):
    """The least mean loss of samples: their first label has one letter before
    it, all others have two or more."""
    return (bounds["one"] + (seq_length - 1) * bounds["all"]) / seq_length


def make(folder, seed, train, valid):
    """Writes texts of train and valid letters, and bounds.json."""
    language = Language(seed)
    os.makedirs(folder, exist_ok=True)
    for name, n in ("train", train), ("valid", valid):
        with open(os.path.join(folder, name + ".txt"), "w",
                  encoding="ascii") as file:
            file.write(language.text(random.Random(f"{seed} {name}"), n))
    with open(os.path.join(folder, "bounds.json"), "w",
              encoding="ascii") as file:
        json.dump(language.bounds(), file, indent=1)
        file.write("\n")
