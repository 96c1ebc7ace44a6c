#ifndef MTLM_BYTE_TOKENIZER_H
#define MTLM_BYTE_TOKENIZER_H

#include "models/text/tokenizer.h"

/* One token per byte, without files: tokens 0 .. 255 are the bytes, 256 is the
 * end of a document.  A BERT has four more special tokens. */
enum {
    MTLM_BYTE_EOD = 256,
    MTLM_BYTE_VOCAB_SIZE = 257,
    MTLM_BYTE_CLS = MTLM_BYTE_VOCAB_SIZE,
    MTLM_BYTE_SEP,
    MTLM_BYTE_MASK,
    MTLM_BYTE_PAD,
    MTLM_BYTE_BERT_VOCAB_SIZE
};

extern const struct mtlm_tokenizer mtlm_tokenizer_byte; /* "byte" */

/* Words for a BERT.  A word is a run of letters, digits and bytes from 128 on
 * (UTF-8 beyond ASCII), with one blank before.  Every other byte is a word. */
extern const struct mtlm_bert_vocab mtlm_bert_vocab_byte;

#endif /* MTLM_BYTE_TOKENIZER_H */
