/* Resolves the tokenizer of the data, and the vocabulary size. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/option_table.h"
#include "launch/options/options_note.h"
#include "launch/options/options_tokenizer.h"
#include "models/text/byte_tokenizer.h"

static const char hugging_face[] = "HuggingFaceTokenizer";

const char *mtlm_options_tokenizer_default(
    const struct mtlm_model *model, const struct mtlm_tokenizer_files *files)
{
    if (files->model)
        return hugging_face;
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

int64_t mtlm_options_tokenizer_size(const struct mtlm_options *options)
{
    const struct mtlm_tokenizer *tokenizer = options->tokenizer;

    if (!tokenizer)
        return options->model.vocab_size;
    return options->model.family == MTLM_BERT ? tokenizer->bert->size
                                              : tokenizer->vocab_size;
}

/* Says where the files of a checkpoint's tokenizer can come from. */
static int add_hint(const struct mtlm_options *options, struct mtlm_error *err)
{
    const enum mtlm_option_id option = options->tokenizer_model
                                           ? MTLM_OPT_TOKENIZER_MODEL
                                           : MTLM_OPT_VOCAB_FILE;

    if (!options->options_path
        || mtlm_options_source(options, option) != MTLM_SOURCE_CHECKPOINT)
        return -1;
    return mtlm_error_prefix(err,
                             "%s names the tokenizer's files; where they "
                             "are elsewhere, give --%s",
                             options->options_path, mtlm_option_name(option));
}

/* Whether the tokenizer may be that of the checkpoint: its training had the
 * same one, or an unknown one, as an imported model.  Bytes have no padding. */
static bool may_be_stored(const struct mtlm_options *options)
{
    const char *theirs = options->tokenizer_text;
    char *ours = mtlm_tokenizer_describe(options->tokenizer);
    const bool same = !theirs || strcmp(theirs, ours) == 0;

    free(ours);
    return same && options->tokenizer->hash != 0;
}

/* Whether the model's vocabulary may be larger than the tokenizer's: published
 * models pad theirs.  mtlm_options_checkpoint_compare() refuses a given size
 * that is not the checkpoint's.  A preset's size gives way to the tokenizer's.
 */
static bool may_be_larger(const struct mtlm_options *options)
{
    const enum mtlm_option_source source =
        mtlm_options_source(options, MTLM_OPT_VOCAB_SIZE);

    if (strcmp(options->tokenizer->name, hugging_face) == 0)
        return source > MTLM_SOURCE_DEFAULT;
    return options->options_path && source > MTLM_SOURCE_DEFAULT
           && source != MTLM_SOURCE_PRESET && may_be_stored(options);
}

/* Says that nothing but the sizes compares model and tokenizer. */
static void note_larger(struct mtlm_options *options, int64_t tokens)
{
    if (options->options_path && !options->tokenizer_text
        && options->model.vocab_size > tokens)
        mtlm_options_note(options,
                          "the checkpoint has %" PRId64
                          " tokens and the tokenizer %" PRId64
                          "; the checkpoint does not name its tokenizer",
                          options->model.vocab_size, tokens);
}

/* Sets the size of the vocabulary. */
static int take_size(struct mtlm_options *options, const char *type,
                     struct mtlm_error *err)
{
    const int64_t given = options->model.vocab_size;
    const int64_t needed = mtlm_options_tokenizer_size(options);

    if (may_be_larger(options) && given >= needed) {
        note_larger(options, needed);
        return 0;
    }
    options->model.vocab_size = needed;
    if (mtlm_options_source(options, MTLM_OPT_VOCAB_SIZE) < MTLM_SOURCE_CONFIG
        || given == needed)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--vocab-size %" PRId64
                          ": the tokenizer %s has %" PRId64 " tokens",
                          given, type, needed);
}

int mtlm_options_tokenizer_open(struct mtlm_options *options,
                                struct mtlm_error *err)
{
    const bool bert = options->model.family == MTLM_BERT;
    const char *type = options->tokenizer_type;
    const struct mtlm_tokenizer_files files = {.vocab = options->vocab_file,
                                               .merge = options->merge_file,
                                               .model =
                                                   options->tokenizer_model};

    if (!type && !files.vocab && !files.merge && !files.model)
        return 0;
    if (!type)
        type = mtlm_options_tokenizer_default(&options->model, &files);
    options->tokenizer = mtlm_tokenizer_open(type, &files, err);
    if (!options->tokenizer)
        return add_hint(options, err);
    if (bert && !options->tokenizer->bert)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--tokenizer-type %s is not for a bert: its "
                              "vocabulary has no [CLS], [SEP], [MASK] and "
                              "[PAD]",
                              type);
    return take_size(options, type, err);
}

int mtlm_options_tokenizer_need_text(struct mtlm_options *options,
                                     const char *name, struct mtlm_error *err)
{
    if (!options->tokenizer)
        options->tokenizer = mtlm_options_tokenizer_of_size(&options->model);
    if (!options->tokenizer)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s needs the tokenizer of the model: give "
                              "--vocab-file and --merge-file, or "
                              "--tokenizer-model, whose vocabulary has "
                              "%" PRId64 " tokens",
                              name, options->model.vocab_size);
    if (!options->tokenizer->text)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--%s: the tokenizer %s is for a bert; a gpt "
                              "needs GPT2BPETokenizer, byte, or a "
                              "tokenizer.json with BPE",
                              name, options->tokenizer->name);
    return 0;
}
