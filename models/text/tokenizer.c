/* Opens tokenizers by type. */

#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/text/byte_tokenizer.h"
#include "models/text/gpt2_bpe.h"
#include "models/text/tokenizer.h"
#include "models/text/tokenizer_json.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"

static const struct mtlm_tokenizer *open_byte(
    const struct mtlm_tokenizer_files *files, struct mtlm_error *err)
{
    (void) files, (void) err;
    return &mtlm_tokenizer_byte;
}

static const struct mtlm_tokenizer *open_gpt2(
    const struct mtlm_tokenizer_files *files, struct mtlm_error *err)
{
    return mtlm_gpt2_bpe_open(files->vocab, files->merge, err);
}

static const struct mtlm_tokenizer *open_lower(
    const struct mtlm_tokenizer_files *files, struct mtlm_error *err)
{
    return mtlm_wordpiece_open(files->vocab, true, err);
}

static const struct mtlm_tokenizer *open_case(
    const struct mtlm_tokenizer_files *files, struct mtlm_error *err)
{
    return mtlm_wordpiece_open(files->vocab, false, err);
}

static const struct mtlm_tokenizer *open_json(
    const struct mtlm_tokenizer_files *files, struct mtlm_error *err)
{
    return mtlm_tokenizer_json_open(files->model, err);
}

static const struct type {
    const char *name;
    bool vocab, merge, model; /* files that are needed */
    const struct mtlm_tokenizer *(*open)(
        const struct mtlm_tokenizer_files *files, struct mtlm_error *err);
} types[] = {
    {"byte", false, false, false, open_byte},
    {"GPT2BPETokenizer", true, true, false, open_gpt2},
    {"BertWordPieceLowerCase", true, false, false, open_lower},
    {"BertWordPieceCase", true, false, false, open_case},
    {"HuggingFaceTokenizer", false, false, true, open_json},
};
enum { TYPES = sizeof(types) / sizeof(types[0]) };

static const struct type *find_type(const char *name, struct mtlm_error *err)
{
    char known[256] = "";

    for (int i = 0; i < TYPES; i++) {
        const size_t used = strlen(known);

        if (strcmp(types[i].name, name) == 0)
            return &types[i];
        snprintf(known + used, sizeof(known) - used, "%s%s", i ? ", " : "",
                 types[i].name);
    }
    mtlm_error_set(err, MTLM_EXIT_USAGE,
                   "there is no tokenizer \"%s\"; known: %s", name, known);
    return NULL;
}

static int check_file(const struct type *type, const char *option, bool needed,
                      const char *file, struct mtlm_error *err)
{
    if (needed == (file != NULL))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE, "--tokenizer-type %s %s %s",
                          type->name, needed ? "needs" : "takes no", option);
}

const struct mtlm_tokenizer *mtlm_tokenizer_open(
    const char *name, const struct mtlm_tokenizer_files *files,
    struct mtlm_error *err)
{
    const struct type *type = find_type(name, err);

    return type
                   && check_file(type, "--vocab-file", type->vocab,
                                 files->vocab, err)
                          == 0
                   && check_file(type, "--merge-file", type->merge,
                                 files->merge, err)
                          == 0
                   && check_file(type, "--tokenizer-model", type->model,
                                 files->model, err)
                          == 0
               ? type->open(files, err)
               : NULL;
}

bool mtlm_tokenizer_joins(const struct mtlm_tokenizer *tokenizer,
                          const char *text, int64_t bytes)
{
    return tokenizer->joins ? tokenizer->joins(tokenizer, text, bytes)
                            : mtlm_tokenizer_white_space(text, bytes);
}

void mtlm_tokenizer_close(const struct mtlm_tokenizer *tokenizer)
{
    if (tokenizer && tokenizer->destroy)
        tokenizer->destroy((struct mtlm_tokenizer *) tokenizer);
}

char *mtlm_tokenizer_describe(const struct mtlm_tokenizer *t)
{
    return t ? mtlm_sprintf("%s, %" PRId64 " tokens, hash %016" PRIx64, t->name,
                            t->vocab_size, t->hash)
             : NULL;
}
