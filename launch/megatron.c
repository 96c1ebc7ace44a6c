#include "config.h"

#include <string.h>

#include "launch/megatron.h"

static const struct {
    const char *old, *now;
} renamed[] = {
    {"model-parallel-size", "tensor-model-parallel-size"},
    {"batch-size", "micro-batch-size"},
    {"warmup", "lr-warmup-fraction"},
    {"norm-epsilon", "layernorm-epsilon"},
    {"DDP-impl", "overlap-grad-reduce"},
    {"checkpoint-activations", "recompute-granularity"},
    {"checkpoint-num-layers", "recompute-num-layers"},
    {"activations-checkpoint-method", "recompute-method"},
    {"activations-checkpoint-num-layers", "recompute-num-layers"},
    {"distribute-checkpointed-activations", "distribute-saved-activations"},
    {"override-lr-scheduler", "override-opt_param-scheduler"},
    {"use-checkpoint-lr-scheduler", "use-checkpoint-opt_param-scheduler"},
    {"min-scale", "min-loss-scale"},
    {"fp32-allreduce", "accumulate-allreduce-grads-in-fp32"},
};

static const char *const others[] = {
    "accumulate-allreduce-grads-in-fp32",
    "async-save",
    "bf16",
    "ckpt-format",
    "context-parallel-size",
    "dataloader-type",
    "decoder-first-pipeline-num-layers",
    "decoder-last-pipeline-num-layers",
    "defer-embedding-wgrad-compute",
    "delay-wgrad-compute",
    "deterministic-mode",
    "distribute-saved-activations",
    "distributed-backend",
    "distributed-timeout-minutes",
    "enable-zero-bubble",
    "exit-interval",
    "exit-signal-handler",
    "finetune",
    "fp16",
    "fp16-lm-cross-entropy",
    "hysteresis",
    "initial-loss-scale",
    "kv-channels",
    "load",
    "log-num-zeros-in-grad",
    "log-params-norm",
    "log-straggler",
    "log-timers-to-tensorboard",
    "loss-scale",
    "loss-scale-window",
    "lr-decay-samples",
    "lr-warmup-samples",
    "mask-prob",
    "merge-file",
    "microbatch-group-size-per-virtual-pipeline-stage",
    "min-loss-scale",
    "no-check-for-nan-in-loss-and-grad",
    "no-load-optim",
    "no-load-rng",
    "no-overlap-p2p-communication",
    "no-save-optim",
    "no-save-rng",
    "no-scatter-gather-tensors-in-pipeline",
    "num-layers-per-virtual-pipeline-stage",
    "num-virtual-stages-per-pipeline-rank",
    "num-workers",
    "optimizer",
    "overlap-grad-reduce",
    "overlap-param-gather",
    "override-opt_param-scheduler",
    "pipeline-model-parallel-layout",
    "rampup-batch-size",
    "recompute-granularity",
    "recompute-method",
    "recompute-modules",
    "recompute-num-layers",
    "rerun-mode",
    "reset-attention-mask",
    "reset-position-ids",
    "save",
    "save-interval",
    "sequence-parallel",
    "short-seq-prob",
    "tensorboard-dir",
    "timing-log-level",
    "timing-log-option",
    "tokenizer-type",
    "tp-comm-overlap",
    "train-samples",
    "untie-embeddings-and-output-weights",
    "use-checkpoint-args",
    "use-checkpoint-opt_param-scheduler",
    "use-cpu-initialization",
    "use-distributed-optimizer",
    "use-tp-pp-dp-mapping",
    "vocab-file",
    "zero-bubble-v-schedule",
};

const char *mtlm_megatron_renamed(const char *name)
{
    for (size_t i = 0; i < sizeof(renamed) / sizeof(renamed[0]); i++)
        if (strcmp(renamed[i].old, name) == 0)
            return renamed[i].now;
    return NULL;
}

bool mtlm_megatron_has(const char *name)
{
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (strcmp(others[i], name) == 0)
            return true;
    return false;
}
