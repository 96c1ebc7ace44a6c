/* Special tokens of an exported model: the ends of texts, and the padding. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options/options_tokenizer.h"
#include "launch/tools/convert.h"
#include "models/weights/ends.h"
#include "runtime/file/json_file.h"

enum { GPT2_VOCAB_SIZE = 50257 };

/* Returns whether the token that transformers take where config.json names
 * none is wrong: a GPT-2 of fewer tokens lacks the token, and the first tokens
 * of a BLOOM may be any. */
static bool has_wrong_default(const struct mtlm_model *model)
{
    return model->family == MTLM_GPT
           && (model->positions == MTLM_POSITIONS_ALIBI
               || model->vocab_size < GPT2_VOCAB_SIZE);
}

/* Refuses a tokenizer other than that of the training. */
static int check_tokenizer(const struct mtlm_tokenizer *tokenizer,
                           const struct mtlm_manifest *manifest,
                           struct mtlm_error *err)
{
    const char *stored = mtlm_json_file_text(manifest->settings, "tokenizer");
    char *found = mtlm_tokenizer_describe(tokenizer);
    int rc = 0;

    if (stored && strcmp(stored, found) != 0)
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "the tokenizer of the training was %s, found %s",
                            stored, found);
    free(found);
    return rc;
}

/* Sets *tokenizer to that of the checkpoint, or to NULL if the checkpoint names
 * none.  The caller closes the tokenizer. */
static int open_tokenizer(const struct mtlm_tokenizer **tokenizer,
                          const struct mtlm_manifest *manifest,
                          const struct mtlm_model *model,
                          struct mtlm_error *err)
{
    const json_t *options = manifest->options;
    const char *type = mtlm_json_file_text(options, "tokenizer-type");
    const struct mtlm_tokenizer_files files = {
        .vocab = mtlm_json_file_text(options, "vocab-file"),
        .merge = mtlm_json_file_text(options, "merge-file"),
        .model = mtlm_json_file_text(options, "tokenizer-model")};

    *tokenizer = NULL;
    if (!type && !files.vocab && !files.merge && !files.model) {
        *tokenizer = mtlm_options_tokenizer_of_size(model);
        return 0;
    }
    if (!type)
        type = mtlm_options_tokenizer_default(model, &files);
    *tokenizer = mtlm_tokenizer_open(type, &files, err);
    return *tokenizer ? check_tokenizer(*tokenizer, manifest, err) : -1;
}

static void set_tokens(json_t *config, const struct mtlm_model *model,
                       const struct mtlm_tokenizer *tokenizer)
{
    const bool gpt = model->family == MTLM_GPT;

    if (tokenizer && gpt) {
        json_object_set_new(config, "bos_token_id",
                            json_integer(tokenizer->eod));
        json_object_set_new(config, "eos_token_id",
                            json_integer(tokenizer->eod));
    } else if (tokenizer && tokenizer->bert) {
        json_object_set_new(config, "pad_token_id",
                            json_integer(tokenizer->bert->pad));
    } else if (has_wrong_default(model)) {
        json_object_set_new(config, "bos_token_id", json_null());
        json_object_set_new(config, "eos_token_id", json_null());
    }
}

void mtlm_convert_add_tokens(json_t *config,
                             const struct mtlm_manifest *manifest,
                             const struct mtlm_model *model)
{
    const struct mtlm_tokenizer *tokenizer;
    struct mtlm_error err;
    struct mtlm_ends ends;

    if (open_tokenizer(&tokenizer, manifest, model, &err) < 0) {
        mtlm_warn("config.json names no special token: %s", err.text);
        mtlm_tokenizer_close(tokenizer);
        tokenizer = NULL;
    }
    set_tokens(config, model, tokenizer);
    ends = mtlm_ends_stored(manifest->settings);
    mtlm_ends_write(&ends, config);
    mtlm_tokenizer_close(tokenizer);
}
