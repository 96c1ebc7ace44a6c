#ifndef MTLM_GPT2_BPE_H
#define MTLM_GPT2_BPE_H

#include "models/text/tokenizer.h"

/* Opens GPT-2's byte-level byte-pair encoding ("GPT2BPETokenizer"); the caller
 * closes the tokenizer.  MTLM_EXIT_INPUT with file and line: a file breaks its
 * format.
 *
 * Encoding.  A word (gpt2_words.h) begins as its bytes, one token each.  Of all
 * pairs of neighbours, the first in the merges file becomes one token wherever
 * it occurs, from left to right; repeated until no pair is left.
 *
 * vocab_file is vocab.json, {token: number}, with all 256 bytes, <|endoftext|>
 * (the end of a document, which no text becomes), and all tokens of merges.
 * merge_file is merges.txt: a line "#version...", then a pair of tokens per
 * line. */
const struct mtlm_tokenizer *mtlm_gpt2_bpe_open(const char *vocab_file,
                                                const char *merge_file,
                                                struct mtlm_error *err);

#endif /* MTLM_GPT2_BPE_H */
