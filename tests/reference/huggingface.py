"""Hugging Face's GPT-2 and MegatronBert with random weights, written and run
independently of ours, after modeling_gpt2.py and modeling_megatron_bert.py of
huggingface/transformers; and llm.c's model file, after its train_gpt2.py.

Usage: huggingface.py write DIR
           gpt, shards, gpt16, bert, bertshards, masked in DIR, gpt.bin and
           gpt16.bin
       huggingface.py compare [WEIGHTS=LOGITS | WEIGHTS~LOGITS |
                               WEIGHTS==WEIGHTS]...
           = every logit that `mtlm-dag --dump-logits LOGITS` wrote is, within
             1e-5 of the greatest one, that of the weights on the same samples,
             by PyTorch in float64
           ~ within 2e-2, which bf16 is good for and a wrong model is not
           == the same tensors, bit for bit, and configuration; the second one
             may lack masks and copies
"""

import json
import math
import re
import sys
from pathlib import Path

import numpy as np

BOUND, BOUND_BF16 = 1e-5, 2e-2
GPT = {
    "model_type": "gpt2", "n_layer": 2, "n_embd": 64, "n_head": 4,
    "n_inner": None, "n_positions": 64, "vocab_size": 300,
    "activation_function": "gelu_new", "layer_norm_epsilon": 1e-5,
}
BERT = {
    "model_type": "megatron-bert", "num_hidden_layers": 2, "hidden_size": 64,
    "num_attention_heads": 4, "intermediate_size": 96,
    "max_position_embeddings": 64, "vocab_size": 300, "type_vocab_size": 2,
    "hidden_act": "gelu", "layer_norm_eps": 1e-12,
}
UNTOLD = ".attn.bias", ".attn.masked_bias", "position_ids", "lm_head.weight", \
    "decoder.weight", "decoder.bias"


# ---- files ----


def bf16(values):
    """Values that have 16 bit, as bytes of bfloat16."""
    return (values.view(np.uint32) >> 16).astype("<u2")


def write_file(path, tensors, types={}):
    header, data, at = {"__metadata__": {"format": "pt"}}, [], 0
    for name, array in tensors.items():
        kind = types.get(name, {"f4": "F32", "f2": "F16", "i8": "I64",
                                "u1": "U8"}[array.dtype.str[1:]])
        if kind == "BF16":
            raw = bf16(array).tobytes()
        elif kind == "F16":
            raw = array.astype("<f2").tobytes()
        else:
            raw = np.ascontiguousarray(array).tobytes()
        header[name] = {"dtype": kind, "shape": list(array.shape),
                        "data_offsets": [at, at + len(raw)]}
        at += len(raw)
        data.append(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data))


def read_file(path):
    data = path.read_bytes()
    n = int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:8 + n]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = data[8 + n + begin:8 + n + end]
        if entry["dtype"] == "BF16":
            array = np.frombuffer(raw, "<u2").astype("<u4") << 16
            array = array.view("<f4")
        else:
            array = np.frombuffer(raw, {"F32": "<f4", "F16": "<f2",
                                        "I64": "<i8", "U8": "u1"}[
                                            entry["dtype"]])
        tensors[name] = array.reshape(entry["shape"])
    return tensors


def read(directory):
    tensors = {}
    for path in sorted(directory.glob("*.safetensors")):
        tensors.update(read_file(path))
    if "wte.weight" in tensors:
        tensors = {"transformer." + n: t for n, t in tensors.items()}
    return json.loads((directory / "config.json").read_text()), tensors


# ---- random weights ----


def draw(random, shapes):
    tensors = {}
    for name, shape in shapes.items():
        values = random.standard_normal(shape).astype("<f4") * np.float32(0.1)
        norm = any(part in name for part in ("ln", "LayerNorm"))
        tensors[name] = values + np.float32(norm and name.endswith("weight"))
    return tensors


def gpt_shapes():
    h, v, s = (GPT[k] for k in ("n_embd", "vocab_size", "n_positions"))
    shapes = {"wte.weight": (v, h), "wpe.weight": (s, h)}
    for i in range(GPT["n_layer"]):
        for name, shape in {
            "ln_1": (h,), "attn.c_attn": (h, 3 * h), "attn.c_proj": (h, h),
            "ln_2": (h,), "mlp.c_fc": (h, 4 * h), "mlp.c_proj": (4 * h, h),
        }.items():
            shapes[f"h.{i}.{name}.weight"] = shape
            shapes[f"h.{i}.{name}.bias"] = shape[-1:]
    return {**shapes, "ln_f.weight": (h,), "ln_f.bias": (h,)}


def bert_shapes():
    h, v, f, s = (BERT[k] for k in ("hidden_size", "vocab_size",
                                    "intermediate_size",
                                    "max_position_embeddings"))
    linear = {"bert.pooler.dense": (h, h), "bert.encoder.ln": (h,),
              "cls.predictions.transform.dense": (h, h),
              "cls.predictions.transform.LayerNorm": (h,),
              "cls.seq_relationship": (2, h)}
    for i in range(BERT["num_hidden_layers"]):
        at = f"bert.encoder.layer.{i}."
        for name in "query", "key", "value":
            linear[at + "attention.self." + name] = (h, h)
        linear.update({at + "attention.ln": (h,), at + "ln": (h,),
                       at + "attention.output.dense": (h, h),
                       at + "intermediate.dense": (f, h),
                       at + "output.dense": (h, f)})
    at = "bert.embeddings."
    shapes = {at + "word_embeddings.weight": (v, h),
              at + "position_embeddings.weight": (s, h),
              at + "token_type_embeddings.weight": (2, h),
              "cls.predictions.bias": (v,)}
    for name, shape in linear.items():
        shapes[name + ".weight"], shapes[name + ".bias"] = shape, shape[:1]
    return shapes


def write_llmc(path, tensors, short=False, padded=384):
    layers, h = GPT["n_layer"], GPT["n_embd"]
    header = np.zeros(256, "<i4")
    header[:8] = (20240326, 5 if short else 3, GPT["n_positions"], GPT["vocab_size"], layers,
                  GPT["n_head"], h, padded)
    pad = np.zeros((padded - GPT["vocab_size"], h), "<f4")
    parts = [tensors["wte.weight"], pad, tensors["wpe.weight"]]
    for name in "ln_1", "attn.c_attn", "attn.c_proj", "ln_2", "mlp.c_fc", \
            "mlp.c_proj":
        for kind in "weight", "bias":
            parts += [tensors[f"h.{i}.{name}.{kind}"].T for i in range(layers)]
    parts += [tensors["ln_f.weight"], tensors["ln_f.bias"]]
    parts = [np.ascontiguousarray(p) for p in parts]
    path.write_bytes(header.tobytes() + b"".join(
        (bf16(p) if short else p).tobytes() for p in parts))


def write_dir(directory, config, tensors, types={}):
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    write_file(directory / "model.safetensors", tensors, types)


def write_shards(directory, config, tensors, count):
    """As transformers cut what is too large for one file, but finely."""
    names = sorted(tensors)
    where = {n: f"model-{i % count + 1:05}-of-{count:05}.safetensors"
             for i, n in enumerate(names)}
    directory.mkdir()
    (directory / "config.json").write_text(json.dumps(config))
    for file in set(where.values()):
        write_file(directory / file,
                   {n: tensors[n] for n in names if where[n] == file})
    size = sum(t.nbytes for t in tensors.values())
    (directory / "model.safetensors.index.json").write_text(json.dumps(
        {"metadata": {"total_parameters": size // 4, "total_size": size},
         "weight_map": where}))


def masks(prefix, kind):
    """The buffers that files of older transformers hold; those of Megatron's
    converter are of half precision."""
    n = GPT["n_positions"]
    square = np.tril(np.ones((1, 1, n, n), kind))
    value = np.array(-1e4, "<f2" if kind == "<f2" else "<f4")
    return {f"{prefix}h.{i}.attn.{name}": buffer
            for i in range(GPT["n_layer"])
            for name, buffer in (("bias", square), ("masked_bias", value))}


def write_gpts(top, gpt):
    """gpt is what Megatron's converter writes, shards what the hub's gpt2 has:
    neither prefix nor output layer."""
    named = {"transformer." + n: t for n, t in gpt.items()}
    named.update(masks("transformer.", "<f2"))
    named["lm_head.weight"] = gpt["wte.weight"]
    write_dir(top / "gpt", {**GPT, "activation_function": "gelu_fast"}, named)
    write_shards(top / "shards", GPT, {**gpt, **masks("", "<f4")}, 2)
    write_llmc(top / "gpt.bin", gpt)
    short = {n: (t.view("<u4") & 0xFFFF0000).view("<f4")
             for n, t in gpt.items()}
    write_dir(top / "gpt16", {**GPT, "activation_function": "gelu"}, short,
              {n: "F16" if "ln_" in n and n.endswith("weight") else "BF16"
               for n in gpt})
    write_llmc(top / "gpt16.bin", short, True)


def write_berts(top, bert):
    """bert as for pre-training, with what is tied written out; bertshards as
    transformers save it now; masked as for masked language models only."""
    word = bert["bert.embeddings.word_embeddings.weight"]
    write_dir(top / "bert", BERT, {
        **bert, "bert.embeddings.position_ids": np.arange(64)[None],
        "cls.predictions.decoder.weight": word,
        "cls.predictions.decoder.bias": bert["cls.predictions.bias"]})
    write_shards(top / "bertshards", BERT, bert, 3)
    write_dir(top / "masked", {**BERT, "hidden_act": "gelu_new"},
              {n: t for n, t in bert.items()
               if "pooler" not in n and "seq_rel" not in n})


def write(top):
    random = np.random.default_rng(7)
    write_gpts(top, draw(random, gpt_shapes()))
    write_berts(top, draw(random, bert_shapes()))


# ---- the models ----


def normed(x, w, name, eps):
    from torch.nn import functional as F
    return F.layer_norm(x, x.shape[-1:], w[name + ".weight"],
                        w[name + ".bias"], eps)


def gelu(x, kind):
    from torch.nn import functional as F
    tanh = "gelu_new", "gelu_fast"
    return F.gelu(x, approximate="tanh" if kind in tanh else "none")


def attend(q, k, v, heads, hidden):
    """q, k, v [b, s, h]; hidden: scores that do not count."""
    b, s, h = q.shape
    q, k, v = (x.view(b, s, heads, h // heads).transpose(1, 2)
               for x in (q, k, v))
    scores = q @ k.transpose(2, 3) / math.sqrt(h // heads)
    scores = scores.masked_fill(hidden, -math.inf)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, s, h)


def gpt_logits(config, w, batch):
    import torch
    w = {n[len("transformer."):]: t for n, t in w.items()}
    eps, heads = config["layer_norm_epsilon"], config["n_head"]
    s = batch["tokens"].shape[1]
    later = torch.ones(s, s, dtype=torch.bool).triu(1)
    x = w["wte.weight"][batch["tokens"]] + w["wpe.weight"][:s]
    for i in range(config["n_layer"]):
        def conv1d(y, name):
            at = f"h.{i}.{name}."
            return y @ w[at + "weight"] + w[at + "bias"]
        y = normed(x, w, f"h.{i}.ln_1", eps)
        q, k, v = conv1d(y, "attn.c_attn").split(x.shape[-1], dim=2)
        x = x + conv1d(attend(q, k, v, heads, later), "attn.c_proj")
        y = normed(x, w, f"h.{i}.ln_2", eps)
        y = gelu(conv1d(y, "mlp.c_fc"), config["activation_function"])
        x = x + conv1d(y, "mlp.c_proj")
    return normed(x, w, "ln_f", eps) @ w["wte.weight"].t(), None


def bert_logits(config, w, batch):
    import torch
    eps, heads = config["layer_norm_eps"], config["num_attention_heads"]
    act, tokens = config["hidden_act"], batch["tokens"]
    s = tokens.shape[1]

    def linear(x, name):
        return x @ w[name + ".weight"].t() + w[name + ".bias"]

    padding = torch.arange(s)[None] >= batch["length"].reshape(-1, 1)
    at = "bert.embeddings."
    word = w[at + "word_embeddings.weight"]
    x = word[tokens] + w[at + "position_embeddings.weight"][:s] \
        + w[at + "token_type_embeddings.weight"][batch["types"]]
    for i in range(config["num_hidden_layers"]):
        at = f"bert.encoder.layer.{i}."
        y = normed(x, w, at + "attention.ln", eps)
        q, k, v = (linear(y, at + "attention.self." + n)
                   for n in ("query", "key", "value"))
        y = attend(q, k, v, heads, padding[:, None, None])
        x = x + linear(y, at + "attention.output.dense")
        y = normed(x, w, at + "ln", eps)
        y = gelu(linear(y, at + "intermediate.dense"), act)
        x = x + linear(y, at + "output.dense")
    x = normed(x, w, "bert.encoder.ln", eps)
    at = "cls.predictions."
    y = gelu(linear(x, at + "transform.dense"), act)
    y = normed(y, w, at + "transform.LayerNorm", eps)
    if "cls.seq_relationship.weight" not in w:
        return y @ word.t() + w[at + "bias"], None
    pooled = torch.tanh(linear(x[:, 0], "bert.pooler.dense"))
    return y @ word.t() + w[at + "bias"], linear(pooled, "cls.seq_relationship")


def forward(directory, batch):
    """Logits of the tokens and of the binary head, or None."""
    import torch
    config, tensors = read(directory)
    w = {n: torch.from_numpy(t.astype(np.float64))
         for n, t in tensors.items() if t.dtype.kind == "f"}
    batch = {n: torch.from_numpy(v.astype(np.int64)) for n, v in batch.items()}
    gpt = config["model_type"] == "gpt2"
    logits, answers = (gpt_logits if gpt else bert_logits)(config, w, batch)
    return logits.numpy(), None if answers is None else answers.numpy()


# ---- comparisons ----


def read_logits(directory):
    """What the ranks wrote, as one: each sample, each token of the
    vocabulary."""
    from dump_files import read_safetensors
    ranks = [read_safetensors(p)
             for p in sorted(directory.glob("rank-*.safetensors"))]
    n = 1 + max(tensors["sample"].max() for tensors, _ in ranks)
    whole = {}
    for tensors, first in ranks:
        at = tensors["sample"]
        for name, array in tensors.items():
            begin = first[name][0] if name in first else 0
            shape = (n, *array.shape[1:])
            if name == "logits":
                shape = (n, array.shape[1], GPT["vocab_size"])
            to = whole.setdefault(name, np.full(shape, np.nan))
            if array.ndim == 1:
                to[at] = array
            else:
                to[at, ..., begin:begin + array.shape[-1]] = array
    missing = [name for name, array in whole.items() if np.isnan(array).any()]
    if missing:
        sys.exit(f"{directory}: {missing} has holes")
    return whole


def off(found, want):
    return np.abs(found - want).max() / np.abs(want).max()


def compare_logits(weights, directory, bound):
    found = read_logits(Path(directory))
    logits, answers = forward(Path(weights), found)
    s = logits.shape[1]
    # What is behind a sample's end is nobody's business.
    inside = np.arange(s)[None] < found["length"].reshape(-1, 1)
    errors = [off(found["logits"][inside], logits[inside])]
    if answers is not None:
        errors.append(off(found["order_logits"], answers))
    good = (answers is None) == ("order_logits" not in found) \
        and all(e <= bound for e in errors)
    print(f"{weights}: {len(logits)} samples, logits up to "
          f"{np.abs(logits).max():.3g}, off by " +
          ", ".join(f"{e:.1e}" for e in errors) + " of the greatest")
    return good


def compare_weights(a, b):
    (told, first), (told_b, second) = read(Path(a)), read(Path(b))
    first = {n: t for n, t in first.items() if not n.endswith(UNTOLD)}
    if "n_inner" in told:
        told["n_inner"] = told["n_inner"] or 4 * told["n_embd"]
        told["activation_function"] = told["activation_function"].replace(
            "gelu_fast", "gelu_new")  # another order of the same operations
    good = first.keys() == second.keys() and all(
        t.dtype.str == second[n].dtype.str and t.shape == second[n].shape
        and t.tobytes() == second[n].tobytes() for n, t in first.items()
    ) and all(told[k] == told_b[k] for k in told)
    print(f"{a}, {b}: {len(first)} tensors, {'same' if good else 'others'}")
    return good


def main(write, compare_same, compare_logits):
    if sys.argv[1] == "write":
        write(Path(sys.argv[2]))
        return
    failures = 0
    for pair in sys.argv[2:]:
        a, sign, b = re.split("(==?|~)", pair)
        if sign == "==":
            failures += not compare_same(a, b)
        else:
            failures += not compare_logits(
                a, b, BOUND if sign == "=" else BOUND_BF16)
    sys.exit(failures > 0)


if __name__ == "__main__":
    main(write, compare_weights, compare_logits)
