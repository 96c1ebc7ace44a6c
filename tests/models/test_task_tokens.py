"""Samples of tasks against the BERT tokenizer of Hugging Face transformers,
with the vocabulary of test_tasks.py.  Languages on whose letters Unicode
versions and definitions agree."""
import json
import os
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/models"))
import task_oracle as oracle
import test_tasks
from test_tasks import Case

PEERS = os.environ.get("PEERS_PYTHON") or os.path.join(
    os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache")),
    "mtlm-dag/peers/bin/python")
ENCODE = """
import json, sys
from transformers import BertTokenizer
t = BertTokenizer("vocab.txt", do_lower_case=True)
for line in sys.stdin:
    print(json.dumps(t.convert_tokens_to_ids(t.tokenize(json.loads(line)))),
          flush=True)
"""
WORDS = """The quick brown fox doesn't jump; they're lazy dogs, I'll say. 42 of
3.14! Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva. Zwölf Boxkämpfer jagen
Viktor quer über den großen Sylter Deich. Съешь же ещё этих мягких французских
булок 視野無限廣,窗外有藍天。 (1895-1943) U.S. co_op $5 #2 a/b the an""".split()


def phrase(rng, n, spaces=None):
    del spaces
    return " ".join(rng.choices(WORDS, k=n))


class Transformers:
    """Tokens of a text, by a process of another Python."""

    def __init__(self):
        self.process = subprocess.Popen(
            [PEERS, "-c", ENCODE], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
            env=dict(os.environ, HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="0"))

    def __call__(self, text):
        self.process.stdin.write(json.dumps(text) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def close(self):
        self.process.communicate()


def check(rng):
    words, _ = test_tasks.make_words(rng)
    test_tasks.phrase = phrase
    theirs = Transformers()
    words = oracle.Words(words.text, theirs)
    for case in (
            Case("mnli", "mnli", [test_tasks.write_mnli(rng, "dev", 60)],
                 oracle.glue("mnli", words, ["mnli-dev.tsv"], 64)),
            Case("qqp", "qqp", [test_tasks.write_qqp(rng, "train", 250)],
                 oracle.glue("qqp", words, ["qqp-train.tsv"], 64)),
            Case("race", "race", [test_tasks.write_race(rng, "middle", 5)],
                 oracle.race(words, ["middle"], 64), 4)):
        case.check("vocab.txt", 64, "valid")
    for negative in False, True:
        name = test_tasks.write_squad(rng, "squad.json", negative, False, 5)
        squad = oracle.Squad(words, name, 128, False)
        Case(f"squad {negative}", "squad", [name], squad.samples()).check(
            "vocab.txt", 128, "valid")
    theirs.close()


def main():
    try:
        missing = subprocess.run([PEERS, "-c", "import transformers"],
                                 capture_output=True, check=False).returncode
    except OSError:
        missing = 1
    if missing:
        print(f"skipped: {PEERS} has no transformers; launch/setup --peers "
              "installs it")
        return 77
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        check(random.Random(1))
        os.chdir("/")
    return test_tasks.failures > 0


if __name__ == "__main__":
    sys.exit(main())
