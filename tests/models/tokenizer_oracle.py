"""GPT-2's and BERT's tokenizers, written from their published algorithms
(openai/gpt-2 src/encoder.py; google-research/bert tokenization.py) for being
right and not for being fast, with Python's own Unicode tables and regular
expressions; and trainers of small vocabularies."""
import collections
import re
import sys
import unicodedata

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def assigned(lowest=0):
    """The code points that Unicode has given to something: all tables of
    later versions say the same of them."""
    return [c for c in range(lowest, sys.maxunicode + 1)
            if unicodedata.category(chr(c)) not in ("Cn", "Cs", "Co")]


def char_class(kinds):
    points = [c for c in range(sys.maxunicode + 1)
              if unicodedata.category(chr(c))[0] in kinds]
    ranges, first = [], None
    for c in points + [None]:
        if first is not None and c != last + 1:
            ranges.append("\\U%08x-\\U%08x" % (first, last))
            first = None
        if first is None:
            first = c
        last = c
    return "".join(ranges)


class Gpt2:
    def __init__(self, vocab, merges):
        self.vocab = vocab
        self.rank = {pair: i for i, pair in enumerate(merges)}
        seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
        rest = [b for b in range(256) if b not in seen]
        self.char = {b: chr(b) for b in seen}
        self.char.update({b: chr(256 + i) for i, b in enumerate(rest)})
        self.byte = {c: b for b, c in self.char.items()}
        self.text = {i: t for t, i in vocab.items()}
        self.known = {}
        white = ("\\t-\\r \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029"
                 "\\u202f\\u205f\\u3000")
        l, n = char_class("L"), char_class("N")
        self.pattern = re.compile(
            f"'s|'t|'re|'ve|'m|'ll|'d| ?[{l}]+| ?[{n}]+| ?[^{white}{l}{n}]+"
            f"|[{white}]+(?![^{white}])|[{white}]+")

    def words(self, data):
        """Bytes that are not UTF-8 become characters that are nothing."""
        text = data.decode("utf-8", "surrogateescape")
        return [w.encode("utf-8", "surrogateescape")
                for w in self.pattern.findall(text)]

    def word(self, word):
        parts = [self.char[b] for b in word]
        while len(parts) > 1:
            pair = min(zip(parts, parts[1:]),
                       key=lambda p: self.rank.get(p, len(self.rank)))
            if pair not in self.rank:
                break
            joined, i = [], 0
            while i < len(parts):
                if tuple(parts[i:i + 2]) == pair:
                    joined.append(parts[i] + parts[i + 1])
                    i += 2
                else:
                    joined.append(parts[i])
                    i += 1
            parts = joined
        return [self.vocab[p] for p in parts]

    def encode(self, data):
        tokens = []
        for word in self.words(data):
            if word not in self.known:
                self.known[word] = self.word(word)
            tokens += self.known[word]
        return tokens

    def decode(self, tokens):
        return bytes(self.byte[c] for t in tokens for c in self.text[t])

    @staticmethod
    def train(data, n):
        """A vocabulary with the n most frequent pairs of data, one by one."""
        self = Gpt2({}, [])
        count = collections.Counter(
            tuple(self.char[b] for b in w) for w in self.words(data))
        merges = []
        vocab = {self.char[b]: b for b in range(256)}
        for _ in range(n):
            pairs = collections.Counter()
            for word, k in count.items():
                for pair in zip(word, word[1:]):
                    pairs[pair] += k
            if not pairs:
                break
            (a, b), _ = max(pairs.items(), key=lambda p: (p[1], p[0]))
            merges.append((a, b))
            vocab.setdefault(a + b, len(vocab))
            new = collections.Counter()
            for word, k in count.items():
                out, i = [], 0
                while i < len(word):
                    both = word[i:i + 2] == (a, b)
                    out.append(a + b if both else word[i])
                    i += 1 + both
                new[tuple(out)] += k
            count = new
        vocab["<|endoftext|>"] = len(vocab)
        return vocab, merges


class Bert:
    LONGEST = 200

    def __init__(self, tokens, lower):
        self.vocab = {t: i for i, t in enumerate(tokens)}
        self.lower = lower

    @staticmethod
    def is_cjk(c):
        return any(a <= c <= b for a, b in (
            (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF),
            (0x2A700, 0x2B73F), (0x2B740, 0x2B81F), (0x2B820, 0x2CEAF),
            (0xF900, 0xFAFF), (0x2F800, 0x2FA1F)))

    @staticmethod
    def is_punctuation(c):
        return (33 <= ord(c) <= 47 or 58 <= ord(c) <= 64
                or 91 <= ord(c) <= 96 or 123 <= ord(c) <= 126
                or unicodedata.category(c).startswith("P"))

    def words(self, data):
        clean = []
        for c in data.decode("utf-8", "ignore"):
            kind = unicodedata.category(c)
            if c in "\t\n\r" or kind == "Zs":
                clean.append(" ")
            elif c in "\0\ufffd" or kind in ("Cc", "Cf"):
                continue
            elif self.is_cjk(ord(c)):
                clean += [" ", c, " "]
            else:
                clean.append(c)
        for word in "".join(clean).split():
            if self.lower:
                word = "".join(
                    c for c in unicodedata.normalize("NFD", word.lower())
                    if unicodedata.category(c) != "Mn")
            piece = ""
            for c in word:
                if self.is_punctuation(c):
                    if piece:
                        yield from piece.split()
                    yield c
                    piece = ""
                else:
                    piece += c
            yield from piece.split()

    def word(self, word):
        if len(word) > self.LONGEST:
            return [self.vocab["[UNK]"]]
        tokens, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in self.vocab:
                    break
            else:
                return [self.vocab["[UNK]"]]
            tokens.append(self.vocab[piece])
            begin = end
        return tokens

    def encode(self, data):
        return [t for w in self.words(data) for t in self.word(w)]

    @staticmethod
    def train(data, n, lower):
        """The special tokens, then the n most frequent beginnings and other
        parts of words."""
        parts = collections.Counter()
        for word in Bert([], lower).words(data):
            for begin in range(min(len(word), 6)):
                for end in range(begin + 1, min(begin + 5, len(word)) + 1):
                    parts[("##" if begin else "") + word[begin:end]] += 1
        best = sorted(parts, key=lambda p: (-parts[p], p))
        return SPECIAL + [p for p in best if p not in SPECIAL][:n]
