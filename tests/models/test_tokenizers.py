"""mtlm-preprocess's tokenizers against tokenizer_oracle.py: texts of many
scripts, of random characters and of bytes that are not UTF-8; what comes back;
that the number of workers does not matter; and vocabularies that are damaged.

perf/tokenizers does the same with the vocabularies of GPT-2 and BERT on more
than 10 MB."""
import collections
import glob
import hashlib
import json
import os
import random
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/models"))
from tokenizer_oracle import Bert, Gpt2, assigned

# Multiplies the limits of time (tests/time_scale.sh).
TIME_SCALE = int(os.environ.get("TIME_SCALE", 3))
PREPROCESS = os.path.join(os.path.abspath(os.environ.get("builddir", ".")),
                          "mtlm-preprocess")
failures = 0

SCRIPTS = """
The quick brown fox doesn't jump; they're lazy dogs, I'll say. We've 42 of 3.14!
Le cœur déçu mais l'âme plutôt naïve, Louÿs rêva de crapaüter en canoë.
Zwölf Boxkämpfer jagen Viktor quer über den großen Sylter Deich. ẞ ǅ ŉ
Съешь же ещё этих мягких французских булок, да выпей чаю. Ёлка й
Ξεσκεπάζω τὴν ψυχοφθόρα βδελυγμία. ΟΔΥΣΣΕΥΣ ΣΑΣ ΑΣ' Σ ΣΊΣΥΦΟΣ, ΑΣ.Β ς
İstanbul'da IŞIK ılık süt; ǰ ΐ ﬁ ﬀ Ⅷ ½ ² ① Å ℵ
صِف خَلقَ خَودٍ كَمِثلِ الشَمسِ إِذ بَزَغَت ١٢٣
דג סקרן שט בים מאוכזב ולפתע מצא לו חברה
ऋषियों को सताने वाले दुष्ट राक्षसों के राजा रावण का सर्वनाश १२३
นายสังฆภัณฑ์ เฮงพิทักษ์ฝั่ง ผู้เฒ่าซึ่งมีอาชีพเป็นฅนขายฃวด
いろはにほへと ちりぬるを カタカナ ｶﾞ が 漢字かな交じり文。
視野無限廣,窗外有藍天。天地玄黃，宇宙洪荒 𠀀𪜀豈丽
키스의 고유조건은 입술끼리 만나야 하고 특별한 기술은 필요치 않다. 각 한
ქართული ენა, Հայերեն, ᏣᎳᎩ, ⴰⵎⴰⵣⵉⵖ, 𐐀𐐨 Ꭰꭰ
👩‍👩‍👧‍👦 🏳️‍🌈 ☃️ 🇫🇷 😀😀😀 €£¥ «»“”„‚…—–
a\u0301e\u0300\u0323 q\u0323\u0307 \u1e9b\u0323 \u1100\u1161 \u302e\u302a x\u302e\U0001d165y
\tif (x <= 0) {\u00a0return -1;\u3000}\u2028\u2029\u0085\ufeff\u200b\u00ad\u180e
'S 'T 'tis it's' 'lll 'd'd '' !'s ''re   ''s   x\v\f\x1c\x1d\x1e\x1fy
"""


def fail(*what):
    global failures
    failures += 1
    print("FAILED:", *what)


def documents(rng, n, points):
    """n documents of bytes in which no line is only a form feed."""
    lines = SCRIPTS.strip("\n").split("\n")
    words = SCRIPTS.split()
    result = []
    for i in range(n):
        kind = i % 6
        if kind == 0:
            text = "\n".join(rng.choices(lines, k=3))
        elif kind == 1:
            text = "".join(rng.choice(words) + rng.choice(
                (" ", " ", "  ", "\n", "\n\n", " \n\t", "", "'", "-", "\u3000"))
                for _ in range(40))
        elif kind == 2:
            text = "".join(chr(c) for c in rng.choices(points, k=60))
        elif kind == 3:
            text = "".join(rng.choice("aAsS\u03a3\u0301\u0327' .,\u4e00\n0")
                           for _ in range(80))
        elif kind == 4:
            text = rng.choice(("ab", "a", "\u00e9\u0323", " ", "\n", "the",
                               "\u03a3", "!", "x\u0315\u0300")) * rng.randrange(
                                   1, 300)
        data = text.encode() if kind < 5 else b""
        if kind == 5:
            data = bytearray("\n".join(rng.choices(lines, k=2)).encode())
            for _ in range(20):
                data[rng.randrange(len(data))] = rng.randrange(256)
            data = bytes(data) + bytes(rng.choices(range(256), k=50))
        result.append(data.replace(b"\f", b"\v") + b"\n")
    return result


def parse(prefix):
    """The documents of PREFIX.bin, .idx: lists of lists of tokens."""
    idx = open(prefix + ".idx", "rb").read()
    data = open(prefix + ".bin", "rb").read()
    _, code, n, d = struct.unpack_from("<QBQQ", idx, 9)
    length = struct.unpack_from("<%di" % n, idx, 34)
    pointer = struct.unpack_from("<%dq" % n, idx, 34 + 4 * n)
    bound = struct.unpack_from("<%dq" % d, idx, 34 + 12 * n)
    char = {4: "i", 8: "H"}[code]
    sequences = [struct.unpack_from("<%d%s" % (l, char), data, p)
                 for l, p in zip(length, pointer)]
    return [sequences[a:b] for a, b in zip(bound, bound[1:])]


def preprocess(*options):
    return subprocess.run([PREPROCESS, *options], capture_output=True,
                          timeout=300 * TIME_SCALE)


def tokens_of(docs, options, name):
    """The tokens of each document, None where it has none; and seconds."""
    with open(name, "wb") as f:
        f.write(b"\f\n".join(docs))
    begin = time.monotonic()
    done = preprocess("--input", name, "--output-prefix", name,
                      "--no-append-eod", *options)
    seconds = time.monotonic() - begin
    if done.returncode:
        fail(options, "exit code", done.returncode, done.stderr.decode())
        return None, seconds
    return [list(d[0]) for d in parse(name + "_text_document")], seconds


def compare(what, docs, encode, options):
    """All documents, ours and the oracle's."""
    got, seconds = tokens_of(docs, options, what)
    begin = time.monotonic()
    want = [encode(d) for d in docs]
    theirs = time.monotonic() - begin
    if got is None:
        return
    size = sum(map(len, docs))
    got = iter(got)
    differ = 0
    for doc, tokens in zip(docs, want):
        mine = next(got, None) if tokens else tokens
        if mine != tokens:
            differ += 1
            if differ <= 3:
                fail(what, doc[:300], "gives", mine, "not", tokens)
    if next(got, None) is not None:
        fail(what, "more documents than there are")
    print(f"{what}: {size} bytes, {len(docs)} documents, "
          f"{sum(map(len, want))} tokens: {differ} documents differ "
          f"({size / 1e6 / seconds:.1f} MB/s; oracle "
          f"{size / 1e6 / theirs:.2f} MB/s)")
    if not all(want) and what.startswith("gpt2"):
        fail(what, "empty documents")
    return want


def write_gpt2(vocab, merges):
    with open("vocab.json", "w") as f:
        json.dump(vocab, f)
    with open("merges.txt", "w") as f:
        f.write("#version: 0.2\n")
        f.writelines("%s %s\n" % pair for pair in merges)
    return ["--tokenizer-type", "GPT2BPETokenizer", "--vocab-file",
            "vocab.json", "--merge-file", "merges.txt"]


def write_json(vocab, merges, /, **model):
    """The same for the library tokenizers; model: other keys of its model."""
    with open("tokenizer.json", "w") as f:
        json.dump({"pre_tokenizer": {"type": "ByteLevel",
                                     "add_prefix_space": False},
                   "model": {"type": "BPE", "vocab": vocab,
                             "merges": [list(pair) for pair in merges],
                             **model}}, f)
    return ["--tokenizer-model", "tokenizer.json"]


def check_gpt2(docs, options, oracle):
    want = compare("gpt2", docs, oracle.encode, options)
    for doc, tokens in zip(docs, want or []):
        if oracle.decode(tokens) != doc:
            fail("gpt2:", doc, "comes back as", oracle.decode(tokens))


def check_workers(docs, options, name):
    """Many batches of text: the same files from 1, 2 and 7 workers, and the
    parts of a document of all the text are those of the whole."""
    big = docs * (-(-3000000 // sum(map(len, docs))))
    with open(name, "wb") as f:
        f.write(b"\f\n".join(big))
    digests = set()
    for workers in "1", "2", "7":
        done = preprocess("-i", name, "-o", name + workers, "--workers",
                          workers, *options)
        digests.add(hashlib.sha256(b"".join(
            open(f"{name}{workers}_text_document.{e}", "rb").read()
            for e in ("bin", "idx"))).hexdigest() if done.returncode == 0
            else done.stderr.decode())
    if len(digests) != 1:
        fail(name, "depends on the workers:", digests)


def check_parts(docs, options, encode):
    """A text longer than a part, which JSON gives in one piece."""
    text = b"".join(d for d in docs if not d.strip(b" \n") == b"")
    text = text.decode("utf-8", "ignore").replace("\0", "")
    text = (text * (1 + 300000 // len(text.encode()))
            + "white space \n" * 30000).encode()
    with open("whole.jsonl", "w") as f:
        json.dump({"text": text.decode()}, f)
    open("parts", "wb").write(text)
    for name in "whole.jsonl", "parts":
        done = preprocess("-i", name, "-o", name, *options)
        if done.returncode:
            fail(name, done.stderr.decode())
    if parse("whole.jsonl_text_document") != parse("parts_text_document"):
        fail("a document's parts have other tokens than the whole")


def refuse(what, words, options, code=3):
    """One sentence with these words, and no file."""
    done = preprocess("-i", "text", "-o", "refused", *options)
    said = done.stderr.decode("utf-8", "replace")
    if done.returncode != code or said.count("\n") != 1 or words not in said:
        fail(what, "exit code", done.returncode, said)
    if glob.glob("refused*"):
        fail(what, "left files behind")


def damaged_gpt2(vocab, merges):
    options = write_gpt2(vocab, merges)
    open("text", "w").write("text\n")
    good = {n: open(n, "rb").read() for n in ("vocab.json", "merges.txt")}
    lines = good["merges.txt"].split(b"\n")

    def without(token):
        return json.dumps({t: i if i < vocab[token] else i - 1
                           for t, i in vocab.items() if t != token}).encode()

    joined = "".join(merges[3])
    cases = [
        ("vocab.json", b"", "the file is empty"),
        ("vocab.json", b"[1]", "expected a JSON object"),
        ("vocab.json", b"{}", "expected a JSON object"),
        ("vocab.json", good["vocab.json"][:-1], "line 1, column"),
        ("vocab.json", good["vocab.json"][:99], "line 1, column"),
        ("vocab.json", good["vocab.json"] + b"x", "line 1, column"),
        ("vocab.json", good["merges.txt"], "line 1, column"),
        ("vocab.json", b'{"a": 0, "a": 1}', "duplicate"),
        ("vocab.json", b'{"a": 0, "b": 0}', '"a" and "b" both have number 0'),
        ("vocab.json", b'{"a": 0, "b": 2}', "a number from 0 to 1"),
        ("vocab.json", b'{"a": 0, "b": -1}', "a number from 0 to 1"),
        ("vocab.json", b'{"a": 0, "b": 1.5}', "a number from 0 to 1"),
        ("vocab.json", b'{"a": 0, "b": 99999999999999999999}', "line 1"),
        ("vocab.json", b'{"": 0}', "empty"),
        ("vocab.json", b'{"\xff": 0}', "line 1"),
        ("vocab.json", b'{"a": 0, "b": 1}', "stands for byte 0 "),
        ("vocab.json", b"[" * 100000, "line 1"),
        ("vocab.json", without("<|endoftext|>"), '"<|endoftext|>"'),
        ("vocab.json", without("A"), "stands for byte 65 "),
        ("vocab.json", without(joined), "line 5: the vocabulary has no token"),
        ("merges.txt", b"", "the file is empty"),
        ("merges.txt", b"\n".join(lines[1:]), 'line 1: expected "#version"'),
        ("merges.txt", good["merges.txt"][:-1], "ends within the line"),
        ("merges.txt", good["merges.txt"] + b"\n", "expected two tokens"),
        ("merges.txt", good["merges.txt"] + b"a\n", "expected two tokens"),
        ("merges.txt", good["merges.txt"] + b"a b c\n", "expected two tokens"),
        ("merges.txt", good["merges.txt"] + b"\xff\x00 b\n", "no token"),
        ("merges.txt", b"\n".join(lines[:3] + [lines[2]] + lines[3:]),
         "line 4: a line before it has the same pair"),
        ("merges.txt", good["vocab.json"], 'line 1: '),
    ]
    for name, data, words in cases:
        open(name, "wb").write(data)
        refuse(name + " " + repr(data[:60]), words, options)
        open(name, "wb").write(good[name])
    odd_files("vocab.json", options)
    odd_files("merges.txt", options)
    for key, value, words in (
            ("type", "Unigram", "model.type: expected BPE or Wor"),
            ("byte_fallback", True, "model.byte_fallback: expected none"),
            ("merges", {}, "model.merges: expected a list")):
        refuse("tokenizer.json " + key, words,
               write_json(vocab, merges, **{key: value}))
    # A vocabulary whose merges break off.
    names = list(vocab) + ["x%d" % i for i in range(2000)]
    open("vocab.json", "w").write(json.dumps(dict(zip(names, range(9999)))))
    refuse("merges cut", "too few for the", options)
    open("vocab.json", "wb").write(good["vocab.json"])
    # CRLF is read; and the files as links.
    open("merges.txt", "wb").write(good["merges.txt"].replace(b"\n", b"\r\n"))
    os.rename("vocab.json", "linked")
    os.symlink("linked", "vocab.json")
    if preprocess("-i", "text", "-o", "crlf", *options).returncode:
        fail("CRLF or a link is refused")
    os.remove("vocab.json")
    refuse("--vocab-file missing", "needs --vocab-file", options[:2], 2)
    refuse("--merge-file missing", "needs --merge-file", options[:4], 2)
    refuse("byte", "takes no --vocab-file", ["--vocab-file", "x"], 2)


def odd_files(name, options):
    """What is no file, or too large a one."""
    os.rename(name, "kept")
    refuse(name + " missing", name + ": No such file", options)
    os.mkdir(name)
    refuse(name + " a directory", name + ": not a regular file", options)
    os.rmdir(name)
    os.mkfifo(name)
    refuse(name + " a FIFO", name + ": not a regular file", options)
    os.remove(name)
    with open(name, "wb") as f:
        f.truncate(1 << 40)
    refuse(name + " huge", "too many for a vocabulary", options)
    os.rename("kept", name)


def write_bert(tokens, lower):
    with open("vocab.txt", "w", newline="\n") as f:
        f.writelines(t + "\n" for t in tokens)
    return ["--tokenizer-type",
            "BertWordPieceLowerCase" if lower else "BertWordPieceCase",
            "--vocab-file", "vocab.txt"]


def damaged_bert(tokens):
    options = write_bert(tokens, True)
    open("text", "w").write("text\n")
    good = open("vocab.txt", "rb").read()
    cases = [
        (b"", "the file is empty"),
        (good.replace(b"[MASK]\n", b""), 'has no token "[MASK]"'),
        (good.replace(b"[UNK]\n", b""), 'has no token "[UNK]"'),
        (good + b"\n", f"line {len(tokens) + 1}, offset {len(good)}"),
        (good.replace(b"[SEP]\n", b"[SEP]\n\n"), "line 5, offset 24"),
        (good + b"a\xffb\n", f"offset {len(good) + 1}: expected"),
        (good + b"a\0b\n", f"offset {len(good) + 1}: expected"),
        (good + b"[CLS]\n", '"[CLS]" stands in line 3 already'),
        (b'{"a": 0}\n', 'has no token "[PAD]"'),
        (bytes(range(256)), "line 1, offset 0"),
    ]
    for data, words in cases:
        open("vocab.txt", "wb").write(data)
        refuse("vocab.txt " + repr(data[:60]), words, options)
        open("vocab.txt", "wb").write(good)
    odd_files("vocab.txt", options)
    # Without the last end of line, and with other ones.
    for data in good[:-1], good.replace(b"\n", b"\r\n"):
        open("vocab.txt", "wb").write(data)
        compare("bert-ends", [b"the end"], Bert(tokens, True).encode, options)
    refuse("WordPiece", "takes no --merge-file", options + ["--merge-file", "x"],
           2)


def every_character(points):
    """Each of them between letters, marks, before a blank and a sigma."""
    return ["".join(f"a{chr(c)}b {chr(c)} \u0391{chr(c)}\u03a3!{chr(c)}!" for c in
                    points[i:i + 500]).replace("\f", "\v").encode() + b"\n"
            for i in range(0, len(points), 500)]


def quick_bert(rng, docs, sample):
    for lower in True, False:
        tokens = Bert.train(sample, 1500, lower)
        # So that no difference hides behind [UNK].
        parts = {c for d in docs for w in Bert([], lower).words(d) for c in w}
        parts |= {"##" + c for c in parts}
        tokens += sorted(parts.difference(tokens))
        oracle = Bert(tokens, lower)
        options = write_bert(tokens, lower)
        compare("bert-" + "lower" * lower, docs, oracle.encode, options)
    check_workers(docs, options, "bert-workers")
    check_parts(docs, options, oracle.encode)
    damaged_bert(tokens)
    return tokens


def across_words(vocab, merges, docs):
    """With the most frequent pairs of bytes, whatever words they are in: where
    a word ends in the wrong place, one shows it."""
    char = Gpt2({}, []).char
    count = collections.Counter()
    for d in docs:
        count.update(zip(d, d[1:]))
    vocab, merges = dict(vocab), list(merges)
    for (a, b), _ in count.most_common(3000):
        if char[a] + char[b] not in vocab:
            vocab[char[a] + char[b]] = len(vocab)
            merges.append((char[a], char[b]))
    # A contraction would look like its parts if others came first.
    for c in "stmdrvl":
        vocab.setdefault("'" + c, len(vocab))
        merges = [("'", c)] + [m for m in merges if m != ("'", c)]
    return vocab, merges


def quick():
    rng = random.Random(1)
    points = assigned()
    docs = documents(rng, 600, points)
    sample = b"".join(documents(rng, 60, points)) + SCRIPTS.encode() * 3
    vocab, merges = Gpt2.train(sample, 400)
    docs += every_character([c for c in points if not (
        0x3500 < c < 0x9f00 or 0xad00 < c < 0xd700 or 0x17000 < c < 0x18d00
        or 0x20100 < c < 0x30000) or c & 31 in (0, 31) and c > 0x20000])
    vocab, merges = across_words(vocab, merges, docs)
    oracle = Gpt2(vocab, merges)
    options = write_gpt2(vocab, merges)
    check_gpt2(docs, options, oracle)
    check_workers(docs, options, "gpt2-workers")
    check_parts(docs, options, oracle.encode)
    compare("gpt2-json", docs[:300], oracle.encode, write_json(vocab, merges))
    # In an order that no trainer gives: ranks before those of their parts.
    rng.shuffle(merges)
    check_gpt2(docs[:200], write_gpt2(vocab, merges), Gpt2(vocab, merges))
    damaged_gpt2(vocab, merges)
    tokens = quick_bert(rng, docs, sample)
    training(docs[:300], vocab, merges, tokens)


def dag(*options):
    return subprocess.run([os.path.join(os.path.dirname(PREPROCESS), "mtlm-dag"),
                           *options], capture_output=True,
                          timeout=300 * TIME_SCALE)


def training(docs, vocab, merges, tokens):
    """mtlm-dag takes from the files what it has to know."""
    gpt2, bert = write_gpt2(vocab, merges), write_bert(tokens, True)
    for model, options, size, words in (
            ("gpt-tiny", gpt2, len(vocab), ""),
            ("gpt-tiny", gpt2[2:], len(vocab), ""),
            ("bert-tiny", bert, len(tokens), ""),
            ("bert-tiny", bert[2:], len(tokens), ""),
            ("bert-tiny", gpt2, 0, "is not for a bert"),
            ("gpt-tiny", gpt2 + ["--vocab-size", "500"], 0,
             f"--vocab-size 500: the tokenizer GPT2BPETokenizer has "
             f"{len(vocab)} tokens"),
            ("gpt-tiny", gpt2[:4], 0, "needs --merge-file"),
            ("gpt-tiny", ["--tokenizer-type", "none"], 0, "no tokenizer")):
        done = dag("--model", model, "--print-config", *options)
        said = (done.stdout + done.stderr).decode()
        if (done.returncode, f"vocab-size = {size}\n" in said, words in said
                ) != (0 if size else 2, size > 0, True):
            fail("mtlm-dag", model, options, done.returncode, said)
    with open("train", "wb") as f:
        f.write(b"\f\n".join(docs * 4))
    done = preprocess("-i", "train", "-o", "gpt2", "--split-sentences", *gpt2)
    if done.returncode or b"to train" in done.stdout or (
            b"has no [CLS]" not in done.stdout):
        fail("sentences of GPT-2", done.returncode, done.stdout, done.stderr)
    preprocess("-i", "train", "-o", "train", "--split-sentences", *bert)
    done = dag("--model", "bert-tiny", "--data-path", "train_text_sentence",
               "--train-iters", "1", "--eval-iters", "0", "--num-layers", "1",
               "--hidden-size", "64", "--num-attention-heads", "2",
               "--seq-length", "64", "--global-batch-size", "4", *bert)
    if done.returncode or b"| loss " not in done.stdout:
        fail("training", done.returncode, (done.stdout + done.stderr).decode())


def main():
    with tempfile.TemporaryDirectory() as work:
        os.chdir(work)
        quick()
        os.chdir("/")
    if not failures:
        print("all as expected")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
