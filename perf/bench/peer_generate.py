"""Generation by Hugging Face's transformers; talks to perf/generate by a JSON
line each.  The argument is JSON:

{"make": DIR}      writes a GPT-2 124M with random weights
{"model": DIR, "threads": N, "prompt": [ids], "tokens": N}
                   greedy tokens with the cache of keys and values, and when
                   each was there; then how long a pass over all positions
                   takes at "recompute": [positions]"""

import json
import sys
import time

import torch
import transformers
from transformers import GPT2Config, GPT2LMHeadModel

# Weights far enough from zero that not every token is the same.
SEED, DEVIATION = 1, 0.06
# To warm up; and passes of which the median counts.
WARM_UP, PASSES = 8, 3


def say(**fields):
    print(json.dumps(fields), flush=True)


class Clock:
    """Of generate(): the prompt, then each token."""

    def __init__(self):
        self.seconds = []

    def put(self, tokens):
        self.seconds.append(time.perf_counter())

    def end(self):
        pass


def generate(model, prompt, tokens, clock):
    out = model.generate(
        prompt,
        attention_mask=torch.ones_like(prompt),
        max_new_tokens=tokens,
        min_new_tokens=tokens,
        do_sample=False,
        pad_token_id=model.config.eos_token_id,
        streamer=clock,
    )
    return out[0].tolist()


def cached(model, options):
    prompt = torch.tensor([options["prompt"]])
    generate(model, prompt, WARM_UP, Clock())
    clock = Clock()
    ids = generate(model, prompt, options["tokens"], clock)
    # The first put() is the prompt.
    say(ids=ids, seconds=clock.seconds[1:])
    return ids


def recomputed(model, ids, positions):
    """Seconds of a token that keeps nothing of the tokens before: the median
    of some passes.  The output layer takes the last position only."""
    for position in positions:
        passes = []
        for _ in range(PASSES):
            start = time.perf_counter()
            model(
                torch.tensor([ids[:position]]),
                use_cache=False,
                logits_to_keep=1,
            )
            passes.append(time.perf_counter() - start)
        say(position=position, recompute=sorted(passes)[PASSES // 2])


def main():
    options = json.loads(sys.argv[1])
    torch.set_num_threads(options.get("threads", 1))
    torch.set_flush_denormal(True)
    if "make" in options:
        torch.manual_seed(SEED)
        config = GPT2Config(initializer_range=DEVIATION)
        GPT2LMHeadModel(config).save_pretrained(options["make"])
        return
    model = GPT2LMHeadModel.from_pretrained(options["model"]).eval()
    say(
        torch=torch.__version__,
        transformers=transformers.__version__,
        weights=sum(p.numel() * p.element_size() for p in model.parameters()),
    )
    ids = cached(model, options)
    recomputed(model, ids, options.get("recompute", []))


if __name__ == "__main__":
    with torch.no_grad():
        main()
