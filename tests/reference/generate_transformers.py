"""Greedy text of transformers, from a model of bytes that mtlm-convert exported.

Usage: generate_transformers.py MODEL PROMPTS TOKENS
           for each line of PROMPTS the line and the bytes that follow, at most
           TOKENS, as `mtlm-dag --prompt-file` prints them"""

import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM

EOD = 256


def greedy(model, prompt, tokens):
    given = torch.tensor([list(prompt) or [EOD]])
    out = model.generate(given, attention_mask=torch.ones_like(given),
                         max_new_tokens=tokens, do_sample=False)
    return bytes(t for t in out[0].tolist() if t != EOD)


def main():
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1]).eval()
    ends = model.generation_config
    assert ends.bos_token_id == ends.eos_token_id == EOD, ends
    prompts = Path(sys.argv[2]).read_bytes().splitlines()
    texts = [greedy(model, p, int(sys.argv[3])) + b"\n" for p in prompts]
    sys.stdout.buffer.write(b"---------------\n".join(texts))


with torch.no_grad():
    main()
