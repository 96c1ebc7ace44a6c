/* From the spans of windows to the text that answers a question. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "models/task/final_text.h"
#include "models/task/python_text.h"
#include "models/task/squad_answer.h"
#include "models/task/squad_document.h"
#include "models/text/wordpiece.h"
#include "runtime/base/memory.h"

/* Takes every `part` out of text. */
static void take_out(char *text, const char *part)
{
    const size_t bytes = strlen(part);
    char *to = text;

    while (*text)
        if (strncmp(text, part, bytes) == 0)
            text += bytes;
        else
            *to++ = *text++;
    *to = '\0';
}

/* Returns the text of tokens [n], of whole words; the caller frees it. */
static char *join_tokens(const struct mtlm_tokenizer *tokenizer,
                         const int32_t *token, int64_t n)
{
    size_t bytes = 0;
    char *text = NULL, *squeezed;

    for (int64_t i = 0; i < n; i++) {
        int64_t length;
        const char *piece = mtlm_wordpiece_text(tokenizer, token[i], &length);

        text = mtlm_realloc(text, bytes + (size_t) length + 2, 1);
        memcpy(text + bytes, piece, (size_t) length);
        bytes += (size_t) length;
        text[bytes++] = ' ';
        text[bytes] = '\0';
    }
    take_out(text, " ##");
    take_out(text, "##");
    squeezed = mtlm_python_text_squeeze(text);
    free(text);
    return squeezed;
}

/* Returns the text of a span; the caller frees it. */
static char *span_text(const struct mtlm_squad *squad, int64_t document,
                       const struct mtlm_span *span)
{
    const struct mtlm_tokenizer *tokenizer = squad->recipe.tokenizer;
    struct mtlm_squad_document d;
    char *tokens, *words, *text;

    mtlm_squad_document_read(&d, tokenizer, NULL, squad->text[document]);
    tokens = join_tokens(tokenizer, d.token + span->first,
                         span->last - span->first + 1);
    words = mtlm_squad_document_words(&d, d.word_of_token[span->first],
                                      d.word_of_token[span->last]);
    text = mtlm_final_text(tokens, words, mtlm_wordpiece_words(tokenizer));
    mtlm_squad_document_free(&d);
    free(tokens);
    free(words);
    return text;
}

char *mtlm_squad_answer(const struct mtlm_squad *squad, int64_t question,
                        const struct mtlm_span *span, double threshold,
                        double *difference)
{
    const struct mtlm_squad_question *q = &squad->question[question];
    struct mtlm_span best = {.first = -1, .last = -1, .null = 1000000};

    for (int64_t i = 0; i < q->windows; i++) {
        const double null = best.null;

        if (span[i].first >= 0
            && (best.first < 0
                || span[i].start + span[i].end > best.start + best.end))
            best = span[i];
        best.null = span[i].null < null ? span[i].null : null;
    }
    *difference = best.null - best.start - best.end;
    if (squad->negative && *difference > threshold)
        return mtlm_strdup("");
    return best.first < 0 ? mtlm_strdup("empty")
                          : span_text(squad, q->document, &best);
}
