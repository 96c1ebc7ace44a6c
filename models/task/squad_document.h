#ifndef MTLM_SQUAD_DOCUMENT_H
#define MTLM_SQUAD_DOCUMENT_H

#include "models/text/tokenizer.h"

/* A context of SQuAD in words and tokens, as google-research/bert cuts it.
 * Blanks, tabs, ends of lines and U+202F separate words; the tokens of a word
 * are those of its text alone. */
struct mtlm_squad_document {
    const char *text; /* borrowed */
    int64_t characters, words, tokens;

    int32_t *word_of; /* [characters] the last word that has begun; -1: none */

    /* Word w is bytes begin[w] .. end[w] - 1 of the text; its tokens are
     * first_token[w] .. first_token[w + 1] - 1. */
    int64_t *begin, *end; /* [words] */
    int32_t *first_token; /* [words + 1] */

    int32_t *token;         /* [tokens] */
    int32_t *word_of_token; /* [tokens] */
};

/* Cuts a text, which must outlive the document; the caller frees the document.
 * cache may be NULL. */
void mtlm_squad_document_read(struct mtlm_squad_document *document,
                              const struct mtlm_tokenizer *tokenizer,
                              struct mtlm_word_cache *cache, const char *text);

/* Frees the document. */
void mtlm_squad_document_free(struct mtlm_squad_document *document);

/* Returns words first .. last with blanks between them; the caller frees the
 * text. */
char *mtlm_squad_document_words(const struct mtlm_squad_document *document,
                                int64_t first, int64_t last);

/* Finds the tokens *first .. *last of an answer, which begins at a character
 * and is not empty.  The tokens are the first run in the answer's words that
 * equals the answer's own tokens, else all tokens of these words.  Returns
 * false where google-research/bert leaves a question out: the words do not hold
 * the answer, or have no token. */
bool mtlm_squad_document_find(const struct mtlm_squad_document *document,
                              const struct mtlm_tokenizer *tokenizer,
                              const char *answer, int64_t character,
                              int64_t *first, int64_t *last);

#endif /* MTLM_SQUAD_DOCUMENT_H */
