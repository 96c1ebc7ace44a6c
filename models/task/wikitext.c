/* Windows of WikiText-103. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "models/task/detokenize.h"
#include "models/task/task_file.h"
#include "models/task/wikitext.h"

/* Adds the windows of all tokens.  Megatron-LM also has windows that begin in
 * the text but score nothing. */
static void add_windows(struct mtlm_scored_text *text, int64_t overlap)
{
    const int64_t s = text->source.seq_length, end = text->tokens;

    for (int64_t begin = 0;
         begin + 1 < end && (begin == 0 || begin + s - overlap + 1 < end);
         begin += overlap) {
        const int64_t tokens = end - begin < s + 1 ? end - begin : s + 1;
        const int64_t seen = begin > 0 ? s - overlap : 0;

        mtlm_scored_text_add(
            text,
            (struct mtlm_scored_span){.begin = begin,
                                      .tokens = (int32_t) tokens,
                                      .scored = (int32_t) (tokens - 1 - seen)});
    }
}

static struct mtlm_scored_text *make_text(
    const struct mtlm_tokenizer *tokenizer, const struct mtlm_mapped_file *file,
    int64_t seq_length, int64_t overlap)
{
    const char *raw = (const char *) file->data;
    int64_t bytes;
    char *clean = mtlm_detokenize(raw, file->bytes, &bytes);
    struct mtlm_scored_text *text = mtlm_scored_text_create(
        seq_length, tokenizer->eod, bytes, bytes / overlap + 1);

    text->words = mtlm_detokenize_words(raw, file->bytes);
    text->tokens =
        tokenizer->encode(tokenizer, NULL, clean, bytes, false, text->token);
    free(clean);
    add_windows(text, overlap);
    mtlm_scored_text_end(text);
    return text;
}

struct mtlm_scored_text *mtlm_wikitext_read(
    const struct mtlm_tokenizer *tokenizer, const char *path,
    int64_t seq_length, int64_t overlap, struct mtlm_error *err)
{
    struct mtlm_scored_text *text = NULL;
    struct mtlm_mapped_file file;

    if (mtlm_task_file_read(&file, path, err) < 0)
        return NULL;
    if (mtlm_task_file_check_text(&file, err) == 0)
        text = make_text(tokenizer, &file, seq_length, overlap);
    if (text && (text->samples == 0 || text->words < 2)) {
        mtlm_error_set(err, MTLM_EXIT_INPUT,
                       "%s: expected text of two words or more, found %" PRId64
                       " tokens",
                       path, text->tokens);
        mtlm_samples_destroy(&text->source);
        text = NULL;
    }
    mtlm_mapped_file_close(&file);
    return text;
}
