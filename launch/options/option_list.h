#ifndef MTLM_OPTION_LIST_H
#define MTLM_OPTION_LIST_H

/* Every option, one entry each, spelled as Megatron-LM spells it:
 *
 * OPT(group, NAME, "name", type, field, default, min, max, "ARG", help)
 *
 * type     how text becomes a value: see enum mtlm_option_type
 * field    of struct mtlm_options
 * default  as the user would write it; "": not given, the field's default
 *          follows (options_resolve.c) or nothing; NEEDED: has to come
 *          from a preset, the configuration file or the command line
 * min, max of INT and REAL, both included; of an ACTION, min is its request
 * ARG      in --help and the manual page; of a CHOICE, the values separated
 *          by |, in the order of the field's enum; NULL: takes none
 *
 * argp, --help, range errors, the keys of --config, --print-config and the
 * check of the manual page come from here. */
/* GROUP(name, title, what there is to know about its options) */
#define MTLM_OPTION_GROUP_LIST(GROUP)                                          \
    GROUP(MODEL, "Model",                                                      \
          "--model gives all of it, and a recipe. Without it these are "       \
          "needed: --num-layers, --hidden-size, --num-attention-heads, "       \
          "--seq-length, --micro-batch-size, --train-iters, --lr.")            \
    GROUP(REGULARISATION, "Regularisation", "")                                \
    GROUP(TRAINING, "Batch and training",                                      \
          "An iteration adds up the gradients of global batch / micro batch "  \
          "microbatches, then takes a step of the optimizer.")                 \
    GROUP(OPTIMIZER, "Optimizer and learning rate",                            \
          "AdamW. The learning rate warms up in a line, then decays by its "   \
          "style. Count in iterations (--train-iters, --lr-decay-iters, "      \
          "--lr-warmup-iters) or in samples (--train-samples, "                \
          "--lr-decay-samples, --lr-warmup-samples), not in both; "            \
          "--lr-warmup-fraction goes with either.")                            \
    GROUP(PRECISION, "Precision",                                              \
          "Without --bf16 and --fp16 all is in single precision, fp32. With "  \
          "either, gradients of weights, their sums over ranks, Adam's "       \
          "moments and a master of each weight stay in fp32.")                 \
    GROUP(PARALLEL, "Parallelism and machine",                                 \
          "Tensor x pipeline size divides the number of ranks that mpirun "    \
          "starts; so many groups of them share the batches "                  \
          "(data-parallel). None of it changes what is computed.")             \
    GROUP(DATA, "Data",                                                        \
          "mtlm-preprocess makes PREFIX.bin and PREFIX.idx of a text.")        \
    GROUP(CHECKPOINTS, "Checkpoints",                                          \
          "What all ranks keep goes on under any layout and precision; under " \
          "the same ones to the bit.")                                         \
    GROUP(TRACING, "Tracing", "")                                              \
    GROUP(SYNTHETIC, "Synthetic runs",                                         \
          "The real graph, scheduling policy and messages, with tasks that "   \
          "sleep for modelled durations instead of computing.")                \
    GROUP(TESTING, "Testing", "")                                              \
    GROUP(GENERAL, "Configuration and help", "")

#define MTLM_OPTION_LIST(OPT)                                                  \
    OPT(MODEL, MODEL, "model", TEXT, preset, "", 0, 0, "NAME",                 \
        "start from the values of a preset, such as gpt-tiny (see "            \
        "--list-models); every other option overrides it")                     \
    OPT(MODEL, MODEL_TYPE, "model-type", CHOICE, model.family, "gpt", 0, 0,    \
        "gpt|bert", "which family of models")                                  \
    OPT(MODEL, NUM_LAYERS, "num-layers", INT, model.num_layers, NEEDED, 1,     \
        32768, "N", "transformer layers")                                      \
    OPT(MODEL, HIDDEN_SIZE, "hidden-size", INT, model.hidden_size, NEEDED, 1,  \
        1048576, "N", "width of the model, a multiple of the attention heads") \
    OPT(MODEL, FFN_HIDDEN_SIZE, "ffn-hidden-size", INT, model.ffn_hidden_size, \
        "", 1, 4194304, "N",                                                   \
        "width inside the MLP (default: 4 x hidden size)")                     \
    OPT(MODEL, NUM_ATTENTION_HEADS, "num-attention-heads", INT,                \
        model.num_heads, NEEDED, 1, 1048576, "N",                              \
        "attention heads of a layer")                                          \
    OPT(MODEL, SEQ_LENGTH, "seq-length", INT, model.seq_length, NEEDED, 1,     \
        1048576, "N", "tokens of a sample")                                    \
    OPT(MODEL, MAX_POSITION_EMBEDDINGS, "max-position-embeddings", INT,        \
        model.max_positions, "", 1, 1048576, "N",                              \
        "rows of the position embedding (default: seq length)")                \
    OPT(MODEL, VOCAB_SIZE, "vocab-size", INT, model.vocab_size, "257", 2,      \
        1073741824, "N",                                                       \
        "different tokens; 257 are the bytes and the end of a document "       \
        "(BERT: 261, with 4 of its own)")                                      \
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
        "BERT without telling whether two sentences are swapped")              \
    OPT(MODEL, APPLY_QUERY_KEY_LAYER_SCALING, "apply-query-key-layer-scaling", \
        FLAG, model.query_key_scaling, "no", 0, 0, NULL,                       \
        "scale attention scores by the number of the layer")                   \
    OPT(MODEL, NO_QUERY_KEY_LAYER_SCALING, "no-query-key-layer-scaling", FLAG, \
        no_query_key_scaling, "", 0, 0, NULL,                                  \
        "do not, even where the preset or a file does")                        \
    OPT(MODEL, NO_BIAS_GELU_FUSION, "no-bias-gelu-fusion", FLAG,               \
        model.exact_gelu, "no", 0, 0, NULL,                                    \
        "GELU by erf instead of its approximation by tanh")                    \
    OPT(MODEL, OPENAI_GELU, "openai-gelu", FLAG, model.tanh_head, "no", 0, 0,  \
        NULL, "GELU by tanh everywhere, in BERT's output layer, too")          \
    OPT(REGULARISATION, ATTENTION_DROPOUT, "attention-dropout", REAL,          \
        model.attention_dropout, "0.1", 0, 1, "P",                             \
        "probability of dropping an attention weight")                         \
    OPT(REGULARISATION, HIDDEN_DROPOUT, "hidden-dropout", REAL,                \
        model.hidden_dropout, "0.1", 0, 1, "P",                                \
        "probability of dropping an activation")                               \
    OPT(REGULARISATION, WEIGHT_DECAY, "weight-decay", REAL, weight_decay,      \
        "0.01", 0, 10, "X",                                                    \
        "decoupled weight decay; not of biases and layernorms")                \
    OPT(REGULARISATION, START_WEIGHT_DECAY, "start-weight-decay", REAL,        \
        start_weight_decay, "", 0, 10, "X",                                    \
        "weight decay of the first iteration, when it changes")                \
    OPT(REGULARISATION, END_WEIGHT_DECAY, "end-weight-decay", REAL,            \
        end_weight_decay, "", 0, 10, "X",                                      \
        "weight decay at the end, when it changes")                            \
    OPT(REGULARISATION, WEIGHT_DECAY_INCR_STYLE, "weight-decay-incr-style",    \
        CHOICE, schedule.weight_decay_style, "constant", 0, 0,                 \
        "constant|linear|cosine",                                              \
        "how weight decay goes from its start to its end")                     \
    OPT(REGULARISATION, CLIP_GRAD, "clip-grad", REAL, clip_grad, "1", 0, 1e9,  \
        "X", "largest norm of the gradients; 0 for no clipping")               \
    OPT(TRAINING, MICRO_BATCH_SIZE, "micro-batch-size", INT, micro_batch_size, \
        NEEDED, 1, 65536, "N", "samples that pass through the model at once")  \
    OPT(TRAINING, GLOBAL_BATCH_SIZE, "global-batch-size", INT,                 \
        global_batch_size, "", 1, 16777216, "N",                               \
        "samples of an iteration (default: a micro batch of each "             \
        "data-parallel rank)")                                                 \
    OPT(TRAINING, RAMPUP_BATCH_SIZE, "rampup-batch-size", RAMP, ramp, "", 1,   \
        1000000000000000, "START INCREMENT SAMPLES",                           \
        "grow the global batch from START by INCREMENT during SAMPLES; needs " \
        "train samples")                                                       \
    OPT(TRAINING, TRAIN_ITERS, "train-iters", INT, train_iters, "", 1,         \
        1000000000, "N", "iterations to train")                                \
    OPT(TRAINING, TRAIN_SAMPLES, "train-samples", INT, train_samples, "", 1,   \
        1000000000000000, "N", "samples to train on, instead of iterations")   \
    OPT(TRAINING, EVAL_ITERS, "eval-iters", INT, eval_iters, "100", 0,         \
        1000000, "N", "batches of an evaluation; 0 for no evaluation")         \
    OPT(TRAINING, EVAL_INTERVAL, "eval-interval", INT, eval_interval, "1000",  \
        1, 1000000000, "N", "iterations between evaluations")                  \
    OPT(TRAINING, SEED, "seed", INT, seed, "1234", 0, 4294967295, "N",         \
        "of initial weights, dropout and sample order")                        \
    OPT(TRAINING, LOG_INTERVAL, "log-interval", INT, log_interval, "100", 1,   \
        1000000000, "N", "iterations between log lines")                       \
    OPT(TRAINING, LOG_THROUGHPUT, "log-throughput", FLAG, log_throughput,      \
        "no", 0, 0, NULL, "add TFLOP/s to the log lines")                      \
    OPT(TRAINING, LOG_PARAMS_NORM, "log-params-norm", FLAG, log_params_norm,   \
        "no", 0, 0, NULL, "add the norm of the weights to the log lines")      \
    OPT(TRAINING, LOG_NUM_ZEROS_IN_GRAD, "log-num-zeros-in-grad", FLAG,        \
        log_num_zeros, "no", 0, 0, NULL,                                       \
        "add to the log lines how many elements of the gradients are 0")       \
    OPT(TRAINING, SUMMARY_TEXT, "summary-text", FLAG, summary_text, "no", 0,   \
        0, NULL, "explain the result in sentences at the end")                 \
    OPT(TRAINING, NO_CHECK_FOR_NAN_IN_LOSS_AND_GRAD,                           \
        "no-check-for-nan-in-loss-and-grad", FLAG, no_check_for_nan, "no", 0,  \
        0, NULL,                                                               \
        "go on after a loss or gradient that is not finite, without that "     \
        "step")                                                                \
    OPT(TRAINING, EXIT_INTERVAL, "exit-interval", INT, exit_interval, "0", 0,  \
        1000000000, "N",                                                       \
        "stop after each iteration that is a multiple of N; 0: none")          \
    OPT(TRAINING, EXIT_DURATION_IN_MINS, "exit-duration-in-mins", REAL,        \
        exit_duration_mins, "0", 0, 1e6, "X",                                  \
        "stop after the iteration that reaches X minutes; 0: none")            \
    OPT(OPTIMIZER, LR, "lr", REAL, schedule.lr, NEEDED, 0, 1000, "X",          \
        "learning rate after the warm-up")                                     \
    OPT(OPTIMIZER, MIN_LR, "min-lr", REAL, schedule.min_lr, "0", 0, 1000, "X", \
        "learning rate at the end of the decay")                               \
    OPT(OPTIMIZER, LR_DECAY_STYLE, "lr-decay-style", CHOICE, schedule.style,   \
        "linear", 0, 0, "constant|linear|cosine|inverse-square-root|WSD",      \
        "course of the learning rate; WSD: stable, then a short decay")        \
    OPT(OPTIMIZER, LR_DECAY_ITERS, "lr-decay-iters", INT, lr_decay_iters, "",  \
        1, 1000000000, "N",                                                    \
        "iteration at which the decay ends (default: train iters)")            \
    OPT(OPTIMIZER, LR_DECAY_SAMPLES, "lr-decay-samples", INT,                  \
        lr_decay_samples, "", 1, 1000000000000000, "N",                        \
        "the same in samples, with train samples (default: all)")              \
    OPT(OPTIMIZER, LR_WARMUP_ITERS, "lr-warmup-iters", INT, lr_warmup_iters,   \
        "", 0, 1000000000, "N",                                                \
        "iterations of linear warm-up (default: none)")                        \
    OPT(OPTIMIZER, LR_WARMUP_SAMPLES, "lr-warmup-samples", INT,                \
        lr_warmup_samples, "", 0, 1000000000000000, "N",                       \
        "the same in samples, with train samples")                             \
    OPT(OPTIMIZER, LR_WARMUP_FRACTION, "lr-warmup-fraction", REAL,             \
        lr_warmup_fraction, "", 0, 1, "X",                                     \
        "warm-up as a fraction of the decay instead")                          \
    OPT(OPTIMIZER, LR_WARMUP_INIT, "lr-warmup-init", REAL,                     \
        schedule.warmup_init, "0", 0, 1000, "X",                               \
        "learning rate at the begin of the warm-up")                           \
    OPT(OPTIMIZER, LR_WSD_DECAY_STYLE, "lr-wsd-decay-style", CHOICE,           \
        schedule.wsd_style, "exponential", 0, 0, "exponential|linear|cosine",  \
        "course of the decay of WSD")                                          \
    OPT(OPTIMIZER, LR_WSD_DECAY_ITERS, "lr-wsd-decay-iters", INT,              \
        lr_wsd_decay_iters, "", 1, 1000000000, "N",                            \
        "iterations of the decay of WSD, the last ones")                       \
    OPT(OPTIMIZER, LR_WSD_DECAY_SAMPLES, "lr-wsd-decay-samples", INT,          \
        lr_wsd_decay_samples, "", 1, 1000000000000000, "N",                    \
        "the same in samples, with train samples")                             \
    OPT(OPTIMIZER, ADAM_BETA1, "adam-beta1", REAL, adam_beta1, "0.9", 0,       \
        0.999999, "X", "decay of Adam's first moment")                         \
    OPT(OPTIMIZER, ADAM_BETA2, "adam-beta2", REAL, adam_beta2, "0.999", 0,     \
        0.999999, "X", "decay of Adam's second moment")                        \
    OPT(OPTIMIZER, ADAM_EPS, "adam-eps", REAL, adam_eps, "1e-08", 1e-30, 1,    \
        "X", "added to the root of Adam's second moment")                      \
    OPT(PRECISION, BF16, "bf16", FLAG, bf16, "no", 0, 0, NULL,                 \
        "weights and activations in bfloat16")                                 \
    OPT(PRECISION, FP16, "fp16", FLAG, fp16, "no", 0, 0, NULL,                 \
        "weights and activations in IEEE half precision, with a scaled loss")  \
    OPT(PRECISION, LOSS_SCALE, "loss-scale", REAL, loss_scale, "", 1, 1e15,    \
        "X",                                                                   \
        "fp16: multiply the loss with this, always (default: with what the "   \
        "next four say)")                                                      \
    OPT(PRECISION, INITIAL_LOSS_SCALE, "initial-loss-scale", REAL,             \
        scale.initial, "4294967296", 1, 1e15, "X",                             \
        "fp16: multiply with this at the begin")                               \
    OPT(PRECISION, MIN_LOSS_SCALE, "min-loss-scale", REAL, scale.min, "1", 1,  \
        1e15, "X", "fp16: and never with less")                                \
    OPT(PRECISION, LOSS_SCALE_WINDOW, "loss-scale-window", INT, scale.window,  \
        "1000", 1, 1000000000, "N",                                            \
        "fp16: double it after that many iterations without an overflow")      \
    OPT(PRECISION, HYSTERESIS, "hysteresis", INT, hysteresis, "2", 1, 1000000, \
        "N",                                                                   \
        "fp16: halve it after that many iterations with an overflow, whose "   \
        "steps are left out")                                                  \
    OPT(PARALLEL, TENSOR_MODEL_PARALLEL_SIZE, "tensor-model-parallel-size",    \
        INT, tensor_parallel, "", 1, 4096, "T",                                \
        "ranks that share each layer (default: 1; chosen, with the next, "     \
        "where neither is given)")                                             \
    OPT(PARALLEL, PIPELINE_MODEL_PARALLEL_SIZE,                                \
        "pipeline-model-parallel-size", INT, pipeline_parallel, "", 1, 32768,  \
        "P", "pipeline stages, each some of the layers (default: likewise)")   \
    OPT(PARALLEL, NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK,                        \
        "num-virtual-stages-per-pipeline-rank", INT, virtual_stages, "", 1,    \
        32768, "V",                                                            \
        "stages of the model that each pipeline rank holds (default: 1, with " \
        "--placement v 2)")                                                    \
    OPT(PARALLEL, NUM_LAYERS_PER_VIRTUAL_PIPELINE_STAGE,                       \
        "num-layers-per-virtual-pipeline-stage", INT, layers_per_stage, "", 1, \
        32768, "N", "the same by the layers that a stage holds at the most")   \
    OPT(PARALLEL, PLACEMENT, "placement", CHOICE, placement, "loop", 0, 0,     \
        "loop|v|policy",                                                       \
        "stages go round the ranks; or turn round at the last rank, so that "  \
        "the first and the last stage lie on the first rank; or all lie on "   \
        "one rank, whose workers run what the scheduling policy gives them")   \
    OPT(PARALLEL, STAGE_LAYERS, "stage-layers", TEXT, stage_layers, "", 0, 0,  \
        "N,N,...",                                                             \
        "layers of every virtual stage of the model (default: as even as can " \
        "be)")                                                                 \
    OPT(PARALLEL, USE_DISTRIBUTED_OPTIMIZER, "use-distributed-optimizer",      \
        FLAG, distributed_optimizer, "no", 0, 0, NULL,                         \
        "each data-parallel rank keeps the moments of, and steps, its share "  \
        "of the weights only")                                                 \
    OPT(PARALLEL, DDP_BUCKET_SIZE, "ddp-bucket-size", INT, ddp_bucket_size,    \
        "40000000", 1, 1000000000, "N",                                        \
        "add up gradients of data-parallel ranks about N elements at a time, " \
        "whole layers")                                                        \
    OPT(PARALLEL, SCHEDULE, "schedule", CHOICE, pipeline, "window", 0, 0,      \
        "window|gpipe|1f1b|interleaved|zb-h1|zb-h2|zb-v|auto",                 \
        "windows and priorities: by the next two options, those that make a "  \
        "published schedule, or what an evaluation finds best")                \
    OPT(PARALLEL, WINDOW, "window", REAL, window, "1.5", 1, 1000, "ALPHA",     \
        "micro batches in flight, as a multiple of what keeps a stage busy: "  \
        "more memory, less waiting")                                           \
    OPT(PARALLEL, STAGE_WINDOWS, "stage-windows", TEXT, stage_windows, "", 0,  \
        0, "W[+Q],...",                                                        \
        "instead, of every virtual stage of the model: microbatches until "    \
        "their backward pass, and more until their weight gradients")          \
    OPT(PARALLEL, ACT_MEM, "act-mem", REAL, act_mem, "0", 0, 1e15, "BYTES",    \
        "memory of a rank for what its layers keep until the backward pass, "  \
        "which decides on the window where that is not given; 0: any")         \
    OPT(PARALLEL, ROW_PARTS, "row-parts", INT, row_parts, "0", 0, 8, "N",      \
        "cut the activations of a sample along the sequence into N parts, "    \
        "which workers share; 0: by their shape, none on a GPU")               \
    OPT(PARALLEL, SEQUENCE_PARALLEL, "sequence-parallel", FLAG,                \
        sequence_parallel, "no", 0, 0, NULL,                                   \
        "tensor-parallel ranks share the rows of what they would all "         \
        "compute and keep otherwise: layernorms, dropout, residuals")          \
    OPT(PARALLEL, RECOMPUTE_GRANULARITY, "recompute-granularity", CHOICE,      \
        recompute.granularity, "none", 0, 0, "none|selective|full",            \
        "save memory: compute again, for the gradients, the core of "          \
        "attention or whole layers instead of keeping what they computed")     \
    OPT(PARALLEL, RECOMPUTE_METHOD, "recompute-method", CHOICE,                \
        recompute.method, "uniform", 0, 0, "uniform|block",                    \
        "full: groups of layers keep their input; or only the first layers "   \
        "of each stage are computed again")                                    \
    OPT(PARALLEL, RECOMPUTE_NUM_LAYERS, "recompute-num-layers", INT,           \
        recompute.num_layers, "1", 1, 32768, "N",                              \
        "full: layers of a group, or first layers of a stage")                 \
    OPT(PARALLEL, ATTENTION_BACKEND, "attention-backend", CHOICE,              \
        attention_backend, "auto", 0, 0, "auto|flash|fused|unfused|local",     \
        "attention on GPUs: fused is cuDNN's, which takes 16 bits and whole "  \
        "samples and draws dropout of its own; auto is fused where it can, "   \
        "the others are the kernels of this program")                          \
    OPT(PARALLEL, EPILOGUES, "epilogues", EPILOGUES, epilogues, "auto", 0, 0,  \
        "KIND:WAY,...",                                                        \
        "GPUs: gelu, gelu-gradient and bias-gradient (KIND) are part of "      \
        "cuBLASLt's products (on), kernels of this program (off), or by the "  \
        "GPU's compute capability (auto)")                                     \
    OPT(PARALLEL, WORKERS, "workers", INT, workers, "0", 0, 4096, "N",         \
        "compute workers of this rank; 0: as many as it has cores")            \
    OPT(PARALLEL, NO_GPU, "no-gpu", FLAG, no_gpu, "no", 0, 0, NULL,            \
        "train on CPUs though there are GPUs, as STARPU_NCUDA=0 does")         \
    OPT(PARALLEL, SHARE_GPU, "share-gpu", FLAG, share_gpu, "no", 0, 0, NULL,   \
        "several ranks may drive the same GPU, each with its part of the "     \
        "memory; otherwise those beyond the GPUs leave")                       \
    OPT(PARALLEL, COMM_NODE, "comm-node", CHOICE, comm_node, "acquire", 0, 0,  \
        "acquire|task",                                                        \
        "what messages are to StarPU: acquired data, or tasks on a worker of " \
        "their own, which scheduling policies see")                            \
    OPT(PARALLEL, TRANSPORT, "transport", CHOICE, transport, "auto", 0, 0,     \
        "auto|mpi|nccl|serial",                                                \
        "what carries collectives: NCCL between GPUs (auto: where each rank "  \
        "has one of its own), or MPI through the host; serial, for tests: "    \
        "one at a time by MPI, in issue order")                                \
    OPT(PARALLEL, COLLECTIVE_ORDER, "collective-order", CHOICE,                \
        collective_order, "leader", 0, 0, "leader|plan",                       \
        "who decides in which order a group's ranks issue collectives: the "   \
        "first rank of the group during the run, or a plan made before")       \
    OPT(PARALLEL, DISTRIBUTED_TIMEOUT_MINUTES, "distributed-timeout-minutes",  \
        REAL, timeout_minutes, "10", 0.01, 1000000, "MINUTES",                 \
        "end the job when a rank gives no sign of life for longer than that, " \
        "or when all wait for each other and none does anything; or when a "   \
        "checkpoint waits ten times as long for one call of the disk")         \
    OPT(DATA, DATA_PATH, "data-path", TEXT, data_path, "", 0, 0, "PREFIX",     \
        "read PREFIX.bin and PREFIX.idx (default: mock data)")                 \
    OPT(DATA, TOKENIZER_TYPE, "tokenizer-type", TEXT, tokenizer_type, "", 0,   \
        0, "TYPE",                                                             \
        "what the tokens of the data are: byte, GPT2BPETokenizer, "            \
        "BertWordPieceLowerCase or BertWordPieceCase (default, with a "        \
        "vocabulary file: the second for a gpt, the third for a bert)")        \
    OPT(DATA, VOCAB_FILE, "vocab-file", TEXT, vocab_file, "", 0, 0, "FILE",    \
        "its vocabulary, GPT-2's vocab.json or BERT's vocab.txt, from which "  \
        "the vocabulary's size follows")                                       \
    OPT(DATA, MERGE_FILE, "merge-file", TEXT, merge_file, "", 0, 0, "FILE",    \
        "GPT-2's merges.txt")                                                  \
    OPT(DATA, SPLIT, "split", SPLIT, split, "969, 30, 1", 0, 0,                \
        "TRAIN,VALID,TEST", "shares of the documents")                         \
    OPT(DATA, MASK_PROB, "mask-prob", REAL, mask_prob, "0.15", 0, 1, "P",      \
        "BERT: share of the tokens to be predicted")                           \
    OPT(DATA, SHORT_SEQ_PROB, "short-seq-prob", REAL, short_seq_prob, "0.1",   \
        0, 1, "P",                                                             \
        "BERT: probability of a sample shorter than the sequence length")      \
    OPT(DATA, EOD_MASK_LOSS, "eod-mask-loss", FLAG, eod_mask_loss, "no", 0, 0, \
        NULL,                                                                  \
        "GPT: leave out of the loss what follows an end of document: the "     \
        "tokenizer's token for it, or else the vocabulary's last")             \
    OPT(DATA, MOCK_DATA, "mock-data", FLAG, mock_data, "", 0, 0, NULL,         \
        "made-up tokens, even where there is a data path")                     \
    OPT(CHECKPOINTS, SAVE, "save", TEXT, save_dir, "", 0, 0, "DIR",            \
        "keep weights and optimizer state in DIR, at the end and when a "      \
        "signal ends the run")                                                 \
    OPT(CHECKPOINTS, SAVE_INTERVAL, "save-interval", INT, save_interval, "0",  \
        0, 1000000000, "N", "and after every N iterations; 0: not")            \
    OPT(CHECKPOINTS, KEEP_LAST, "keep-last", INT, keep_last, "0", 0,           \
        1000000000, "K",                                                       \
        "remove all but the newest K (2 or more) that are not damaged, "       \
        "once a new one is there; 0: keep all")                                \
    OPT(CHECKPOINTS, NO_SAVE_OPTIM, "no-save-optim", FLAG, no_save_optim,      \
        "no", 0, 0, NULL, "keep the weights only")                             \
    OPT(CHECKPOINTS, LOAD, "load", TEXT, load_dir, "", 0, 0, "DIR",            \
        "go on from the newest checkpoint in DIR that is whole; where there "  \
        "is none and --save is the same DIR, begin")                           \
    OPT(CHECKPOINTS, NO_LOAD_OPTIM, "no-load-optim", FLAG, no_load_optim,      \
        "no", 0, 0, NULL,                                                      \
        "without the optimizer's state and the learning rate's clock")         \
    OPT(CHECKPOINTS, NO_LOAD_RNG, "no-load-rng", FLAG, no_load_rng, "no", 0,   \
        0, NULL,                                                               \
        "go on with the --seed of this command, whatever the checkpoint's: "   \
        "other dropout, masks and order of samples from there on")             \
    OPT(CHECKPOINTS, FINETUNE, "finetune", FLAG, finetune, "no", 0, 0, NULL,   \
        "with its weights only, from iteration 0 on, on any data")             \
    OPT(CHECKPOINTS, EVAL_ONLY, "eval-only", FLAG, eval_only, "no", 0, 0,      \
        NULL,                                                                  \
        "do not train: print loss and perplexity of the checkpoint on the "    \
        "validation and test documents of any data, and write nothing else")   \
    OPT(TRACING, TRACE, "trace", TEXT, trace_dir, "", 0, 0, "DIR",             \
        "write pictures and tables of a few iterations to DIR, and the same "  \
        "for Perfetto, ViTE and StarVZ")                                       \
    OPT(TRACING, TRACE_ITERATIONS, "trace-iterations", RANGE,                  \
        trace_iterations, "", 1, 1000000000, "A:B",                            \
        "iterations to trace (default: 3:5)")                                  \
    OPT(TRACING, METRICS, "metrics", TEXT, metrics, "", 0, 0, "FILE",          \
        "add to FILE a JSON object with all settings, then one for each "      \
        "iteration and validation")                                            \
    OPT(TRACING, TENSORBOARD_DIR, "tensorboard-dir", TEXT, tensorboard_dir,    \
        "", 0, 0, "DIR", "write the same numbers to DIR for TensorBoard")      \
    OPT(TRACING, SVG_DETAIL, "svg-detail", CHOICE, svg_detail, "box", 0, 0,    \
        "box|op",                                                              \
        "schedule.svg shows a box for each microbatch's forward, backward or " \
        "weight gradients on a virtual stage, or single operations")           \
    OPT(SYNTHETIC, SYNTHETIC, "synthetic", TEXT, cluster_file, "", 0, 0,       \
        "CLUSTER.ini",                                                         \
        "compute nothing: tasks sleep, and messages take, as long as on the "  \
        "machine that CLUSTER.ini describes (launch/clusters)")                \
    OPT(SYNTHETIC, JITTER, "jitter", REAL, jitter, "0", 0, 1, "X",             \
        "vary each duration by up to that share of it, drawn from the seed")   \
    OPT(SYNTHETIC, SLOW_RANK, "slow-rank", SLOW, slow_rank, "", 0, 0,          \
        "RANK:SPEED",                                                          \
        "one rank computes at that share of the others' speed: 3:0.8")         \
    OPT(SYNTHETIC, STRETCH, "stretch", REAL, stretch, "1", 0.001, 1000000,     \
        "X",                                                                   \
        "multiply all durations: a GPU's tasks are too short to sleep "        \
        "exactly so long")                                                     \
    OPT(TESTING, DUMP_FIRST_STEP, "dump-first-step", TEXT, dump_dir, "", 0, 0, \
        "DIR",                                                                 \
        "write weights, batch, loss and gradients of the first iteration to "  \
        "DIR as safetensors, to compare with another program")                 \
    OPT(TESTING, DUMP_SAMPLES, "dump-samples", INT, dump_samples, "0", 0,      \
        16777216, "N",                                                         \
        "write the first N samples there, not only those of the first "        \
        "iteration")                                                           \
    OPT(TESTING, DUMP_LOGITS, "dump-logits", TEXT, logits_dir, "", 0, 0,       \
        "DIR",                                                                 \
        "with --eval-only: write the logits of all validation samples to DIR " \
        "as safetensors")                                                      \
    OPT(TESTING, INJECT_NAN, "inject-nan", INT, inject_nan, "0", 0,            \
        1000000000, "ITER",                                                    \
        "make an activation NaN in that iteration; 0: never")                  \
    OPT(TESTING, WEIGHT_HASH, "weight-hash", FLAG, weight_hash, "no", 0, 0,    \
        NULL,                                                                  \
        "print a hash of all weights at the end: equal when every bit is")     \
    OPT(GENERAL, CONFIG, "config", TEXT, config_file, "", 0, 0, "FILE",        \
        "read options from FILE, one per line: num-layers = 12")               \
    OPT(GENERAL, DRY_RUN, "dry-run", ACTION, request, "", MTLM_REQUEST_PLAN,   \
        0, NULL,                                                               \
        "print what training would take - memory, work, messages - and stop")  \
    OPT(GENERAL, SVG, "svg", TEXT, svg, "", 0, 0, "FILE",                      \
        "with --dry-run: draw the schedule, as it is evaluated, to FILE")      \
    OPT(GENERAL, WORLD_SIZE, "world-size", INT, world_size, "", 1, 1048576,    \
        "N",                                                                   \
        "plan for N ranks (default: those that mpirun or Slurm starts, or as " \
        "many as tensor x pipeline size)")                                     \
    OPT(GENERAL, PRINT_CONFIG, "print-config", ACTION, request, "",            \
        MTLM_REQUEST_CONFIG, 0, NULL,                                          \
        "print all values in the form of --config and stop")                   \
    OPT(GENERAL, LIST_MODELS, "list-models", ACTION, request, "",              \
        MTLM_REQUEST_MODELS, 0, NULL, "print the presets and stop")            \
    OPT(GENERAL, HELP, "help", ACTION, request, "", MTLM_REQUEST_HELP, 0,      \
        NULL, "print this and stop")                                           \
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
