/* Resolves the tokenizer of the data, and the vocabulary size. */

#include "config.h"

#include <inttypes.h>

#include "launch/options/options_tokenizer.h"
#include "models/text/byte_tokenizer.h"

const char *mtlm_options_tokenizer_default(const struct mtlm_model *model)
{
    return model->family == MTLM_BERT ? "BertWordPieceLowerCase"
                                      : "GPT2BPETokenizer";
}

const struct mtlm_tokenizer *mtlm_options_tokenizer_of_size(
    const struct mtlm_model *model)
{
    const int64_t bytes = model->family == MTLM_BERT ? MTLM_BYTE_BERT_VOCAB_SIZE
                                                     : MTLM_BYTE_VOCAB_SIZE;

    return model->vocab_size == bytes ? &mtlm_tokenizer_byte : NULL;
}

/* Size of the model's vocabulary; BERT's has special tokens besides text. */
static int64_t needed_size(const struct mtlm_options *options)
{
    return options->model.family == MTLM_BERT ? options->tokenizer->bert->size
                                              : options->tokenizer->vocab_size;
}

int mtlm_options_tokenizer_open(struct mtlm_options *options,
                                struct mtlm_error *err)
{
    const bool bert = options->model.family == MTLM_BERT;
    const char *type = options->tokenizer_type;
    const int64_t given = options->model.vocab_size;

    if (!type && !options->vocab_file && !options->merge_file)
        return 0;
    if (!type)
        type = mtlm_options_tokenizer_default(&options->model);
    options->tokenizer = mtlm_tokenizer_open(type, options->vocab_file,
                                             options->merge_file, err);
    if (!options->tokenizer && options->options_path
        && mtlm_options_source(options, MTLM_OPT_VOCAB_FILE)
               == MTLM_SOURCE_CHECKPOINT)
        return mtlm_error_prefix(err,
                                 "%s names the tokenizer's files; where they "
                                 "are elsewhere, give --vocab-file",
                                 options->options_path);
    if (!options->tokenizer)
        return -1;
    if (bert && !options->tokenizer->bert)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--tokenizer-type %s is not for a bert: its "
                              "vocabulary has no [CLS], [SEP], [MASK] and "
                              "[PAD]",
                              type);
    options->model.vocab_size = needed_size(options);
    if (mtlm_options_source(options, MTLM_OPT_VOCAB_SIZE) < MTLM_SOURCE_CONFIG
        || given == options->model.vocab_size)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--vocab-size %" PRId64
                          ": the tokenizer %s has %" PRId64 " tokens",
                          given, type, options->model.vocab_size);
}

int mtlm_options_tokenizer_need_text(struct mtlm_options *options,
                                     const char *name, struct mtlm_error *err)
{
    if (!options->tokenizer)
        options->tokenizer = mtlm_options_tokenizer_of_size(&options->model);
    if (!options->tokenizer)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s needs the tokenizer of the model: give "
                              "--vocab-file and --merge-file, whose vocabulary "
                              "has %" PRId64 " tokens",
                              name, options->model.vocab_size);
    if (!options->tokenizer->text)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s: the tokenizer %s is for a bert; a gpt "
                              "needs GPT2BPETokenizer or byte",
                              name, options->tokenizer->name);
    return 0;
}
