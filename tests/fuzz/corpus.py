"""Inputs that fuzzing begins with, a directory for each reader of fuzz.h, and
words that it puts in.

tests/fuzz/corpus.py SEEDS SRCDIR"""
import json
import os
import re
import struct
import sys


def idx(lengths, bounds, code=8, width=2, extra=b""):
    pointers = [width * sum(lengths[:i]) for i in range(len(lengths))]
    data = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, len(lengths),
                                        len(bounds))
    data += struct.pack(f"<{len(lengths)}i", *lengths)
    data += struct.pack(f"<{len(lengths)}q", *pointers)
    data += struct.pack(f"<{len(bounds)}q", *bounds)
    return bytes([width * sum(lengths)]) + data + extra


def safetensors(tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, dtype, shape, content in tensors:
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header, separators=(",", ":")).encode()
    return struct.pack("<Q", len(text)) + text + data


TENSOR = {"name": "wte", "full": [8, 4], "first": [0, 0], "shape": [4, 4],
          "elements": [0, 16], "xxh3": "0123456789abcdef"}
FILE = {"name": "rank-00000.safetensors", "bytes": 128,
        "xxh3": "fedcba9876543210", "tensors": [TENSOR]}
OTHER = {**FILE, "name": "rank-00001.safetensors",
         "tensors": [{**TENSOR, "first": [4, 0]}]}
MANIFEST = {"format": "mtlm-dag checkpoint", "version": 1, "iteration": 3,
            "consumed_samples": 24, "settings": {"num-layers": "2"},
            "state": {"steps": 3.0}, "files": [FILE, OTHER]}


def manifest(kind, value):
    """Without the end, which has the checksum."""
    text = json.dumps(value, separators=(",", ":"))
    return kind + (text if kind == b"p" else text[:-1]).encode()


GPT2 = {"model_type": "gpt2", "n_layer": 2, "n_embd": 8, "n_head": 2,
        "n_positions": 16, "n_inner": None, "vocab_size": 32,
        "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5}
BERT = {"model_type": "megatron-bert", "num_hidden_layers": 2,
        "hidden_size": 8, "num_attention_heads": 2, "intermediate_size": 32,
        "max_position_embeddings": 16, "vocab_size": 32, "hidden_act": "gelu",
        "layer_norm_eps": 1e-12, "position_embedding_type": "absolute"}
BLOOM = {"model_type": "bloom", "n_layer": 2, "n_embed": 8,
         "num_attention_heads": 2, "seq_length": 16, "vocab_size": 32,
         "apply_residual_connection_post_layernorm": False}
REFUSED = ["scale_attn_weights", "scale_attn_by_inverse_layer_idx",
           "add_cross_attention", "tie_word_embeddings", "is_decoder"]
GPT2_LAYER = [f"{part}.{kind}" for part in
              ("ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc",
               "mlp.c_proj") for kind in ("weight", "bias")]


def byte_characters():
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    return [chr(b) for b in seen] + [chr(c) for c in range(256, 324)]


def tokenizer_json(model, pre, normalizer=None, added=()):
    return json.dumps(
        {"added_tokens": [dict(content=text, id=number, special=True,
                               normalized=False, lstrip=False)
                          for text, number in added],
         "normalizer": normalizer, "pre_tokenizer": pre, "model": model},
        separators=(",", ":")).encode()


BPE = {"type": "BPE", "dropout": None, "byte_fallback": False,
       "vocab": {c: i for i, c in enumerate(byte_characters()
                                            + ["</s>", "th", "the"])},
       "merges": ["t h", ["th", "e"]]}
BYTES = {"type": "ByteLevel", "add_prefix_space": False}
BLOOM_WORDS = {"type": "Sequence", "pretokenizers": [
    {"type": "Split", "pattern": {"Regex": " ?[^(\\s|[.,!?\u2026])]+"},
     "behavior": "Isolated", "invert": False},
    dict(BYTES, use_regex=False)]}
WORDPIECE = {"type": "WordPiece", "unk_token": "[UNK]",
             "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
             "vocab": {t: i for i, t in enumerate(
                 ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "##e"])}}
BERT_NORMALIZER = {"type": "BertNormalizer", "clean_text": True,
                   "handle_chinese_chars": True, "strip_accents": None,
                   "lowercase": True}


def index(layer, rest):
    """foreign.c has the files."""
    names = {f"transformer.h.0.{name}": "a.safetensors" for name in layer}
    names.update({f"transformer.{name}": "b.safetensors" for name in rest})
    return json.dumps({"metadata": {"total_size": 1}, "weight_map": names},
                      separators=(",", ":")).encode()


def llmc(version, width=2, padded=4):
    positions, vocabulary, layers, heads = 2, 3, 1, 1
    numbers = (padded * width + positions * width + 2 * width + layers
               * (12 * width * width + 13 * width))
    header = struct.pack("<8i", 20240326, version, positions, vocabulary,
                         layers, heads, width, padded)
    size = 4 if version == 3 else 2
    return header.ljust(1024, b"\0") + bytes(range(256))[:size] * numbers


def metrics(*rows):
    return b"".join(json.dumps(row).encode() + b"\n"
                    for row in ({"program": "mtlm-dag"}, *rows))


def rows(*lines):
    return b"".join("\t".join(line.split(",")).encode() + b"\n"
                    for line in lines)


MNLI = "index,promptID,pairID,genre,p1,p2,s1,s2,sentence1,sentence2"
MNLI_ROW = "0,0,0n,f,( a ),( b ),( a ),( b ),The a. b,\u00e9 ab"
QQP = "id,qid1,qid2,question1,question2,is_duplicate"
RACE = {"answers": ["A", "D"], "options": [["a", "b", "the", "\u00e9"]] * 2,
        "questions": ["a _ b _ ?", "the ab"], "article": "a the . b\nab"}


def race(**parts):
    return json.dumps({**RACE, **parts}).encode() + b"\n"


def squad(context, *answers, **parts):
    qa = {"id": "1", "question": "the a?", "answers": [
        {"text": context[a:b], "answer_start": a} for a, b in answers], **parts}
    return json.dumps({"version": "1.1", "data": [{"title": "t", "paragraphs": [
        {"context": context, "qas": [qa]}]}]}).encode()


CORPUS = {
    "idx": [idx([3, 1, 0, 5], [0, 1, 1, 4]), idx([2], [0, 1]),
            idx([4, 4], [0, 2], 4, 4), idx([3], [0, 1], extra=b"\0"),
            idx([1, 2], [0, 1, 2], 5, 8), idx([7], [0, 1], 1, 1)],
    "safetensors": [
        safetensors([]),
        safetensors([("a", "F32", [2, 3], bytes(24))], {"format": "pt"}),
        safetensors([("a", "BF16", [], b"ab"), ("b.c", "I64", [0, 5], b""),
                     ("d", "BOOL", [1, 1, 3], b"\0\1\0")]),
        safetensors([("x", "U8", [4], b"1234"), ("y", "F64", [1], bytes(8)),
                     ("z", "F16", [2], bytes(4)), ("i", "I32", [1], bytes(4)),
                     ("j", "I16", [1], b"ab"), ("k", "I8", [1], b"a")])],
    "manifest": [manifest(b"s", MANIFEST), manifest(b"p", FILE),
                 manifest(b"s", dict(MANIFEST, version=2)),
                 manifest(b"s", dict(MANIFEST, files=[])),
                 manifest(b"r", MANIFEST)],
    "config": [b"num-layers = 12\n# a comment\nmock-data = yes\n",
               b"lr=1e-4\r\nsplit = 90,5,5\nhidden-size : 64\n",
               b"trace-iterations = 3:5\nrampup-batch-size = 4 4 100\n",
               b"slow-rank = 3:0.8\nschedule = zb-h1\nsave = a b ; c\n"],
    "vocabulary_json": ['{"a":0,"b":1,"\\u0120the":2,"é":3}'.encode(),
                        b'{"a":1,"b":0}', b'{"<|endoftext|>":0}', b"{}"],
    "vocabulary_lines": ["[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##ing\né\n"
                         .encode(), b"a\r\nb\r\n", b"a\nb\na\n"],
    "huggingface_config": [
        json.dumps(config).encode() for config in
        (GPT2, BERT, dict(GPT2, n_inner=5, scale_attn_weights=True),
         {"model_type": "gpt2"}, {"model_type": "megatron-bert"},
         BLOOM, {"model_type": "bloom", "n_head": 4, "hidden_size": 8},
         dict(BERT, is_decoder=True))],
    "huggingface_index": [
        index(["ln_1.bias"], ["wte.weight"]), index([], ["wpe.weight"]),
        index(GPT2_LAYER[:3], []), index(["no"], ["ln_f.bias"]),
        index([], []), b'{"weight_map":3}'],
    "llmc": [llmc(3), llmc(5), llmc(5, 4), llmc(3)[:-1], llmc(3)[:40]],
    "metrics": [metrics({"iteration": 1, "learning_rate": 0.5, "lm_loss": 4},
                        {"iteration": 1, "validation": {"lm_loss": 2.5}},
                        {"iteration": 1, "test": {"lm_loss": 3}}),
                metrics({"iteration": 2, "lm_loss": None}) * 2,
                metrics({"iteration": 3, "lm_loss": 1})[:-9], metrics()],
    "order": [b"0F0,0F1,0B0,0B1\n1F0,1B0,1F1,1B1\n",
              b"0.0,0F0,,0I0,0W0\n0.1,,0F1,,,0B1\n1.0,1F0,1F1,1B0,1B1\n",
              b"0F0,,3F0,3I0,3W0,0BW0\r\n1F0,2F0,2BW0,1BW0\n\n",
              b"0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0\n1RECV_F0,\"1F0\",1B0,1SEND_B0",
              b"0F0,0F1,(0F2;0B0)OVERLAP_F_B,0B1, 0I2 ,0W2\n"],
    "wikitext": [b"\3 \n = A ' title ' = \n \n 5 @.@ 1 ( one , two ) ; \" x \" \n",
                 "\0s ' 58 \N{DEGREE SIGN} N {  } [ 3 ] /' 5/ 's .".encode(),
                 b"\x0fa b"],
    "lambada": [b'\0{"text": "one two three"}\r\n\n{"text": "a b \\n"}',
                b'\1{"text": "a longer passage than others", "x": [1]}\n',
                '\1{"text": "\\u00a0a\\u3000b é\\u0000c"}'.encode()],
    "tokenizer_json": [
        tokenizer_json(BPE, BYTES, None, [("</s>", 256), ("<x>", 259)]),
        tokenizer_json(BPE, BLOOM_WORDS),
        tokenizer_json(WORDPIECE, {"type": "BertPreTokenizer"},
                       BERT_NORMALIZER, [("[MASK]", 4)])],
    "mnli": [rows(MNLI + ",label1,gold_label", MNLI_ROW + ",neutral,neutral"),
             rows(MNLI + ",1,2,3,4,5,gold_label",
                  MNLI_ROW + 5 * ",-" + ",entailment"),
             rows(MNLI, MNLI_ROW, MNLI_ROW)],
    "qqp": [rows(QQP, "0,1,2,a the?,ab.b,1", "1,3,4,b,a,0"),
            rows("id,question1,question2", "0,a b,\u00e9"),
            rows(QQP, *["0,1,2,a,b,0"] * 12)],
    "race": [race(), race() + b"\n" + race(questions=["a_", "__"]),
             race(article="a" * 300), race(questions=[], options=[], answers=[]),
             race(answers=[]), race(answers=[], id=1) + race(answers=[], id="a")],
    "squad": [squad("the ab. b", (4, 6)), squad("a b", is_impossible=True),
              squad("b \u00e9a the " * 20, (2, 4), (5, 8)),
              squad("(ab)", (1, 3), is_impossible=False),
              squad("a\u202fb\t", (2, 3)), b'{"data": []}', squad("a b"),
             squad("the a", answers=None).replace(b'"answers": null', b'"a": 1')
             .replace(b"1.1", b"v2.0")],
    "merges": [b"#version: 0.2\na b\nab c\nb c\nab ab\nabc abc\n",
               b"#version\na b\r\n", b"#version: 0.2\n"],
}


JSON = ['":', '","', "[]", "{}", "null", "true", "-1", "0", "1e9",
        "9223372036854775807", "9223372036854775808", "\\u0000"]


def options(srcdir):
    with open(os.path.join(srcdir, "launch/options/option_list.h"),
              encoding="utf-8") as file:
        return [name + " = " for name in
                re.findall(r'OPT\(\w+,[\s\\]*\w+,[\s\\]*"([^"]+)"', file.read())]


def words(srcdir):
    """What a reader looks for, and mutations would hardly ever find."""
    return {
        "idx": ["MMIDIDX"],
        "safetensors": JSON + ["__metadata__", "dtype", "shape", "BOOL",
                               "data_offsets", "F64", "F8_E4M3", "I64", "U16"],
        "manifest": JSON + list(MANIFEST) + list(FILE) + list(TENSOR)
        + ["wte", "rank-00000.safetensors", "mtlm-dag checkpoint"],
        "config": options(srcdir) + ["yes", "no", "\r\n", " ;", "1e-4", "#"],
        "tokenizer_json": JSON + list(BPE) + list(WORDPIECE)
        + list(BERT_NORMALIZER) + ["pre_tokenizer", "added_tokens", "content",
                                   "ByteLevel", "Split", "Regex", "Isolated"],
        "vocabulary_json": JSON, "merges": ["#version", "abab", "\r\n", "ab"],
        "vocabulary_lines": ["[CLS]", "[UNK]", "##", "\r\n"],
        "huggingface_config": JSON + list(GPT2) + list(BERT) + list(BLOOM) + REFUSED
        + ["gelu", "gelu_pytorch_tanh"],
        "huggingface_index": JSON + ["weight_map", "a.safetensors",
                                     "b.safetensors", "../", "transformer."]
        + GPT2_LAYER,
        "metrics": JSON + ["iteration", "lm_loss", "learning_rate", "program",
                           "mtlm-dag", "validation", "test", "\n"],
        "order": ["0F1", "0B1", "0I1", "0W1", "0BW1", "1F", "2B", "3W", "BW",
                  "OVERLAP_F_B", "SEND_F", "RECV_B", "REDUCE_GRAD", "UNSHARD", "0.1",
                  "\r\n", ",", ";", "99999999"],
        "wikitext": [" @-@ ", " @,@ ", "= = =", "/' 5/", "\u00c2\u00b0", " N ",
                     " 's", "s '", "( ", " )"],
        "lambada": JSON + ["text", "\n", "\\u2028", "\\u00a0"],
        "mnli": ["\t", "\n", "neutral", "entailment", "contradiction",
                 "sentence1", "sentence2", "gold_label"],
        "qqp": ["\t", "\n", "question1", "question2", "is_duplicate"],
        "race": JSON + list(RACE) + ["A", "_", "\n", " . ", "id"],
        "squad": JSON + ["data", "paragraphs", "context", "qas", "id",
                         "question", "answers", "text", "answer_start",
                         "is_impossible", "##a", "\n"],
        "llmc": ["\xc6\xd7\x34\x01"]}


def main():
    seeds, srcdir = sys.argv[1:]
    for name, inputs in CORPUS.items():
        folder = os.path.join(seeds, name)
        os.makedirs(folder, exist_ok=True)
        for i, data in enumerate(inputs):
            with open(os.path.join(folder, f"seed-{i}"), "wb") as file:
                file.write(data)
    for name, texts in words(srcdir).items():
        with open(os.path.join(seeds, name + ".dict"), "w",
                  encoding="ascii") as file:
            for text in dict.fromkeys(texts):
                file.write('"' + "".join(
                    c if c.isascii() and c.isalnum() or c in " _-.=#{}[]:,/<>"
                    else f"\\x{ord(c):02x}" for c in text) + '"\n')


main()
