#ifndef MTLM_GPT2_BPE_H
#define MTLM_GPT2_BPE_H

#include "models/text/tokenizer.h"

/* GPT-2's byte-level byte-pair encoding ("GPT2BPETokenizer").  Words
 * (gpt2_words.h) are bytes, each the token of a character that stands for it;
 * of all pairs of neighbours the one that stands first in the merges file
 * becomes one token wherever it occurs, from left to right, and so on until
 * none is left.
 *
 * vocab_file is vocab.json (token: number), which has to know all 256 bytes,
 * <|endoftext|> (the end of a document, which no text becomes), and whatever
 * a merge joins or makes.  merge_file is merges.txt: a line "#version..." and
 * a pair of tokens on each line after it.  MTLM_EXIT_INPUT with file and line
 * where they are not so. */
const struct mtlm_tokenizer *mtlm_gpt2_bpe_open(const char *vocab_file,
                                                const char *merge_file,
                                                struct mtlm_error *err);

/* The bytes that a token stands for, borrowed. */
const char *mtlm_gpt2_bpe_bytes(const struct mtlm_tokenizer *tokenizer,
                                int32_t token, int64_t *bytes);

#endif /* MTLM_GPT2_BPE_H */
