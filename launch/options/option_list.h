#ifndef MTLM_OPTION_LIST_H
#define MTLM_OPTION_LIST_H

/* Every option, one entry each, spelled as Megatron-LM spells it.  argp,
 * --help, range errors, the keys of --config, --print-config and the manual
 * page are made from this list.
 *
 * OPT(group, NAME, "name", type, field, default, min, max, "ARG", help)
 *
 * NAME     "name" in capitals: the option is MTLM_OPT_NAME
 * type     how text becomes a value: enum mtlm_option_type
 * field    of struct mtlm_options
 * default  as the user would write it; "": none, or the value follows from
 *          others (options_resolve.c); NEEDED: a preset, the configuration
 *          file or the command line has to give the value
 * min, max of INT and REAL, both included; of an ACTION, min is its request
 * ARG      name of the value; of a CHOICE, the values separated by |, in the
 *          order of the field's enum; NULL: a flag
 * help     a fragment of a sentence; man/mtlm-dag.options says more */

/* GROUP(name, title, about): a section of --help and of the manual page. */
#define MTLM_OPTION_GROUP_LIST(GROUP)                                          \
    GROUP(MODEL, "Model",                                                      \
          "--model sets all of these options and a recipe. Without --model "   \
          "these options are needed: --num-layers, --hidden-size, "            \
          "--num-attention-heads, --seq-length; to train, also "               \
          "--micro-batch-size, --train-iters, --lr.")                          \
    GROUP(REGULARISATION, "Regularisation", "")                                \
    GROUP(TRAINING, "Batch and training",                                      \
          "An iteration adds up the gradients of global batch / micro batch "  \
          "microbatches, then takes an optimizer step.")                       \
    GROUP(OPTIMIZER, "Optimizer and learning rate",                            \
          "The optimizer is AdamW. The learning rate rises linearly, then "    \
          "decays by its style. Count in iterations (--train-iters, "          \
          "--lr-decay-iters, --lr-warmup-iters) or in samples "                \
          "(--train-samples, --lr-decay-samples, --lr-warmup-samples), not "   \
          "in both. --lr-warmup-fraction goes with either.")                   \
    GROUP(PRECISION, "Precision",                                              \
          "Without --bf16 and --fp16 everything is in fp32. With either, "     \
          "weight gradients, their sums over ranks, Adam's moments and a "     \
          "master of each weight stay in fp32.")                               \
    GROUP(PARALLEL, "Parallelism and machine",                                 \
          "Tensor x pipeline size divides the number of ranks that mpirun "    \
          "starts. The groups are data-parallel: they share the batches. A "   \
          "layout changes results by rounding at most, a pipeline by no bit.") \
    GROUP(DATA, "Data",                                                        \
          "mtlm-preprocess makes PREFIX.bin and PREFIX.idx of a text.")        \
    GROUP(CHECKPOINTS, "Checkpoints",                                          \
          "A run continues from a checkpoint under any layout and precision; " \
          "under the same ones, bit for bit.")                                 \
    GROUP(GENERATION, "Generation of text",                                    \
          "With --load DIR and --generate or --prompt-file, the job does "     \
          "not train: it continues prompts and prints the text. Each rank "    \
          "holds the whole model unless tensor or pipeline sizes are given.")  \
    GROUP(TASKS, "Tasks",                                                      \
          "With --load DIR and --task wikitext103 or lambada, the job does "   \
          "not train: it evaluates a GPT on a published data set. With "       \
          "another task, the job fine-tunes a BERT and evaluates after each "  \
          "epoch. Any layout works. "                                          \
          "mtlm-dag --task NAME --help says what is measured, and where to "   \
          "get the data.")                                                     \
    GROUP(TRACING, "Tracing", "")                                              \
    GROUP(SYNTHETIC, "Synthetic runs",                                         \
          "Graph, scheduling policy and messages are real; tasks sleep for "   \
          "modelled durations instead of computing.")                          \
    GROUP(PREDICTION, "Prediction",                                            \
          "A simulation computes an iteration of any number of ranks in one "  \
          "process, from the same graphs as a run.")                           \
    GROUP(TESTING, "Testing", "")                                              \
    GROUP(GENERAL, "Configuration and help", "")

#define MTLM_OPTION_LIST(OPT)                                                  \
    OPT(MODEL, MODEL, "model", TEXT, preset, "", 0, 0, "NAME",                 \
        "start from the values of a preset, such as gpt-tiny (see "            \
        "--list-models); every other option overrides its value")              \
    OPT(MODEL, MODEL_TYPE, "model-type", CHOICE, model.family, "gpt", 0, 0,    \
        "gpt|bert", "family of the model")                                     \
    OPT(MODEL, NUM_LAYERS, "num-layers", INT, model.num_layers, NEEDED, 1,     \
        32768, "N", "transformer layers")                                      \
    OPT(MODEL, HIDDEN_SIZE, "hidden-size", INT, model.hidden_size, NEEDED, 2,  \
        1048576, "N", "width of the model, a multiple of the attention heads") \
    OPT(MODEL, FFN_HIDDEN_SIZE, "ffn-hidden-size", INT, model.ffn_hidden_size, \
        "", 2, 4194304, "N",                                                   \
        "width inside the MLP (default: 4 x hidden size)")                     \
    OPT(MODEL, NUM_ATTENTION_HEADS, "num-attention-heads", INT,                \
        model.num_heads, NEEDED, 1, 1048576, "N",                              \
        "attention heads of a layer, a multiple of the tensor-parallel size")  \
    OPT(MODEL, SEQ_LENGTH, "seq-length", INT, model.seq_length, NEEDED, 1,     \
        1048576, "N", "tokens of a sample")                                    \
    OPT(MODEL, MAX_POSITION_EMBEDDINGS, "max-position-embeddings", INT,        \
        model.max_positions, "", 1, 1048576, "N",                              \
        "rows of the position embedding, or with ALiBi the most positions of " \
        "a text (default: seq length)")                                        \
    OPT(MODEL, POSITION_EMBEDDING_TYPE, "position-embedding-type", CHOICE,     \
        model.positions, "learned_absolute", 0, 0, "learned_absolute|alibi",   \
        "a learned vector per position, or ALiBi: attention falls with the "   \
        "distance")                                                            \
    OPT(MODEL, EMBED_LAYERNORM, "embed-layernorm", FLAG,                       \
        model.embedding_layernorm, "no", 0, 0, NULL,                           \
        "layernorm after the word embedding, as BLOOM has")                    \
    OPT(MODEL, VOCAB_SIZE, "vocab-size", INT, model.vocab_size, "257", 2,      \
        1073741824, "N",                                                       \
        "size of the vocabulary; 257 are the bytes and the end of a document " \
        "(BERT: 261, with 4 special tokens)")                                  \
    OPT(MODEL, MAKE_VOCAB_SIZE_DIVISIBLE_BY, "make-vocab-size-divisible-by",   \
        INT, model.vocab_multiple, "128", 1, 65536, "N",                       \
        "pad the vocabulary to a multiple of N x tensor-parallel size")        \
    OPT(MODEL, LAYERNORM_EPSILON, "layernorm-epsilon", REAL,                   \
        model.layernorm_epsilon, "1e-05", 1e-12, 0.1, "X",                     \
        "added to the variance in layernorm")                                  \
    OPT(MODEL, INIT_METHOD_STD, "init-method-std", REAL, model.init_std,       \
        "0.02", 0, 1, "X", "standard deviation of the initial weights")        \
    OPT(MODEL, APPLY_RESIDUAL_CONNECTION_POST_LAYERNORM,                       \
        "apply-residual-connection-post-layernorm", FLAG,                      \
        model.post_layernorm, "no", 0, 0, NULL,                                \
        "add the residual after layernorm, as the original BERT does")         \
    OPT(MODEL, BERT_NO_BINARY_HEAD, "bert-no-binary-head", FLAG,               \
        bert_no_binary_head, "no", 0, 0, NULL,                                 \
        "BERT without the head that tells whether two sentences are swapped")  \
    OPT(MODEL, APPLY_QUERY_KEY_LAYER_SCALING, "apply-query-key-layer-scaling", \
        FLAG, model.query_key_scaling, "no", 0, 0, NULL,                       \
        "scale attention scores by the number of the layer")                   \
    OPT(MODEL, NO_QUERY_KEY_LAYER_SCALING, "no-query-key-layer-scaling", FLAG, \
        no_query_key_scaling, "", 0, 0, NULL,                                  \
        "do not scale attention scores by the number of the layer, even "      \
        "where the preset or a file asks for scaling")                         \
    OPT(MODEL, NO_BIAS_GELU_FUSION, "no-bias-gelu-fusion", FLAG,               \
        model.exact_gelu, "no", 0, 0, NULL,                                    \
        "GELU by erf instead of its approximation by tanh")                    \
    OPT(MODEL, OPENAI_GELU, "openai-gelu", FLAG, model.tanh_head, "no", 0, 0,  \
        NULL, "GELU by tanh everywhere, also in BERT's output layer")          \
    OPT(REGULARISATION, ATTENTION_DROPOUT, "attention-dropout", REAL,          \
        model.attention_dropout, "0.1", 0, 1, "P",                             \
        "probability of dropping an attention weight")                         \
    OPT(REGULARISATION, HIDDEN_DROPOUT, "hidden-dropout", REAL,                \
        model.hidden_dropout, "0.1", 0, 1, "P",                                \
        "probability of dropping an activation")                               \
    OPT(REGULARISATION, WEIGHT_DECAY, "weight-decay", REAL, weight_decay,      \
        "0.01", 0, 10, "X",                                                    \
        "decoupled weight decay; biases and layernorms are exempt")            \
    OPT(REGULARISATION, START_WEIGHT_DECAY, "start-weight-decay", REAL,        \
        start_weight_decay, "", 0, 10, "X",                                    \
        "weight decay of the first iteration, when weight decay changes")      \
    OPT(REGULARISATION, END_WEIGHT_DECAY, "end-weight-decay", REAL,            \
        end_weight_decay, "", 0, 10, "X",                                      \
        "weight decay of the last iteration, when weight decay changes")       \
    OPT(REGULARISATION, WEIGHT_DECAY_INCR_STYLE, "weight-decay-incr-style",    \
        CHOICE, lr_schedule.weight_decay_style, "constant", 0, 0,              \
        "constant|linear|cosine", "course of weight decay from start to end")  \
    OPT(REGULARISATION, CLIP_GRAD, "clip-grad", REAL, clip_grad, "1", 0, 1e9,  \
        "X", "largest norm of the gradients; 0: no clipping")                  \
    OPT(TRAINING, MICRO_BATCH_SIZE, "micro-batch-size", INT, micro_batch_size, \
        NEEDED, 1, 65536, "N",                                                 \
        "samples of a microbatch, which pass through the model at once")       \
    OPT(TRAINING, GLOBAL_BATCH_SIZE, "global-batch-size", INT,                 \
        global_batch_size, "", 1, 16777216, "N",                               \
        "samples of an iteration (default: a micro batch of each "             \
        "data-parallel rank)")                                                 \
    OPT(TRAINING, RAMPUP_BATCH_SIZE, "rampup-batch-size", RAMP, ramp, "", 1,   \
        1000000000000000, "START INCREMENT SAMPLES",                           \
        "grow the global batch from START by INCREMENT during SAMPLES; needs " \
        "--train-samples")                                                     \
    OPT(TRAINING, TRAIN_ITERS, "train-iters", INT, train_iters, "", 1,         \
        1000000000, "N", "iterations to train")                                \
    OPT(TRAINING, TRAIN_SAMPLES, "train-samples", INT, train_samples, "", 1,   \
        1000000000000000, "N", "samples to train on, instead of iterations")   \
    OPT(TRAINING, EVAL_ITERS, "eval-iters", INT, eval_iters, "100", 0,         \
        1000000, "N",                                                          \
        "batches of a validation; 0: no validation (default: 100; with "       \
        "--synthetic or --simulate 0)")                                        \
    OPT(TRAINING, EVAL_INTERVAL, "eval-interval", INT, eval_interval, "1000",  \
        1, 1000000000, "N", "iterations between validations")                  \
    OPT(TRAINING, SEED, "seed", INT, seed, "1234", 0, 4294967295, "N",         \
        "seed of initial weights, dropout and sample order")                   \
    OPT(TRAINING, LOG_INTERVAL, "log-interval", INT, log_interval, "100", 1,   \
        1000000000, "N", "iterations between log lines")                       \
    OPT(TRAINING, LOG_FORMAT, "log-format", CHOICE, log_format, "short", 0, 0, \
        "short|megatron",                                                      \
        "lines of at most 120 columns, or Megatron-LM's long ones for "        \
        "programs that read those")                                            \
    OPT(TRAINING, LOG_THROUGHPUT, "log-throughput", FLAG, log_throughput,      \
        "no", 0, 0, NULL, "add the TFLOP/s of a rank to the log lines")        \
    OPT(TRAINING, LOG_PARAMS_NORM, "log-params-norm", FLAG, log_params_norm,   \
        "no", 0, 0, NULL, "add the norm of the weights to the log lines")      \
    OPT(TRAINING, LOG_NUM_ZEROS_IN_GRAD, "log-num-zeros-in-grad", FLAG,        \
        log_num_zeros, "no", 0, 0, NULL,                                       \
        "add the number of gradient elements that are 0 to the log lines")     \
    OPT(TRAINING, SUMMARY_TEXT, "summary-text", FLAG, summary_text, "no", 0,   \
        0, NULL, "explain the result in sentences at the end")                 \
    OPT(TRAINING, NO_CHECK_FOR_NAN_IN_LOSS_AND_GRAD,                           \
        "no-check-for-nan-in-loss-and-grad", FLAG, no_check_for_nan, "no", 0,  \
        0, NULL,                                                               \
        "skip the step of an iteration whose loss or gradient norm is not "    \
        "finite, and continue")                                                \
    OPT(TRAINING, EXIT_INTERVAL, "exit-interval", INT, exit_interval, "0", 0,  \
        1000000000, "N",                                                       \
        "stop after each iteration that is a multiple of N; 0: never")         \
    OPT(TRAINING, EXIT_DURATION_IN_MINS, "exit-duration-in-mins", REAL,        \
        exit_duration_mins, "0", 0, 1e6, "X",                                  \
        "after X minutes stop with the iteration under way or the next one; "  \
        "0: never")                                                            \
    OPT(OPTIMIZER, LR, "lr", REAL, lr_schedule.lr, NEEDED, 0, 1000, "X",       \
        "learning rate after the warm-up")                                     \
    OPT(OPTIMIZER, MIN_LR, "min-lr", REAL, lr_schedule.min_lr, "0", 0, 1000,   \
        "X", "learning rate at the end of the decay")                          \
    OPT(OPTIMIZER, LR_DECAY_STYLE, "lr-decay-style", CHOICE,                   \
        lr_schedule.style, "linear", 0, 0,                                     \
        "constant|linear|cosine|inverse-square-root|WSD",                      \
        "course of the learning rate after the warm-up; WSD: stable, then a "  \
        "short decay")                                                         \
    OPT(OPTIMIZER, LR_DECAY_ITERS, "lr-decay-iters", INT, lr_decay_iters, "",  \
        1, 1000000000, "N",                                                    \
        "iteration at which the decay ends (default: train iters)")            \
    OPT(OPTIMIZER, LR_DECAY_SAMPLES, "lr-decay-samples", INT,                  \
        lr_decay_samples, "", 1, 1000000000000000, "N",                        \
        "sample at which the decay ends; needs --train-samples (default: "     \
        "all)")                                                                \
    OPT(OPTIMIZER, LR_WARMUP_ITERS, "lr-warmup-iters", INT, lr_warmup_iters,   \
        "", 0, 1000000000, "N",                                                \
        "iterations of linear warm-up (default: none)")                        \
    OPT(OPTIMIZER, LR_WARMUP_SAMPLES, "lr-warmup-samples", INT,                \
        lr_warmup_samples, "", 0, 1000000000000000, "N",                       \
        "samples of linear warm-up; needs --train-samples")                    \
    OPT(OPTIMIZER, LR_WARMUP_FRACTION, "lr-warmup-fraction", REAL,             \
        lr_warmup_fraction, "", 0, 1, "X",                                     \
        "warm-up as a fraction of the decay")                                  \
    OPT(OPTIMIZER, LR_WARMUP_INIT, "lr-warmup-init", REAL,                     \
        lr_schedule.warmup_init, "0", 0, 1000, "X",                            \
        "learning rate at the start of the warm-up")                           \
    OPT(OPTIMIZER, LR_WSD_DECAY_STYLE, "lr-wsd-decay-style", CHOICE,           \
        lr_schedule.wsd_style, "exponential", 0, 0,                            \
        "exponential|linear|cosine", "course of the decay of WSD")             \
    OPT(OPTIMIZER, LR_WSD_DECAY_ITERS, "lr-wsd-decay-iters", INT,              \
        lr_wsd_decay_iters, "", 1, 1000000000, "N",                            \
        "iterations of the decay of WSD, the last ones")                       \
    OPT(OPTIMIZER, LR_WSD_DECAY_SAMPLES, "lr-wsd-decay-samples", INT,          \
        lr_wsd_decay_samples, "", 1, 1000000000000000, "N",                    \
        "samples of the decay of WSD, the last ones; needs --train-samples")   \
    OPT(OPTIMIZER, ADAM_BETA1, "adam-beta1", REAL, adam_beta1, "0.9", 0,       \
        0.999999, "X", "decay of Adam's first moment")                         \
    OPT(OPTIMIZER, ADAM_BETA2, "adam-beta2", REAL, adam_beta2, "0.999", 0,     \
        0.999999, "X", "decay of Adam's second moment")                        \
    OPT(OPTIMIZER, ADAM_EPS, "adam-eps", REAL, adam_eps, "1e-08", 1e-30, 1,    \
        "X", "added to the root of Adam's second moment")                      \
    OPT(OPTIMIZER, WEIGHT_STALENESS, "weight-staleness", INT,                  \
        weight_staleness, "0", 0, 1, "N",                                      \
        "1: compute each gradient at the weights of one step before, in two "  \
        "versions of the weights: no flush between iterations")                \
    OPT(PRECISION, BF16, "bf16", FLAG, bf16, "no", 0, 0, NULL,                 \
        "weights and activations in bfloat16")                                 \
    OPT(PRECISION, PACK_WEIGHTS, "pack-weights", CHOICE, pack_weights, "auto", \
        0, 0, "no|yes|auto",                                                   \
        "bf16 on CPUs: pack the weights of linear layers once per iteration, " \
        "not in every product.  Takes up to 4 bytes of memory per parameter; " \
        "auto: where it pays and memory has room")                             \
    OPT(PRECISION, FP16, "fp16", FLAG, fp16, "no", 0, 0, NULL,                 \
        "weights and activations in IEEE half precision, with a scaled loss")  \
    OPT(PRECISION, LOSS_SCALE, "loss-scale", REAL, loss_scale, "", 1, 1e15,    \
        "X", "fp16: static loss scale (default: dynamic)")                     \
    OPT(PRECISION, INITIAL_LOSS_SCALE, "initial-loss-scale", REAL,             \
        scale.initial, "4294967296", 1, 1e15, "X",                             \
        "fp16: initial dynamic loss scale")                                    \
    OPT(PRECISION, MIN_LOSS_SCALE, "min-loss-scale", REAL, scale.min, "1", 1,  \
        1e15, "X", "fp16: smallest dynamic loss scale")                        \
    OPT(PRECISION, LOSS_SCALE_WINDOW, "loss-scale-window", INT, scale.window,  \
        "1000", 1, 1000000000, "N",                                            \
        "fp16: iterations without an overflow before the scale doubles")       \
    OPT(PRECISION, HYSTERESIS, "hysteresis", INT, hysteresis, "2", 1, 1000000, \
        "N", "fp16: iterations with an overflow before the scale halves")      \
    OPT(PARALLEL, TENSOR_MODEL_PARALLEL_SIZE, "tensor-model-parallel-size",    \
        INT, tensor_parallel, "", 1, 4096, "T",                                \
        "ranks that share each layer (default: 1; chosen when neither T nor "  \
        "P is given)")                                                         \
    OPT(PARALLEL, PIPELINE_MODEL_PARALLEL_SIZE,                                \
        "pipeline-model-parallel-size", INT, pipeline_parallel, "", 1, 32768,  \
        "P",                                                                   \
        "pipeline ranks that a microbatch passes through (default: 1; chosen " \
        "when neither T nor P is given)")                                      \
    OPT(PARALLEL, NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK,                        \
        "num-virtual-stages-per-pipeline-rank", INT, virtual_stages, "", 1,    \
        32768, "V",                                                            \
        "virtual stages of each pipeline rank (default: 1; with --placement "  \
        "v, or --schedule interleaved or breadth-first 2)")                    \
    OPT(PARALLEL, NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE,                       \
        "num-layers-per-virtual-pipeline-stage", INT, layers_per_stage, "", 1, \
        32768, "N", "most layers of a virtual stage, instead of V")            \
    OPT(PARALLEL, PLACEMENT, "placement", CHOICE, placement, "loop", 0, 0,     \
        "loop|v|policy",                                                       \
        "which rank holds which virtual stage: round the ranks (loop), there " \
        "and back (v), or all stages on one rank (policy)")                    \
    OPT(PARALLEL, STAGE_LAYERS, "stage-layers", TEXT, stage_layers, "", 0, 0,  \
        "N,N,...",                                                             \
        "layers of each virtual stage of the model, 0 at the ends allowed "    \
        "(default: as even as possible)")                                      \
    OPT(PARALLEL, USE_DISTRIBUTED_OPTIMIZER, "use-distributed-optimizer",      \
        FLAG, distributed_optimizer, "no", 0, 0, NULL,                         \
        "share Adam's moments and steps among data-parallel ranks")            \
    OPT(PARALLEL, DDP_BUCKET_SIZE, "ddp-bucket-size", INT, ddp_bucket_size,    \
        "40000000", 1, 1000000000, "N",                                        \
        "gradient elements of a data-parallel all-reduce, rounded up to "      \
        "whole layers")                                                        \
    OPT(PARALLEL, SCHEDULE, "schedule", CHOICE, schedule, "window", 0, 0,      \
        MTLM_SCHEDULE_CHOICES,                                                 \
        "pipeline schedule: the order of forward passes F, input gradients "   \
        "B and weight gradients W" MTLM_SCHEDULE_HELP)                         \
    OPT(PARALLEL, SCHEDULE_FILE, "schedule-file", TEXT, schedule_file, "", 0,  \
        0, "FILE",                                                             \
        "run the order of F, B and W in FILE, the CSV of "                     \
        "torch.distributed.pipelining, instead of --schedule")                 \
    OPT(PARALLEL, SCHEDULE_MODE, "schedule-mode", CHOICE, schedule_mode,       \
        "strict", 0, 0, "strict|hint|windows",                                 \
        "ranks run the order of --schedule-file or of a published --schedule " \
        "as it stands (strict), prefer what stands first (hint), or take its " \
        "windows only (windows) (default: strict with FILE, and with --as "    \
        "without --ours overlap; hint for breadth-first, zb-1p, zb-2p, "       \
        "v-half, v-min and dualpipe-v; else no order)")                        \
    OPT(PARALLEL, STAGE_TIMES, "stage-times", TEXT, stage_times, "", 0, 0,     \
        "FILE.ini",                                                            \
        "times of F, B, W and messages that windows, --schedule auto and "     \
        "--dry-run count by")                                                  \
    OPT(PARALLEL, DURATIONS, "durations", TEXT, durations, "", 0, 0, "FILE",   \
        "the times of --stage-times from FILE, the schedule.csv of an "        \
        "earlier --trace")                                                     \
    OPT(PARALLEL, REPLAN_AFTER, "replan-after", INT, replan_after, "", 0,      \
        1000000, "N",                                                          \
        "measure the times of --stage-times in the first N iterations, then "  \
        "plan again; layers may move; 0: never (default: 3 for a pipeline "    \
        "of --schedule auto without times that trains 30 iterations or more, " \
        "else 0)")                                                             \
    OPT(PARALLEL, WINDOW, "window", REAL, window, "1.5", 1, 1000, "ALPHA",     \
        "microbatches in flight over the fewest that keep a stage busy: more " \
        "memory, less waiting; unless given, windows hold one more with "      \
        "tensor parallelism and on GPUs, where that fits")                     \
    OPT(PARALLEL, STAGE_WINDOWS, "stage-windows", TEXT, stage_windows, "", 0,  \
        0, "W[+Q],...",                                                        \
        "window of each virtual stage: microbatches until backward, and more " \
        "until weight gradients")                                              \
    OPT(PARALLEL, ACT_MEM, "act-mem", REAL, act_mem, "0", 0, 1e15, "BYTES",    \
        "most activation memory of a rank, which sets the window unless "      \
        "given; 0: no limit")                                                  \
    OPT(PARALLEL, ROW_PARTS, "row-parts", INT, row_parts, "0", 0, 8, "N",      \
        "parts of a sample along the sequence, which workers share; 0: by "    \
        "shape, 1 on a GPU")                                                   \
    OPT(PARALLEL, SEQUENCE_PARALLEL, "sequence-parallel", FLAG,                \
        sequence_parallel, "no", 0, 0, NULL,                                   \
        "tensor-parallel ranks share the rows of layernorms, dropout and "     \
        "residuals")                                                           \
    OPT(PARALLEL, RECOMPUTE_GRANULARITY, "recompute-granularity", CHOICE,      \
        recompute.granularity, "none", 0, 0, "none|selective|full",            \
        "discard activations and recompute them before backward: the core of " \
        "attention, or whole layers")                                          \
    OPT(PARALLEL, RECOMPUTE_METHOD, "recompute-method", CHOICE,                \
        recompute.method, "uniform", 0, 0, "uniform|block",                    \
        "full: groups of layers keep their input, or only the first layers "   \
        "of each stage are recomputed")                                        \
    OPT(PARALLEL, RECOMPUTE_NUM_LAYERS, "recompute-num-layers", INT,           \
        recompute.num_layers, "1", 1, 32768, "N",                              \
        "full: layers of a group, or recomputed layers of a stage")            \
    OPT(PARALLEL, OFFLOAD, "offload", CHOICE, offload, "auto", 0, 0,           \
        "none|optimizer|all|auto",                                             \
        "state on a disk, of a GPU in host memory: Adam's moments and 16-bit " \
        "weights' masters (optimizer), and gradients, weights and inputs of "  \
        "recomputed layers (all), or what memory cannot hold (auto); memory "  \
        "has a few slots of each kind")                                        \
    OPT(PARALLEL, OFFLOAD_MEMORY, "offload-memory", REAL, offload_memory, "0", \
        0, 1e15, "BYTES",                                                      \
        "memory of this machine's ranks that --offload auto plans with "       \
        "(default: what the machine has available)")                           \
    OPT(PARALLEL, OFFLOAD_DIR, "offload-dir", TEXT, offload_dir, "", 0, 0,     \
        "DIR",                                                                 \
        "directory for offloaded state (default: mtlm-dag/offload in the "     \
        "user's cache directory)")                                             \
    OPT(PARALLEL, OFFLOAD_HOST, "offload-host", FLAG, offload_host, "no", 0,   \
        0, NULL,                                                               \
        "offloaded state in host memory: what jobs on GPUs do, and others "    \
        "are refused")                                                         \
    OPT(PARALLEL, ATTENTION_BACKEND, "attention-backend", CHOICE,              \
        attention_backend, "auto", 0, 0, "auto|flash|fused|unfused|local",     \
        "attention on GPUs: cuDNN (fused), cuDNN where possible (auto), or "   \
        "own kernels")                                                         \
    OPT(PARALLEL, EPILOGUES, "epilogues", EPILOGUES, epilogues, "auto", 0, 0,  \
        "KIND:WAY,...",                                                        \
        "GPUs: gelu, gelu-gradient and bias-gradient (KIND) as cuBLASLt "      \
        "epilogues (on), own kernels (off), or by compute capability (auto)")  \
    OPT(PARALLEL, WORKERS, "workers", INT, workers, "0", 0, 4096, "N",         \
        "compute workers of this rank; 0: one per core")                       \
    OPT(PARALLEL, BLAS, "blas", TEXT, blas, "auto", 0, 0, "NAME",              \
        "library for products of matrices on CPUs: default, openblas, blis, "  \
        "onednn, mkl, aocl or a file; amx: our own, by AMX; auto: the "        \
        "fastest, measured once; measure: measured again")                     \
    OPT(PARALLEL, NO_GPU, "no-gpu", FLAG, no_gpu, "no", 0, 0, NULL,            \
        "train on CPUs even where there are GPUs, as STARPU_NCUDA=0 does")     \
    OPT(PARALLEL, SHARE_GPU, "share-gpu", FLAG, share_gpu, "no", 0, 0, NULL,   \
        "let several ranks drive the same GPU, each with its part of the "     \
        "memory")                                                              \
    OPT(PARALLEL, COMM_NODE, "comm-node", CHOICE, comm_node, "acquire", 0, 0,  \
        "acquire|task",                                                        \
        "messages as data that the communication thread acquires, or as "      \
        "StarPU tasks that policies see")                                      \
    OPT(PARALLEL, TRANSPORT, "transport", CHOICE, transport, "auto", 0, 0,     \
        "auto|mpi|nccl|serial",                                                \
        "library of the collectives: NCCL between GPUs, or MPI through the "   \
        "host; auto: NCCL where each rank has a GPU")                          \
    OPT(PARALLEL, COLLECTIVE_ORDER, "collective-order", CHOICE,                \
        collective_order, "leader", 0, 0, "leader|plan",                       \
        "who orders the collectives of a group: its first rank during the "    \
        "run (leader), or an evaluated plan")                                  \
    OPT(PARALLEL, DISTRIBUTED_TIMEOUT_MINUTES, "distributed-timeout-minutes",  \
        REAL, timeout_minutes, "10", 0.01, 1000000, "MINUTES",                 \
        "end the job when a rank shows no sign of life, or all ranks wait "    \
        "for each other, for this long")                                       \
    OPT(DATA, DATA_PATH, "data-path", WORDS, data_path, "", 0, 0,              \
        "[W] PREFIX...",                                                       \
        "read the tokens of PREFIX.bin and PREFIX.idx (default: mock data); "  \
        "several prefixes are blended by their weights W, or by their size")   \
    OPT(DATA, TRAIN_DATA_PATH, "train-data-path", WORDS, train_data_path, "",  \
        0, 0, "[W] PREFIX...",                                                 \
        "train on all documents of these data sets, instead of --data-path")   \
    OPT(DATA, VALID_DATA_PATH, "valid-data-path", WORDS, valid_data_path, "",  \
        0, 0, "[W] PREFIX...", "validate on all documents of these data sets") \
    OPT(DATA, TEST_DATA_PATH, "test-data-path", WORDS, test_data_path, "", 0,  \
        0, "[W] PREFIX...", "test on all documents of these data sets")        \
    OPT(DATA, DATA_ARGS_PATH, "data-args-path", TEXT, data_args_path, "", 0,   \
        0, "FILE", "read the words of --data-path from FILE")                  \
    OPT(DATA, PER_SPLIT_DATA_ARGS_PATH, "per-split-data-args-path", TEXT,      \
        per_split_data_args_path, "", 0, 0, "FILE",                            \
        "read the words for each split from the arrays \"train\", \"valid\" "  \
        "and \"test\" of a JSON object in FILE")                               \
    OPT(DATA, TOKENIZER_TYPE, "tokenizer-type", TEXT, tokenizer_type, "", 0,   \
        0, "TYPE",                                                             \
        "tokenizer of the data: byte, GPT2BPETokenizer, "                      \
        "BertWordPieceLowerCase, BertWordPieceCase or HuggingFaceTokenizer "   \
        "(default with --vocab-file: GPT2BPETokenizer for a GPT, "             \
        "BertWordPieceLowerCase for a BERT; with --tokenizer-model "           \
        "HuggingFaceTokenizer)")                                               \
    OPT(DATA, VOCAB_FILE, "vocab-file", TEXT, vocab_file, "", 0, 0, "FILE",    \
        "vocabulary of the tokenizer, GPT-2's vocab.json or BERT's "           \
        "vocab.txt; sets --vocab-size")                                        \
    OPT(DATA, MERGE_FILE, "merge-file", TEXT, merge_file, "", 0, 0, "FILE",    \
        "GPT-2's merges.txt")                                                  \
    OPT(DATA, TOKENIZER_MODEL, "tokenizer-model", TEXT, tokenizer_model, "",   \
        0, 0, "PATH",                                                          \
        "Hugging Face's tokenizer.json, or its directory; sets --vocab-size "  \
        "unless the model's vocabulary is larger")                             \
    OPT(DATA, SPLIT, "split", SPLIT, split, "969, 30, 1", 0, 0,                \
        "TRAIN,VALID,TEST",                                                    \
        "shares of the documents for training, validation and test")           \
    OPT(DATA, MASK_PROB, "mask-prob", REAL, mask_prob, "0.15", 0, 1, "P",      \
        "BERT: largest share of the tokens to predict, in whole words")        \
    OPT(DATA, SHORT_SEQ_PROB, "short-seq-prob", REAL, short_seq_prob, "0.1",   \
        0, 1, "P",                                                             \
        "BERT: probability of a sample shorter than the sequence length")      \
    OPT(DATA, EOD_MASK_LOSS, "eod-mask-loss", FLAG, eod_mask_loss, "no", 0, 0, \
        NULL, "GPT: leave out of the loss the token after an end of document") \
    OPT(DATA, MOCK_DATA, "mock-data", FLAG, mock_data, "", 0, 0, NULL,         \
        "train on made-up tokens, whatever data a file or a checkpoint names") \
    OPT(CHECKPOINTS, SAVE, "save", TEXT, save_dir, "", 0, 0, "DIR",            \
        "save weights and optimizer state in DIR at the end, and when a "      \
        "signal ends the run")                                                 \
    OPT(CHECKPOINTS, SAVE_INTERVAL, "save-interval", INT, save_interval, "0",  \
        0, 1000000000, "N", "also save after every N iterations; 0: no")       \
    OPT(CHECKPOINTS, KEEP_LAST, "keep-last", INT, keep_last, "0", 0,           \
        1000000000, "K",                                                       \
        "keep the newest K checkpoints (2 or more), remove older ones after "  \
        "a commit; 0: keep all")                                               \
    OPT(CHECKPOINTS, NO_SAVE_OPTIM, "no-save-optim", FLAG, no_save_optim,      \
        "no", 0, 0, NULL, "save the weights only")                             \
    OPT(CHECKPOINTS, LOAD, "load", TEXT, load_dir, "", 0, 0, "DIR",            \
        "continue from the newest whole checkpoint in DIR, which sets the "    \
        "options that are not given; without a checkpoint, begin if --save "   \
        "is the same DIR")                                                     \
    OPT(CHECKPOINTS, LOAD_BEST, "load-best", FLAG, load_best, "no", 0, 0,      \
        NULL,                                                                  \
        "with --eval-only or --finetune: load the checkpoint of the best "     \
        "epoch of a fine-tuning instead of the newest one")                    \
    OPT(CHECKPOINTS, NO_LOAD_OPTIM, "no-load-optim", FLAG, no_load_optim,      \
        "no", 0, 0, NULL,                                                      \
        "load neither the optimizer's state nor the clock of the learning "    \
        "rate")                                                                \
    OPT(CHECKPOINTS, NO_LOAD_RNG, "no-load-rng", FLAG, no_load_rng, "no", 0,   \
        0, NULL, "continue with the --seed of this command")                   \
    OPT(CHECKPOINTS, FINETUNE, "finetune", FLAG, finetune, "no", 0, 0, NULL,   \
        "load the weights only and begin at iteration 0, on any data")         \
    OPT(CHECKPOINTS, EVAL_ONLY, "eval-only", FLAG, eval_only, "no", 0, 0,      \
        NULL,                                                                  \
        "do not train: print loss and perplexity of the checkpoint on the "    \
        "validation and test documents")                                       \
    OPT(GENERATION, GENERATE, "generate", PROMPT, generate, "", 0, 0,          \
        "PROMPT", "continue this text")                                        \
    OPT(GENERATION, PROMPT_FILE, "prompt-file", TEXT, prompt_file, "", 0, 0,   \
        "FILE", "continue each line of FILE")                                  \
    OPT(GENERATION, MAX_NEW_TOKENS, "max-new-tokens", INT, max_new_tokens, "", \
        1, 1048576, "N",                                                       \
        "tokens to add at most (default: 100, or as many as the model has "    \
        "positions for)")                                                      \
    OPT(GENERATION, NUM_SAMPLES, "num-samples", INT, num_samples, "1", 1,      \
        1000000, "N", "texts for each prompt")                                 \
    OPT(GENERATION, TEMPERATURE, "temperature", REAL, temperature, "1", 0,     \
        1000, "X",                                                             \
        "divide logits by X before a token is drawn; 0: always the most "      \
        "likely token")                                                        \
    OPT(GENERATION, TOP_K, "top-k", INT, top_k, "0", 0, 1073741824, "K",       \
        "draw from the K most likely tokens only; 0: from all")                \
    OPT(GENERATION, TOP_P, "top-p", REAL, top_p, "1", 1e-06, 1, "P",           \
        "draw from the fewest tokens whose probabilities sum up to P")         \
    OPT(TASKS, TASK, "task", TEXT, task_name, "", 0, 0, "NAME",                \
        "evaluate on wikitext103 or lambada, or fine-tune on mnli, qqp, race " \
        "or squad")                                                            \
    OPT(TASKS, TRAIN_DATA, "train-data", WORDS, train_data, "", 0, 0,          \
        "FILE [FILE...]", "fine-tuning: the data to train on")                 \
    OPT(TASKS, VALID_DATA, "valid-data", WORDS, valid_data, "", 0, 0,          \
        "FILE [FILE...]", "the data to evaluate on")                           \
    OPT(TASKS, EPOCHS, "epochs", INT, epochs, "3", 1, 1000000, "N",            \
        "fine-tuning: epochs to train")                                        \
    OPT(TASKS, SEEDS, "seeds", TEXT, seeds, "", 0, 0, "SEED[,SEED...]",        \
        "fine-tuning: train once with each seed, in DIR/seed-SEED of --save, " \
        "and print the medians of the scores")                                 \
    OPT(TASKS, PRETRAINED_CHECKPOINT, "pretrained-checkpoint", TEXT,           \
        pretrained_dir, "", 0, 0, "DIR",                                       \
        "fine-tuning: start from the newest checkpoint of a pretraining in "   \
        "DIR, with a new head")                                                \
    OPT(TASKS, KEEP_LAST_BATCH, "keep-last-batch", FLAG, keep_last_batch,      \
        "no", 0, 0, NULL,                                                      \
        "fine-tuning: fill up the last batch of an epoch instead of dropping " \
        "it")                                                                  \
    OPT(TASKS, PREDICTIONS, "predictions", TEXT, predictions, "", 0, 0,        \
        "FILE",                                                                \
        "fine-tuning: write the model's answers to FILE, as the task's "       \
        "official scripts or servers take them")                               \
    OPT(TASKS, OVERLAPPING_EVAL, "overlapping-eval", INT, overlapping_eval,    \
        "32", 1, 1048576, "N",                                                 \
        "wikitext103: tokens from a window's begin to the next one's")         \
    OPT(TASKS, STRICT_LAMBADA, "strict-lambada", FLAG, strict_lambada, "no",   \
        0, 0, NULL,                                                            \
        "lambada: predict the whole last word, not its last token alone")      \
    OPT(TRACING, TRACE, "trace", TEXT, trace_dir, "", 0, 0, "DIR",             \
        "write pictures and tables of a few iterations to DIR, also for "      \
        "Perfetto, ViTE and StarVZ")                                           \
    OPT(TRACING, TRACE_ITERATIONS, "trace-iterations", RANGE,                  \
        trace_iterations, "", 1, 1000000000, "A:B",                            \
        "first and last iteration to trace (default: the third to fifth of "   \
        "the run)")                                                            \
    OPT(TRACING, METRICS, "metrics", TEXT, metrics, "", 0, 0, "FILE",          \
        "append JSON objects to FILE: all settings, then each iteration and "  \
        "validation")                                                          \
    OPT(TRACING, TENSORBOARD_DIR, "tensorboard-dir", TEXT, tensorboard_dir,    \
        "", 0, 0, "DIR",                                                       \
        "write the numbers of --metrics to DIR for TensorBoard")               \
    OPT(TRACING, SVG_DETAIL, "svg-detail", CHOICE, svg_detail, "box", 0, 0,    \
        "box|op",                                                              \
        "boxes of schedule.svg: a pass of a microbatch on a virtual stage "    \
        "(box), or each operation (op)")                                       \
    OPT(SYNTHETIC, SYNTHETIC, "synthetic", TEXT, cluster_file, "", 0, 0,       \
        "CLUSTER.ini",                                                         \
        "compute nothing: tasks sleep and messages wait as on the machine of " \
        "CLUSTER.ini (launch/clusters)")                                       \
    OPT(SYNTHETIC, JITTER, "jitter", JITTER, jitter, "0", 0, 0, "SIGMA[,...]", \
        "vary F, B and W of each microbatch: lognormal, SIGMA of the "         \
        "logarithm; transient=CHANCExTIMES; rank=RANK:TIMES")                  \
    OPT(SYNTHETIC, JITTER_FILE, "jitter-file", TEXT, jitter_file, "", 0, 0,    \
        "FILE.csv",                                                            \
        "multiply the times of passes by the factors of FILE.csv, as of a "    \
        "measured job (perf/stragglers)")                                      \
    OPT(SYNTHETIC, SLOW_RANK, "slow-rank", SLOW, slow_rank, "", 0, 0,          \
        "RANK:SPEED",                                                          \
        "speed of one rank as a share of the others' speed, such as 3:0.8")    \
    OPT(SYNTHETIC, STRETCH, "stretch", REAL, stretch, "1", 0.001, 1000000,     \
        "X",                                                                   \
        "multiply all durations, because a GPU's tasks are too short to "      \
        "sleep exactly")                                                       \
    OPT(PREDICTION, SIMULATE, "simulate", TEXT, simulate_file, "", 0, 0,       \
        "CLUSTER.ini",                                                         \
        "start no ranks: print time, FLOP/s, idle time and memory of an "      \
        "iteration on the machine of CLUSTER.ini, and stop")                   \
    OPT(PREDICTION, AS, "as", TEXT, as, "", 0, 0,                              \
        "2019|2019-unoverlapped|v1.0|2020-09|2021|2021-unscattered|"           \
        "2021-unfused|2022|deepspeed",                                         \
        "with --simulate: as published code of that time, with its kernels, "  \
        "its blocking messages and its fixed order")                           \
    OPT(PREDICTION, OURS, "ours", CHOICE, ours, "nothing", 0, 0,               \
        "nothing|recompute|overlap|all",                                       \
        "with --as: the published kernels, but our recomputation, our order "  \
        "with messages beside computation, or both")                           \
    OPT(PREDICTION, SIMULATE_ENGINE, "simulate-engine", CHOICE,                \
        simulate_engine, "evaluator", 0, 0, "evaluator|starpu",                \
        "with --simulate: start ready tasks by priority, or run StarPU's "     \
        "policy STARPU_SCHED in virtual time")                                 \
    OPT(PREDICTION, IGNORE_MEMORY, "ignore-memory", FLAG, ignore_memory, "no", \
        0, 0, NULL,                                                            \
        "with --simulate: also a job that needs more memory than a device "    \
        "has")                                                                 \
    OPT(PREDICTION, TRACE_MICROBATCHES, "trace-microbatches", RANGE,           \
        trace_microbatches, "", 1, 1000000000, "A:B",                          \
        "with --simulate --trace DIR: first and last microbatch to write "     \
        "(default: as many first ones as make 50000 nodes)")                   \
    OPT(PREDICTION, GRAPH_OUT, "graph-out", TEXT, graph_out, "", 0, 0, "FILE", \
        "with --simulate: write the graph for other tools: .rec, StarPU's "    \
        "tasks.rec; .et, Chakra execution traces, one of each rank")           \
    OPT(PREDICTION, FIT, "fit", TEXT, fit_file, "", 0, 0, "ROWS.csv",          \
        "with --simulate, and no other option: print the efficiency of "       \
        "CLUSTER.ini that fits measured iterations, lines SECONDS,OPTIONS")    \
    OPT(TESTING, DUMP_FIRST_STEP, "dump-first-step", TEXT, dump_dir, "", 0, 0, \
        "DIR",                                                                 \
        "write weights, batch, loss and gradients of the first iteration to "  \
        "DIR, to compare with another program")                                \
    OPT(TESTING, DUMP_SAMPLES, "dump-samples", INT, dump_samples, "0", 0,      \
        16777216, "N",                                                         \
        "also write the first N samples; 0: those of the first iteration")     \
    OPT(TESTING, DUMP_LOGITS, "dump-logits", TEXT, logits_dir, "", 0, 0,       \
        "DIR",                                                                 \
        "with --eval-only: write the logits of all validation samples to DIR " \
        "as safetensors")                                                      \
    OPT(TESTING, INJECT_NAN, "inject-nan", INT, inject_nan, "0", 0,            \
        1000000000, "ITER",                                                    \
        "make an activation NaN in iteration ITER; 0: never")                  \
    OPT(TESTING, WEIGHT_HASH, "weight-hash", FLAG, weight_hash, "no", 0, 0,    \
        NULL,                                                                  \
        "print a hash of all weights at the end: equal when every bit is")     \
    OPT(GENERAL, CONFIG, "config", TEXT, config_file, "", 0, 0, "FILE",        \
        "read options from FILE, one per line: num-layers = 12")               \
    OPT(GENERAL, DRY_RUN, "dry-run", ACTION, request, "", MTLM_REQUEST_PLAN,   \
        0, NULL,                                                               \
        "print memory, work, messages and layout of the training and stop")    \
    OPT(GENERAL, SVG, "svg", TEXT, svg, "", 0, 0, "FILE",                      \
        "with --dry-run: draw the evaluated schedule to FILE")                 \
    OPT(GENERAL, SCHEDULE_OUT, "schedule-out", TEXT, schedule_out, "", 0, 0,   \
        "FILE",                                                                \
        "with --dry-run: write the evaluated order of F, B and W to FILE, in " \
        "the CSV of torch.distributed.pipelining")                             \
    OPT(GENERAL, MODES_OUT, "modes-out", TEXT, modes_out, "", 0, 0, "FILE",    \
        "with --dry-run: write the seconds of an iteration in each mode to "   \
        "FILE, of each seed of --jitter, as CSV")                              \
    OPT(GENERAL, BOUND, "bound", CHOICE, bound, "path", 0, 0, "path|lp",       \
        "with --dry-run: a lower bound of the iteration, by the longest path " \
        "and the work, or also by memory: linear programs")                    \
    OPT(GENERAL, BOUND_OUT, "bound-out", TEXT, bound_out, "", 0, 0, "FILE",    \
        "with --bound lp: write the proof to FILE, for perf/check_bound")      \
    OPT(GENERAL, WORLD_SIZE, "world-size", INT, world_size, "", 1, 1048576,    \
        "N",                                                                   \
        "with --dry-run or --simulate: number of ranks (default: those of "    \
        "mpirun or Slurm, or tensor x pipeline size)")                         \
    OPT(GENERAL, PRINT_CONFIG, "print-config", ACTION, request, "",            \
        MTLM_REQUEST_CONFIG, 0, NULL,                                          \
        "print all values in the form of --config and stop")                   \
    OPT(GENERAL, LIST_MODELS, "list-models", ACTION, request, "",              \
        MTLM_REQUEST_MODELS, 0, NULL, "print the presets and stop")            \
    OPT(GENERAL, HELP, "help", ACTION, request, "", MTLM_REQUEST_HELP, 0,      \
        NULL, "print this list and stop")                                      \
    OPT(GENERAL, USAGE, "usage", ACTION, request, "", MTLM_REQUEST_USAGE, 0,   \
        NULL, "print a short list of the options and stop")                    \
    OPT(GENERAL, VERSION, "version", ACTION, request, "",                      \
        MTLM_REQUEST_VERSION, 0, NULL, "print the version and stop")

/* An option, in the order of the list. */
enum mtlm_option_id {
#define OPT(group, id, ...) MTLM_OPT_##id,
    MTLM_OPTION_LIST(OPT)
#undef OPT
        MTLM_OPTION_COUNT
};

#endif /* MTLM_OPTION_LIST_H */
