"""Models of Hugging Face's transformers, made, saved and run by transformers
themselves.

Usage: transformers_models.py write DIR
           random weights in DIR: bloom, bloompost (the residual behind
           layernorm), bloomshards (several files), bloom16 (bf16) and
           bloombase (without the head and its prefix); gpt2, gpt2shards and
           gpt2of16; bert, bertshards and bertof16
       transformers_models.py compare [MODEL=LOGITS | MODEL~LOGITS |
                                       MODEL==MODEL]...
           = every logit that `mtlm-dag --dump-logits LOGITS` wrote is, within
             1e-5 of the greatest one, that of the model on the same samples in
             float64
           ~ within 2e-2, which bf16 is good for and a wrong model is not
           == both load as the same class with the same logits, bit for bit"""

from pathlib import Path

import numpy as np
import torch
import transformers
from huggingface import main, off, read_logits

VOCAB, POSITIONS = 300, 64
# Six heads: ALiBi's slopes of no power of two.
BLOOM = {"hidden_size": 48, "n_layer": 3, "n_head": 6, "vocab_size": VOCAB}
GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4, "n_positions": POSITIONS,
        "vocab_size": VOCAB}
BERT = {"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 96, "max_position_embeddings": POSITIONS,
        "vocab_size": VOCAB}


def randomized(model):
    """Far from the initial weights: no gain is 1, no bias is 0."""
    for parameter in model.parameters():
        parameter.data += 0.1 * torch.randn_like(parameter)
    return model.eval()


def save(model, path, **how):
    model.save_pretrained(path, **how)


def write_blooms(top):
    config = transformers.BloomConfig(**BLOOM)
    bloom = randomized(transformers.BloomForCausalLM(config))
    save(bloom, top / "bloom")
    save(bloom, top / "bloomshards", max_shard_size="100KB")
    save(bloom.transformer, top / "bloombase")
    save(bloom.to(torch.bfloat16), top / "bloom16")
    config = transformers.BloomConfig(
        **BLOOM, apply_residual_connection_post_layernorm=True)
    save(randomized(transformers.BloomForCausalLM(config)), top / "bloompost")


def write_others(top, name, model):
    save(model, top / name)
    save(model, top / (name + "shards"), max_shard_size="100KB")
    save(model.to(torch.bfloat16), top / (name + "of16"))


def write(top):
    torch.manual_seed(7)
    write_blooms(top)
    write_others(top, "gpt2", randomized(transformers.GPT2LMHeadModel(
        transformers.GPT2Config(**GPT2))))
    write_others(top, "bert", randomized(
        transformers.MegatronBertForPreTraining(
            transformers.MegatronBertConfig(**BERT))))
    for shards in top.glob("*shards"):
        assert len(list(shards.glob("*.safetensors"))) > 1, shards


def load(path):
    config = transformers.AutoConfig.from_pretrained(path)
    kind = {"bloom": transformers.BloomForCausalLM,
            "gpt2": transformers.GPT2LMHeadModel,
            "megatron-bert": transformers.MegatronBertForPreTraining}[
                config.model_type]
    model, loaded = kind.from_pretrained(path, output_loading_info=True)
    assert not loaded["missing_keys"] and not loaded["mismatched_keys"], loaded
    return model.double().eval()


def forward(model, batch):
    """Logits of the tokens and of the binary head, or None."""
    tokens, types, length = (
        torch.from_numpy(batch[name].astype(np.int64)) if name in batch else
        None for name in ("tokens", "types", "length"))
    if model.config.model_type != "megatron-bert":
        return model(tokens).logits.numpy(), None
    inside = torch.arange(tokens.shape[1])[None] < length.reshape(-1, 1)
    out = model(tokens, attention_mask=inside.long(), token_type_ids=types)
    return out.prediction_logits.numpy(), out.seq_relationship_logits.numpy()


def compare_logits(path, directory, bound):
    found = read_logits(Path(directory))
    logits, answers = forward(load(path), found)
    inside = np.arange(logits.shape[1])[None] < found["length"].reshape(-1, 1)
    errors = [off(found["logits"][inside], logits[inside])]
    if answers is not None:
        errors.append(off(found["order_logits"], answers))
    print(f"{path}: {len(logits)} samples, logits up to "
          f"{np.abs(logits).max():.3g}, off by " +
          ", ".join(f"{e:.1e}" for e in errors) + " of the greatest")
    return max(errors) <= bound


def compare_models(a, b):
    batch = {"tokens": np.random.default_rng(1).integers(VOCAB, size=(3, 50)),
             "types": np.arange(150).reshape(3, 50) % 2,
             "length": np.array([50, 31, 17])}
    pairs = list(zip(forward(load(a), batch), forward(load(b), batch)))
    same = all(np.array_equal(x, y) for x, y in pairs if x is not None)
    print(f"{a}, {b}: {'the same' if same else 'other'} logits")
    return same


transformers.logging.set_verbosity_error()
with torch.no_grad():
    main(write, compare_models, compare_logits)
