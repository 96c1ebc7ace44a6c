#ifndef MTLM_VOCABULARY_H
#define MTLM_VOCABULARY_H

#include <stdint.h>

#include "runtime/base/error.h"

/* The tokens of a vocabulary file by number, and their numbers by text.
 *
 * A file that cannot be read, holds more than MTLM_VOCABULARY_MOST_BYTES, or
 * breaks a rule of its format is refused with MTLM_EXIT_INPUT and its place
 * (line, column, or the tokens in question). */
struct mtlm_vocabulary {
    int64_t n;      /* tokens, numbered 0 .. n - 1 */
    int64_t *begin; /* [n + 1]: token i is text[begin[i]] .. text[begin[i + 1]]
                     * - 1, of UTF-8 and never empty */
    char *text;
    int64_t longest; /* bytes of the longest token */
    uint64_t hash;   /* of the tokens and their order, not of the file's form */

    /* private: a table of numbers, open addressing */
    int32_t *slot; /* [mask + 1], -1: free */
    uint64_t mask;
};

enum { MTLM_VOCABULARY_MOST_BYTES = 64 << 20 };

/* A JSON object of token: number, in which every number from 0 up occurs
 * once, as GPT-2's vocab.json. */
int mtlm_vocabulary_read_json(struct mtlm_vocabulary *vocabulary,
                              const char *path, struct mtlm_error *err);

/* A token on each line, the first with number 0, as BERT's vocab.txt. */
int mtlm_vocabulary_read_lines(struct mtlm_vocabulary *vocabulary,
                               const char *path, struct mtlm_error *err);

/* Nothing happens to a zeroed one. */
void mtlm_vocabulary_free(struct mtlm_vocabulary *vocabulary);

/* The number of the token of that text; -1: there is none. */
int32_t mtlm_vocabulary_find(const struct mtlm_vocabulary *vocabulary,
                             const char *text, int64_t bytes);

/* Writes bytes of text for a message, in quotes, without what a terminal
 * might not show and at most 40 of them; returns out. */
enum { MTLM_QUOTED_BYTES = 4 * 40 + 6 };
const char *mtlm_vocabulary_quote(char out[MTLM_QUOTED_BYTES], const char *text,
                                  int64_t bytes);

struct mtlm_mapped_file;

/* Maps a file that is not too large for a vocabulary, and not empty. */
int mtlm_vocabulary_map(struct mtlm_mapped_file *file, const char *path,
                        struct mtlm_error *err);

#endif /* MTLM_VOCABULARY_H */
