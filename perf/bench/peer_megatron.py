"""A GPT and its iteration by megatron-core: its layers of plain PyTorch, its
1F1B, its tensor parallelism and its DistributedDataParallel."""

import contextlib
import functools
import re

import torch
from torch.nn import functional as F

from megatron.core import parallel_state
from megatron.core.distributed import (
    DistributedDataParallel,
    DistributedDataParallelConfig,
    finalize_model_grads,
)
from megatron.core.models.gpt.gpt_layer_specs import get_gpt_layer_local_spec
from megatron.core.models.gpt.gpt_model import GPTModel
from megatron.core.pipeline_parallel.schedules import get_forward_backward_func
from megatron.core.tensor_parallel.random import CudaRNGStatesTracker
from megatron.core.transformer.transformer_config import TransformerConfig

from bench import loops, peer_tensor

# Its name of a part of a parameter's name, and mtlm-dag's.
NAMES = (
    ("embedding.", ""),
    ("decoder.", ""),
    ("output_layer", "word_embeddings"),
    ("linear_qkv", "query_key_value"),
    ("linear_proj", "dense"),
    ("pre_mlp_layernorm", "post_attention_layernorm"),
    ("linear_fc1", "dense_h_to_4h"),
    ("linear_fc2", "dense_4h_to_h"),
)


def on_cpu(make):
    """Makes a tensor on the CPU that was to be on a GPU."""

    @functools.wraps(make)
    def made(*words, device=None, **more):
        return make(*words, device="cpu" if device == "cuda" else device, **more)

    return made


def use_cpu():
    """All that megatron-core takes for granted of GPUs on the way here."""
    # Where its buffers, messages and gradients are.
    torch.cuda.current_device = lambda: "cpu"
    # A schedule's number of tokens, which is not used here.
    torch.zeros = on_cpu(torch.zeros)
    # The word embeddings of the last stage, which are shared at the start.
    torch.Tensor.cuda = lambda tensor: tensor
    # A GPU's random numbers, for dropout, which is off.
    CudaRNGStatesTracker.fork = lambda _: contextlib.nullcontext()


def configuration(sizes, layout, fused):
    stages = layout["stages"]
    uneven = {}
    if len(set(stages)) > 1:
        uneven = {
            "num_layers_in_first_pipeline_stage": stages[0],
            "num_layers_in_last_pipeline_stage": stages[-1],
        }
    return TransformerConfig(
        num_layers=sizes.layers,
        hidden_size=sizes.hidden,
        num_attention_heads=sizes.heads,
        tensor_model_parallel_size=layout["tensor"],
        pipeline_model_parallel_size=len(stages),
        pipeline_dtype=torch.float32,
        hidden_dropout=0.0,
        attention_dropout=0.0,
        # The fused one is GeLU by tanh, too.
        activation_func=F.gelu
        if fused
        else functools.partial(F.gelu, approximate="tanh"),
        bias_activation_fusion=fused,
        bias_dropout_fusion=fused,
        # The fused cross-entropy rounds gradients to bf16; the fused softmax
        # takes no fp32.
        cross_entropy_loss_fusion=False,
        masked_softmax_fusion=False,
        use_cpu_initialization=True,
        perform_initialization=False,
        deallocate_pipeline_outputs=True,
        batch_p2p_sync=False,
        **uneven,
    )


def model_of(sizes, layout, rank, fused):
    """(model, the model with its buckets of gradients)"""
    stages = layout["stages"]
    parallel_state.initialize_model_parallel(
        layout["tensor"], len(stages), create_gloo_process_groups=False
    )
    config = configuration(sizes, layout, fused)
    stage = rank if len(stages) > 1 else 0
    model = GPTModel(
        config,
        get_gpt_layer_local_spec(),
        sizes.vocab,
        sizes.positions,
        pre_process=stage == 0,
        post_process=stage + 1 == len(stages),
        share_embeddings_and_output_weights=True,
    )
    overlap = layout["replicas"] > 1
    wrapped = DistributedDataParallel(
        config, DistributedDataParallelConfig(overlap_grad_reduce=overlap), model
    )
    config.finalize_model_grads_func = finalize_model_grads
    config.no_sync_func = wrapped.no_sync if overlap else None
    return model, wrapped


def mean(losses):
    loss = losses.mean()
    # The schedule divides the first one in place.
    return loss, loss.detach().clone()


def forward_step(batches, model):
    batch = next(batches)
    tokens = batch["tokens"]
    s = tokens.shape[1]
    future = torch.ones(1, 1, s, s, dtype=torch.bool).triu(1)
    positions = torch.arange(s).expand_as(tokens)
    return model(tokens, positions, future, labels=batch["labels"]), mean


def iterate(model, wrapped, batches):
    """As loops.Loop.iterate()."""
    wrapped.zero_grad_buffer()
    micro, s = batches[0]["tokens"].shape
    losses = get_forward_backward_func()(
        forward_step_func=forward_step,
        data_iterator=iter(batches),
        model=wrapped,
        num_microbatches=len(batches),
        seq_length=s,
        micro_batch_size=micro,
        forward_only=False,
    )
    for parameter in model.parameters():
        parameter.grad = parameter.main_grad
    return sum(losses, torch.zeros(())) / len(batches)


def name_of(name, first):
    """mtlm-dag's; first: number of the stage's first layer."""
    for theirs, ours in NAMES:
        name = name.replace(theirs, ours)
    return re.sub(
        r"layers\.(\d+)", lambda m: f"layers.{first + int(m[1])}", name
    )


def make(sizes, layout, rank, setting):
    """A loops.Loop."""
    use_cpu()
    model, wrapped = model_of(sizes, layout, rank, setting["compiled"])
    ranks = layout["tensor"]
    stages = layout["stages"]
    first = sum(stages[:rank]) if len(stages) > 1 else 0

    def part(name, weights):
        name = name_of(name, first)
        return peer_tensor.part(name, weights[name], rank % ranks, ranks)

    return loops.Loop(
        model, lambda batches: iterate(model, wrapped, batches), part
    )
