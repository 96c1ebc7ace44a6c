#ifndef MTLM_VOCABULARY_H
#define MTLM_VOCABULARY_H

#include <jansson.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* The tokens of a vocabulary file by number, and their numbers by text.
 *
 * Reading refuses a file that is missing, larger than
 * MTLM_VOCABULARY_MOST_BYTES, or breaks its format: MTLM_EXIT_INPUT with the
 * place (line, column, or the tokens in question).  MTLM_EXIT_IO: the file is
 * unreadable. */
struct mtlm_vocabulary {
    int64_t n;      /* tokens, numbered 0 .. n - 1 */
    int64_t *begin; /* [n + 1] token i is text[begin[i]] .. text[begin[i + 1] -
                     * 1], UTF-8, never empty */
    char *text;
    int64_t longest; /* bytes of the longest token */
    uint64_t hash; /* of the tokens in order, independent of the file's form */

    /* private: a table of numbers, open addressing */
    int32_t *slot; /* [mask + 1], -1: free */
    uint64_t mask;
};

enum { MTLM_VOCABULARY_MOST_BYTES = 64 << 20 };

/* Reads a JSON object {token: number}, with every number from 0 up once, like
 * GPT-2's vocab.json.  The caller frees the vocabulary. */
int mtlm_vocabulary_read_json(struct mtlm_vocabulary *vocabulary,
                              const char *path, struct mtlm_error *err);

/* Takes such an object that path holds.  The caller frees the vocabulary. */
int mtlm_vocabulary_take_json(struct mtlm_vocabulary *vocabulary,
                              const json_t *object, const char *path,
                              struct mtlm_error *err);

/* Reads a token per line, from number 0, like BERT's vocab.txt.  The caller
 * frees the vocabulary. */
int mtlm_vocabulary_read_lines(struct mtlm_vocabulary *vocabulary,
                               const char *path, struct mtlm_error *err);

/* Frees the vocabulary.  Does nothing for a zeroed one. */
void mtlm_vocabulary_free(struct mtlm_vocabulary *vocabulary);

/* Returns the number of the token text [bytes]; -1: there is none. */
int32_t mtlm_vocabulary_find(const struct mtlm_vocabulary *vocabulary,
                             const char *text, int64_t bytes);

/* Writes text [bytes] in quotes for a message: at most 40 bytes, unprintable
 * ones escaped; returns out. */
enum { MTLM_QUOTED_BYTES = 4 * 40 + 6 };
const char *mtlm_vocabulary_quote(char out[MTLM_QUOTED_BYTES], const char *text,
                                  int64_t bytes);

struct mtlm_mapped_file;

/* Maps a vocabulary file; refuses one that is empty or too large. */
int mtlm_vocabulary_map(struct mtlm_mapped_file *file, const char *path,
                        struct mtlm_error *err);

#endif /* MTLM_VOCABULARY_H */
