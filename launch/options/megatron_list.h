#ifndef MTLM_MEGATRON_LIST_H
#define MTLM_MEGATRON_LIST_H

/* Options of Megatron-LM (v1.0 to core_v0.12.0, a few newer ones) and of its
 * zero-bubble fork that are none of ours, and former options of our own.  A
 * command line written for them works here as far as it can:
 *
 * SAME(name, ours)          another spelling of one of ours
 * MEAN(name, values, ours)  stands for these words of ours; one that ends with
 *                           = or : gets the value
 * PAST(name, ours)          a former option of ours, for "option=...", which
 *                           gets the value; also in configuration files
 * IDLE(name, values, why)   changes nothing of the result here: accepted
 * LACK(name, values, hint)  ignoring it would change the result: refused
 *
 * values  NULL: takes none; ANY: one word; MANY: words up to the next option;
 *         of IDLE also "a|b": these change nothing, others are refused
 * why     goes on with "--name changes nothing here: "
 * hint    what to do instead, or NULL */
#define ANY "*"
#define MANY "**"

#define MTLM_FOREIGN_LIST(SAME, MEAN, PAST, IDLE, LACK)                        \
    /* ---- old and other spellings ---- */                                    \
    SAME("model-parallel-size", "tensor-model-parallel-size")                  \
    SAME("batch-size", "micro-batch-size")                                     \
    SAME("warmup", "lr-warmup-fraction")                                       \
    SAME("norm-epsilon", "layernorm-epsilon")                                  \
    SAME("encoder-num-layers", "num-layers")                                   \
    SAME("encoder-seq-length", "seq-length")                                   \
    MEAN("skip-train", NULL, "eval-only")                                      \
    PAST("gelu-epilogue", "epilogues=gelu:")                                   \
    PAST("gelu-gradient-epilogue", "epilogues=gelu-gradient:")                 \
    PAST("bias-gradient-epilogue", "epilogues=bias-gradient:")                 \
    /* ---- ranks, messages, overlap ---- */                                   \
    IDLE("distributed-backend", ANY, "ranks communicate by MPI")               \
    IDLE("local_rank", ANY, "mpirun numbers the ranks")                        \
    IDLE("local-rank", ANY, "mpirun numbers the ranks")                        \
    IDLE("lazy-mpu-init", ANY, "all ranks start together")                     \
    IDLE("DDP-impl", "local|torch", OVERLAPS)                                  \
    IDLE("no-contiguous-buffers-in-local-ddp", NULL, OVERLAPS)                 \
    IDLE("overlap-grad-reduce", NULL, OVERLAPS)                                \
    IDLE("overlap-param-gather", NULL, OVERLAPS)                               \
    IDLE("no-overlap-p2p-communication", NULL, OVERLAPS)                       \
    IDLE("overlap-p2p-communication-warmup-flush", NULL, OVERLAPS)             \
    IDLE("tp-comm-overlap", NULL, OVERLAPS)                                    \
    IDLE("tp-comm-overlap-cfg", ANY, OVERLAPS)                                 \
    IDLE("tp-comm-overlap-rs-dgrad", NULL, OVERLAPS)                           \
    IDLE("disable-tp-comm-overlap-ag", NULL, OVERLAPS)                         \
    IDLE("disable-tp-comm-overlap-rs", NULL, OVERLAPS)                         \
    IDLE("disable-tp-comm-bulk-dgrad", NULL, OVERLAPS)                         \
    IDLE("disable-tp-comm-bulk-wgrad", NULL, OVERLAPS)                         \
    IDLE("disable-tp-comm-split-ag", NULL, OVERLAPS)                           \
    IDLE("disable-tp-comm-split-rs", NULL, OVERLAPS)                           \
    IDLE("tp-comm-bootstrap-backend", ANY, OVERLAPS)                           \
    IDLE("no-async-tensor-model-parallel-allreduce", NULL, OVERLAPS)           \
    IDLE("delay-wgrad-compute", NULL, OVERLAPS)                                \
    IDLE("defer-embedding-wgrad-compute", NULL, OVERLAPS)                      \
    IDLE("wgrad-deferral-limit", ANY, OVERLAPS)                                \
    IDLE("no-scatter-gather-tensors-in-pipeline", NULL, OVERLAPS)              \
    IDLE("ddp-num-buckets", ANY, OVERLAPS)                                     \
    IDLE("no-align-grad-reduce", NULL, OVERLAPS)                               \
    IDLE("no-align-param-gather", NULL, OVERLAPS)                              \
    IDLE("nccl-communicator-config-path", ANY, "ranks communicate by MPI")     \
    IDLE("disable-gloo-process-groups", NULL, "ranks communicate by MPI")      \
    IDLE("pipeline-model-parallel-comm-backend", ANY,                          \
         "ranks communicate by MPI")                                           \
    IDLE("use-ring-exchange-p2p", NULL, "ranks communicate by MPI")            \
    IDLE("use-tp-pp-dp-mapping", NULL, "the option only places ranks")         \
    IDLE("context-parallel-size", "1", "the size is always 1")                 \
    IDLE("expert-model-parallel-size", "1", "the size is always 1")            \
    LACK("microbatch-group-size-per-virtual-pipeline-stage", ANY, NULL)        \
    LACK("pipeline-model-parallel-layout", ANY, STAGES)                        \
    LACK("pipeline-model-parallel-split-rank", ANY, NULL)                      \
    LACK("decoder-first-pipeline-num-layers", ANY, STAGES)                     \
    LACK("decoder-last-pipeline-num-layers", ANY, STAGES)                      \
    LACK("account-for-embedding-in-pipeline-split", NULL, STAGES)              \
    LACK("account-for-loss-in-pipeline-split", NULL, STAGES)                   \
    LACK("enable-zero-bubble", NULL,                                           \
         "give --schedule zb-h1, zb-h2, zb-v or auto")                         \
    LACK("zero-bubble-v-schedule", NULL, "give --schedule zb-v")               \
    LACK("zero-bubble-v-schedule-mem-setup", ANY, "give --act-mem")            \
    LACK("zero-bubble-max-pending-backward", ANY, "give --stage-windows")      \
    LACK("enable-optimizer-post-validation", NULL, NULL)                       \
    LACK("interleave-group-size", ANY, "give --schedule interleaved")          \
    IDLE("allow-padding-num-layers", NULL,                                     \
         "stages may have different numbers of layers")                        \
    IDLE("cpu-offload", NULL, MEMORY)                                          \
    LACK("step-batch-size-schedule", ANY, "give --rampup-batch-size")          \
    LACK("use-torch-fsdp2", NULL, NULL)                                        \
    LACK("use-custom-fsdp", NULL, NULL)                                        \
    LACK("decrease-batch-size-if-needed", NULL, NULL)                          \
    /* ---- memory ---- */                                                     \
    MEAN("checkpoint-activations", NULL, "recompute-granularity=full")         \
    MEAN("activations-checkpoint-method", ANY,                                 \
         "recompute-granularity=full recompute-method=")                       \
    MEAN("recompute-activations", NULL, "recompute-granularity=selective")     \
    SAME("checkpoint-num-layers", "recompute-num-layers")                      \
    SAME("activations-checkpoint-num-layers", "recompute-num-layers")          \
    IDLE("distribute-checkpointed-activations", NULL, MEMORY)                  \
    IDLE("recompute-modules", MANY, MEMORY)                                    \
    IDLE("distribute-saved-activations", NULL, MEMORY)                         \
    IDLE("optimizer-cpu-offload", NULL, MEMORY)                                \
    IDLE("empty-unused-memory-level", ANY, "this program has no such cache")   \
    IDLE("manual-gc", NULL, "this program has no garbage collector")           \
    IDLE("manual-gc-interval", ANY, "this program has no garbage collector")   \
    IDLE("no-manual-gc-eval", NULL, "this program has no garbage collector")   \
    /* ---- precision ---- */                                                  \
    LACK("fp8-format", ANY, "give --bf16 or --fp16")                           \
    LACK("fp8-hybrid", NULL, "give --bf16 or --fp16")                          \
    LACK("grad-reduce-in-bf16", NULL, "gradients are added up in fp32")        \
    IDLE("fp16-lm-cross-entropy", NULL,                                        \
         "logits have 16 bits, their sums fp32")                               \
    IDLE("accumulate-allreduce-grads-in-fp32", NULL, "always on")              \
    IDLE("fp32-allreduce", NULL, "always on")                                  \
    IDLE("attention-softmax-in-fp32", NULL, "always on")                       \
    LACK("fp32-residual-connection", NULL,                                     \
         "residuals have the type of the activations")                         \
    SAME("min-scale", "min-loss-scale")                                        \
    /* ---- which kernels ---- */                                              \
    IDLE("use-mcore-models", NULL, KERNELS)                                    \
    IDLE("use-legacy-models", NULL, KERNELS)                                   \
    IDLE("transformer-impl", ANY, KERNELS)                                     \
    IDLE("use-flash-attn", NULL, KERNELS)                                      \
    IDLE("no-masked-softmax-fusion", NULL, KERNELS)                            \
    IDLE("no-bias-dropout-fusion", NULL, KERNELS)                              \
    IDLE("no-bias-swiglu-fusion", NULL, KERNELS)                               \
    IDLE("no-rope-fusion", NULL, KERNELS)                                      \
    IDLE("no-gradient-accumulation-fusion", NULL, KERNELS)                     \
    IDLE("no-persist-layer-norm", NULL, KERNELS)                               \
    IDLE("cross-entropy-loss-fusion", NULL, KERNELS)                           \
    IDLE("cross-entropy-fusion-impl", ANY, KERNELS)                            \
    IDLE("onnx-safe", ANY, KERNELS)                                            \
    IDLE("enable-cuda-graph", NULL, KERNELS)                                   \
    IDLE("external-cuda-graph", NULL, KERNELS)                                 \
    /* ---- random numbers ---- */                                             \
    IDLE("use-cpu-initialization", NULL,                                       \
         "initial weights never depend on the layout")                         \
    IDLE("deterministic-mode", NULL, "always on")                              \
    IDLE("te-rng-tracker", NULL,                                               \
         "random numbers depend on --seed and the place")                      \
    LACK("data-parallel-random-init", NULL, NULL)                              \
    LACK("init-method-xavier-uniform", NULL, NULL)                             \
    LACK("no-initialization", NULL, NULL)                                      \
    /* ---- other models ---- */                                               \
    IDLE("normalization", "LayerNorm", "the norm is always layernorm")         \
    LACK("kv-channels", ANY, "a head has hidden size / attention heads")       \
    LACK("untie-embeddings-and-output-weights", NULL, NULL)                    \
    LACK("swiglu", NULL, NULL)                                                 \
    LACK("squared-relu", NULL, NULL)                                           \
    LACK("disable-bias-linear", NULL, NULL)                                    \
    LACK("add-qkv-bias", NULL, NULL)                                           \
    LACK("group-query-attention", NULL, NULL)                                  \
    LACK("num-query-groups", ANY, NULL)                                        \
    LACK("qk-layernorm", NULL, NULL)                                           \
    LACK("multi-latent-attention", NULL, NULL)                                 \
    LACK("use-rotary-position-embeddings", NULL, NULL)                         \
    LACK("rotary-base", ANY, NULL)                                             \
    LACK("rotary-percent", ANY, NULL)                                          \
    LACK("no-position-embedding", NULL, NULL)                                  \
    LACK("apply-layernorm-1p", NULL, NULL)                                     \
    LACK("num-experts", ANY, NULL)                                             \
    LACK("mtp-num-layers", ANY, NULL)                                          \
    LACK("decoder-seq-length", ANY, NULL)                                      \
    LACK("spec", MANY, NULL)                                                   \
    /* ---- optimizer ---- */                                                  \
    IDLE("optimizer", "adam", "the optimizer is always adam")                  \
    IDLE("sgd-momentum", ANY, "the optimizer is adam")                         \
    IDLE("override-opt_param-scheduler", NULL, SCHEDULE_OURS)                  \
    LACK("use-checkpoint-opt_param-scheduler", NULL, NULL)                     \
    IDLE("override-lr-scheduler", NULL, SCHEDULE_OURS)                         \
    LACK("use-checkpoint-lr-scheduler", NULL, NULL)                            \
    LACK("decoupled-lr", ANY, NULL)                                            \
    LACK("decoupled-min-lr", ANY, NULL)                                        \
    LACK("calculate-per-token-loss", NULL, NULL)                               \
    LACK("iterations-to-skip", MANY, NULL)                                     \
    /* ---- data ---- */                                                       \
    IDLE("num-workers", ANY, "nodes of the graph read the samples")            \
    IDLE("dataloader-type", "single", "the loader is always single")           \
    IDLE("data-impl", "mmap|infer", "data files are always mapped")            \
    IDLE("mmap-warmup", NULL, "the operating system reads ahead")              \
    IDLE("no-mmap-bin-files", NULL, "data files are always mapped")            \
    IDLE("data-cache-path", ANY, "no index is written")                        \
    IDLE("num-dataset-builder-threads", ANY, "no index is written")            \
    IDLE("no-data-sharding", NULL,                                             \
         "the number of a sample decides on its rank")                         \
    IDLE("no-create-attention-mask-in-dataloader", NULL, KERNELS)              \
    LACK("vocab-extra-ids", ANY, TOKENS)                                       \
    LACK("reset-attention-mask", NULL, NULL)                                   \
    LACK("reset-position-ids", NULL, NULL)                                     \
    /* ---- checkpoints ---- */                                                \
    IDLE("no-save-rng", NULL, NO_STATE)                                        \
    IDLE("use-checkpoint-args", NULL,                                          \
         "options not given always come from the checkpoint")                  \
    IDLE("ckpt-format", ANY, ONE_FORMAT)                                       \
    IDLE("dist-ckpt-format", ANY, ONE_FORMAT)                                  \
    IDLE("use-dist-ckpt", NULL, ONE_FORMAT)                                    \
    IDLE("ckpt-fully-parallel-save", NULL, ONE_FORMAT)                         \
    IDLE("async-save", NULL, "training always continues during a save")        \
    /* ---- logging and exit ---- */                                           \
    IDLE("exit-signal-handler", NULL, "a signal always ends the run")          \
    IDLE("tensorboard-log-interval", ANY, "each iteration is written")         \
    IDLE("tensorboard-queue-size", ANY, "each iteration is written at once")   \
    IDLE("log-timers-to-tensorboard", NULL, WRITTEN)                           \
    IDLE("log-batch-size-to-tensorboard", NULL, WRITTEN)                       \
    IDLE("log-memory-to-tensorboard", NULL, UNWRITTEN)                         \
    IDLE("log-world-size-to-tensorboard", NULL, UNWRITTEN)                     \
    IDLE("log-validation-ppl-to-tensorboard", NULL, WRITTEN)                   \
    IDLE("no-log-learnig-rate-to-tensorboard", NULL, WRITTEN)                  \
    IDLE("no-log-loss-scale-to-tensorboard", NULL, WRITTEN)                    \
    IDLE("wandb-project", ANY, UNWRITTEN)                                      \
    IDLE("wandb-exp-name", ANY, UNWRITTEN)                                     \
    IDLE("wandb-save-dir", ANY, UNWRITTEN)                                     \
    IDLE("logging-level", ANY, "log lines have one level")                     \
    IDLE("timing-log-level", ANY, TRACES)                                      \
    IDLE("timing-log-option", ANY, TRACES)                                     \
    IDLE("no-barrier-with-level-1-timing", NULL, TRACES)                       \
    IDLE("log-straggler", NULL, TRACES)                                        \
    IDLE("profile", NULL, TRACES)                                              \
    IDLE("profile-step-start", ANY, TRACES)                                    \
    IDLE("profile-step-end", ANY, TRACES)                                      \
    IDLE("profile-ranks", MANY, TRACES)                                        \
    IDLE("use-pytorch-profiler", NULL, TRACES)                                 \
    IDLE("rerun-mode", "disabled", "always disabled")                          \
    LACK("check-for-spiky-loss", NULL, NULL)                                   \
    LACK("check-for-large-grads", NULL, NULL)

/* Reasons that several have. */
#define OVERLAPS "the graph decides what overlaps"
#define MEMORY "same results, with more memory"
#define KERNELS "this program has kernels of its own"
#define NO_STATE "random numbers depend on --seed and the iteration"
#define ONE_FORMAT "checkpoints have one format"
#define SCHEDULE_OURS "the options set the schedule"
#define WRITTEN "--tensorboard-dir writes it"
#define UNWRITTEN "this version writes no such log"
#define TRACES "--trace DIR shows where the time goes"
#define STAGES "give --stage-layers"
#define TOKENS "give --vocab-size; the data files hold tokens"

#endif /* MTLM_MEGATRON_LIST_H */
