/* GPT-2's byte-level byte-pair encoding: vocab.json and merges.txt. */

#include "config.h"

#include <inttypes.h>

#include "models/text/byte_bpe.h"
#include "models/text/gpt2_bpe.h"

static int find_end(struct mtlm_byte_bpe *bpe, const char *path,
                    struct mtlm_error *err)
{
    static const char end[] = "<|endoftext|>";

    bpe->tokenizer.eod =
        mtlm_vocabulary_find(&bpe->vocabulary, end, sizeof(end) - 1);
    if (bpe->tokenizer.eod < 0)
        return mtlm_error_set(err, MTLM_EXIT_INPUT,
                              "%s: the vocabulary has no token \"%s\"", path,
                              end);
    return 0;
}

/* Checks the number of merges.  A token is a byte, the result of a merge, or
 * one of few special tokens: a truncated merges file makes too few tokens. */
static int check_pair(const struct mtlm_byte_bpe *bpe, const char *vocab_file,
                      const char *merge_file, struct mtlm_error *err)
{
    enum { SPECIAL = 1024 };
    const int64_t n = bpe->merges.n, made = n + 256;

    if (bpe->vocabulary.n <= made + SPECIAL)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: line %" PRId64 ": the file ends after %" PRId64
                          " merges, too few for the %" PRId64 " tokens of %s",
                          merge_file, n + 1, n, bpe->vocabulary.n, vocab_file);
}

const struct mtlm_tokenizer *mtlm_gpt2_bpe_open(const char *vocab_file,
                                                const char *merge_file,
                                                struct mtlm_error *err)
{
    struct mtlm_byte_bpe *bpe = mtlm_byte_bpe_create("GPT2BPETokenizer");

    if (mtlm_vocabulary_read_json(&bpe->vocabulary, vocab_file, err) < 0
        || mtlm_byte_bpe_find_bytes(bpe, vocab_file, err) < 0
        || find_end(bpe, vocab_file, err) < 0
        || mtlm_merges_read(&bpe->merges, &bpe->vocabulary, merge_file, err) < 0
        || check_pair(bpe, vocab_file, merge_file, err) < 0) {
        mtlm_byte_bpe_destroy(bpe);
        return NULL;
    }
    bpe->tokenizer.hash = bpe->merges.hash;
    return &bpe->tokenizer;
}
