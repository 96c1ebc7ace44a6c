"""mtlm-preprocess with tokenizer.json against transformers: byte-level BPE with
the words of GPT-2 and of BLOOM, WordPiece with and without small letters and
accents, trained here by the library tokenizers; tokens that a text names; and
files that are refused."""
import copy
import json
import os
import random
import string
import sys
import tempfile
import unicodedata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import test_tokenizers as base
from tokenizer_oracle import assigned
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers
from tokenizers import AddedToken, decoders, processors, trainers
from transformers import PreTrainedTokenizerFast

BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
SPECIAL = ["<unk>", "<s>", "</s>", "<pad>"]
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def train_bpe(words, special):
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = words
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=True)
    tokenizer.train_from_iterator(
        base.SCRIPTS.split("\n"), trainers.BpeTrainer(
            vocab_size=900, special_tokens=special, show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return tokenizer


def bloom():
    return train_bpe(pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(BLOOM), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ]), SPECIAL)


def gpt2():
    tokenizer = train_bpe(pre_tokenizers.ByteLevel(add_prefix_space=False),
                          ["<|endoftext|>"])
    tokenizer.add_tokens(["<|code|>", "<|code|><|end|>",
                          AddedToken("<late>", normalized=True)])
    return tokenizer


def wordpiece(**how):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**how)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.train_from_iterator(
        base.SCRIPTS.split("\n"), trainers.WordPieceTrainer(
            vocab_size=700, special_tokens=BERT_SPECIAL, show_progress=False))
    return tokenizer


def save(tokenizer, name, **config):
    os.makedirs(name, exist_ok=True)
    tokenizer.save(name + "/tokenizer.json")
    if config:
        Path(name, "tokenizer_config.json").write_text(json.dumps(config))
    return ["--tokenizer-model", name]


def encoder(tokenizer):
    """As transformers do, without the special tokens around a text."""
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    return lambda doc: fast(doc.decode(), add_special_tokens=False)["input_ids"]


def named(docs, rng, tokens):
    """Documents that name tokens, also where a word goes on."""
    result = []
    for doc in docs:
        text = doc.decode()
        for _ in range(3):
            at = rng.randrange(len(text))
            text = text[:at] + rng.choice(tokens) + text[at:]
        result.append(text.encode())
    return result


def check(name, tokenizer, docs, special, **config):
    """Documents, documents with tokens, and parts of a long one."""
    options = save(tokenizer, name, **config)
    encode = encoder(tokenizer)
    rng = random.Random(5)
    base.compare(name + " texts", docs, encode, options)
    base.compare(name + " named", named(docs, rng, special), encode, options)
    base.check_parts(named(docs[:60], rng, special + ["\n)", "\n<", " \n"]),
                     options, encode)
    base.check_workers(docs, options, name + "workers")


def kind_there(c):
    """Whether BERT's words of the library take a character for punctuation, drop
    it, or drop it as an accent."""
    text = "a%sa" % chr(c)
    drops, strips = (normalizers.BertNormalizer(
        lowercase=False, strip_accents=s).normalize_str(text) == "aa"
        for s in (False, True))
    words = pre_tokenizers.BertPreTokenizer().pre_tokenize_str(text)
    return len(words) == 3, drops, strips


def kind_here(c):
    kind = unicodedata.category(chr(c))
    drops = kind in ("Cc", "Cf") or c == 0xfffd
    return (kind[0] == "P" or c < 128 and chr(c) in string.punctuation, drops,
            drops or kind == "Mn")


def known_there(points):
    """The library's tables of marks and punctuation are those of Unicode 8."""
    known = [c for c in points if kind_there(c) == kind_here(c)]
    if len(points) - len(known) > 600:
        base.fail("the library takes", len(points) - len(known), "characters "
                  "for others")
    return known


def every_character(name, tokenizer, points):
    """Each character between letters and between blanks."""
    text = ["".join("a%sa %s " % (chr(c), chr(c)) for c in points[i:i + 200])
            for i in range(0, len(points), 200)]
    base.compare(name + " characters", [t.encode() + b"\n" for t in text],
                 encoder(tokenizer), ["--tokenizer-model", name])


def refused(name, change, words):
    """tokenizer.json of a name with a change."""
    data = json.loads(Path(name, "tokenizer.json").read_text())
    change(data)
    os.makedirs("changed", exist_ok=True)
    Path("changed/tokenizer.json").write_text(json.dumps(data))
    base.refuse(words, words, ["--tokenizer-model", "changed/tokenizer.json"])


def put(*path):
    """A change: the last word under the keys before."""
    def change(data):
        for key in path[:-2]:
            data = data[key]
        data[path[-2]] = copy.deepcopy(path[-1])
    return change


def check_refusals():
    open("text", "w").write("text\n")
    word = {"content": "<x>", "id": 5000, "special": True}
    for change, words in (
            (put("model", "type", "Unigram"), "model.type: expected BPE or Wor"),
            (put("model", "byte_fallback", True), "model.byte_fallback"),
            (put("model", "ignore_merges", True), "model.ignore_merges"),
            (put("model", "end_of_word_suffix", "</w>"), "end_of_word_suffix"),
            (put("model", "merges", {}), "model.merges: expected a list"),
            (put("model", "merges", ["a"]), "merge 1: expected two tokens"),
            (put("model", "merges", [["a", "b", "c"]]), "merge 1: expected two"),
            (put("model", "merges", [["a", "zzzz"]]), "merge 1: the vocabulary"),
            (put("model", "merges", [[7, "a"]]), "tokens, found another type"),
            (put("model", "vocab", []), "model.vocab: expected an object"),
            (put("model", "vocab", "a", 7), "both have number 7"),
            (put("normalizer", {"type": "NFC"}), "normalizer: expected none"),
            (put("pre_tokenizer", {"type": "Metaspace"}), "pre_tokenizer: exp"),
            (put("pre_tokenizer", None), "pre_tokenizer: expected"),
            (put("pre_tokenizer", "pretokenizers", 0, "pattern",
                 {"Regex": "\\w+"}), "pre_tokenizer: expected"),
            (put("pre_tokenizer", "pretokenizers", 1, "add_prefix_space", True),
             "pre_tokenizer: expected"),
            (put("added_tokens", [word]), "a number from 0 to"),
            (put("added_tokens", [dict(word, lstrip=True)]), "lstrip"),
            (put("added_tokens", [dict(word, content="a\n")]), "line's end"),
            (put("added_tokens", [dict(word, content="a")]), "found two")):
        refused("bloom", change, words)
    for change, words in (
            (put("normalizer", {"type": "Lowercase"}), "expected BertNorm"),
            (put("pre_tokenizer", {"type": "Whitespace"}), "BertPreTokenizer"),
            (put("model", "continuing_subword_prefix", "@@"),
             "model.continuing_subword_prefix: expected the prefix ##, found"),
            (put("model", "unk_token", "<unk>"),
             "model.unk_token: expected [UNK], found"),
            (put("model", "max_input_chars_per_word", 201), "from 1 to 200")):
        refused("lower", change, words)
    base.refuse("no file", "nothing/tokenizer.json: No such file",
                ["--tokenizer-model", "bloom/../nothing/tokenizer.json"])
    base.refuse("two", "takes no --vocab-file",
                ["--tokenizer-model", "bloom", "--vocab-file", "x"], 2)
    base.refuse("none", "needs --tokenizer-model",
                ["--tokenizer-type", "HuggingFaceTokenizer"], 2)


def check_old(docs):
    """Old files leave out the type of the model."""
    for name in "bloom", "lower":
        tokenizer = Tokenizer.from_file(name + "/tokenizer.json")
        data = json.loads(tokenizer.to_str())
        del data["model"]["type"]
        Path("old.json").write_text(json.dumps(data))
        base.compare(name + " old", docs, encoder(tokenizer),
                     ["--tokenizer-model", "old.json"])


def check_ends():
    """eos_token of tokenizer_config.json ends a document.  transformers write a
    number of 31 digits beside it.  A broken file is refused."""
    options = save(bloom(), "ends", eos_token="<pad>",
                   model_max_length=int(1e30))
    open("text", "w").write("text\n")
    done = base.preprocess("-i", "text", "-o", "ends", *options)
    if done.returncode or base.parse("ends_text_document")[0][0][-1] != 3:
        base.fail("eos_token", done.returncode, done.stderr)
    Path("ends/tokenizer_config.json").write_text('{"eos_token": "<pad>"')
    base.refuse("broken", "ends/tokenizer_config.json: line 1", options)


def check_training(docs):
    """mtlm-dag takes from the file what it has to know, and a checkpoint knows
    the file."""
    size = {name: len(Tokenizer.from_file(name + "/tokenizer.json").get_vocab())
            for name in ("bloom", "lower")}
    for model, name, more, vocabulary, words in (
            ("gpt-tiny", "bloom", [], size["bloom"], ""),
            ("gpt-tiny", "bloom", ["--vocab-size", "1000"], 1000, ""),
            ("bloom-560m", "bloom", [], 250880, ""),
            ("bert-tiny", "lower", [], size["lower"], ""),
            ("gpt-tiny", "bloom", ["--vocab-size", "500"], 0,
             "--vocab-size 500: the tokenizer HuggingFaceTokenizer has"),
            ("bert-tiny", "bloom", [], 0, "is not for a bert")):
        done = base.dag("--model", model, "--print-config",
                        "--tokenizer-model", name, *more)
        said = (done.stdout + done.stderr).decode()
        if (done.returncode, f"vocab-size = {vocabulary}\n" in said,
                words in said) != (0 if vocabulary else 2, vocabulary > 0, True):
            base.fail("mtlm-dag", model, name, more, done.returncode, said)
    Path("train").write_bytes(b"\f\n".join(docs))
    base.preprocess("-i", "train", "-o", "train", "--tokenizer-model", "bloom")
    done = base.dag(
        "--num-layers", "1", "--hidden-size", "48", "--num-attention-heads",
        "6", "--seq-length", "64", "--micro-batch-size", "2", "--train-iters",
        "2", "--lr", "1e-3", "--eval-iters", "0", "--data-path", "train",
        "--tokenizer-model", "bloom", "--vocab-size", "1000", "--save", "saved",
        "--position-embedding-type", "alibi", "--embed-layernorm")
    if done.returncode:
        base.fail("training", done.returncode, done.stderr.decode())
    done = base.dag("--load", "saved", "--generate", "The quick", "--seed", "3",
                    "--max-new-tokens", "9")
    if done.returncode or not done.stdout.startswith(b"The quick"):
        base.fail("generation", done.returncode, done.stdout, done.stderr)


def main():
    rng = random.Random(3)
    points = assigned(32)
    known = known_there(points)
    docs, known_docs = ([d for d in base.documents(rng, 600, some)
                         if d.decode(errors="replace").encode() == d]
                        for some in (points, known))
    for name, tokenizer, special, config in (
            ("bloom", bloom(), SPECIAL, {"eos_token": "</s>"}),
            ("gpt2", gpt2(), ["<|endoftext|>", "<|code|>", "<|code|><|end|>",
                              "<late>"], {}),
            ("lower", wordpiece(lowercase=True), BERT_SPECIAL, {}),
            ("cased", wordpiece(lowercase=False), BERT_SPECIAL, {}),
            ("accents", wordpiece(lowercase=True, strip_accents=False),
             BERT_SPECIAL, {}),
            ("plain", wordpiece(lowercase=False, strip_accents=True),
             BERT_SPECIAL, {})):
        bpe = name in ("bloom", "gpt2")
        check(name, tokenizer, docs if bpe else known_docs, special, **config)
        every_character(name, tokenizer, points if bpe else known)
    check_refusals()
    check_old(known_docs[:60])
    check_ends()
    check_training(docs)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        main()
    sys.exit(base.failures > 0)
