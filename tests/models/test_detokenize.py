"""The text of WikiText-103 against wikitext_oracle.py: a page as the data set
has them, and texts of pieces that the rules look for."""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.environ.get("srcdir", "."), "tests/models"))
import wikitext_oracle

PROGRAM = os.path.join(os.environ.get("builddir", "."),
                       "tests/models/detokenize")
PAGE = """ \n = Rökstenen = \n \n The stone ( c . 800 AD ) weighs 5 @.@ 1 t and \
is 2 @,@ 500 mm high ; its runes ' read " guess that " . \n \n = = Text = = \n \
\n = = = Later = = = \n = = = = Notes = = = = \n At 58 \N{DEGREE SIGN} 17 ' N \
the monks ' well @-@ known book [ 3 ] said : " Is it { he } ? " Yes ! \n It 's \
the farmers 'land /' 5/ and /' x/ . \n """
# Pieces of rules, whole and cut, with white space of several kinds.
PIECES = ["s", "'", '"', "(", ")", "[", "]", "{", "}", " ", " ", " ", "\n",
          "\t", "\u00a0", "\u3000", "\x1c", "\u2028", "= =", "=", "@-@", "@,@",
          "@.@", " @", ".", ",", ":", ";", "!", "?", "N", "\N{DEGREE SIGN}",
          "/' 5/", "/' ", "5/", "word", "é", "\N{GRINNING FACE}", "0", "\0"]


def texts():
    rng = random.Random(7)
    yield PAGE
    yield ""
    for begin in PIECES:
        for end in PIECES:
            yield begin + end
    for _ in range(20000):
        yield "".join(rng.choices(PIECES, k=rng.randrange(1, 40)))
    yield "".join(rng.choices(PIECES, k=200000))


def main():
    given = list(texts())
    raw = [text.encode() for text in given]
    out = subprocess.run(
        [PROGRAM], input=b"".join(struct.pack("<I", len(r)) + r for r in raw),
        stdout=subprocess.PIPE, check=True).stdout
    at = changed = 0
    for text in given:
        words, size = struct.unpack_from("<II", out, at)
        got = out[at + 8:at + 8 + size].decode()
        at += 8 + size
        want = wikitext_oracle.clean(text)
        changed += want != text
        if got != want or words != wikitext_oracle.words(text):
            print(f"FAILED: {text!r} became {got!r}, {words} words; wanted "
                  f"{want!r}, {wikitext_oracle.words(text)} words")
            return 1
    assert at == len(out) and changed > len(given) / 2
    print(f"{len(given)} texts, {changed} changed, all as expected")
    return 0


sys.exit(main())
