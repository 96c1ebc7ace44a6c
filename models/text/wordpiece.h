#ifndef MTLM_WORDPIECE_H
#define MTLM_WORDPIECE_H

#include "models/text/tokenizer.h"

/* Opens BERT's WordPiece, "BertWordPieceLowerCase" (lower) or
 * "BertWordPieceCase"; the caller closes the tokenizer.
 *
 * Encoding.  The first token of a word (bert_words.h) is the longest prefix
 * that is a token.  The next token is the longest prefix of the rest that is a
 * token behind "##", and so on.  A word with an unknown rest, or of more than
 * 200 characters, becomes [UNK].
 *
 * vocab_file is vocab.txt, a token per line, with [PAD], [UNK], [CLS], [SEP]
 * and [MASK]; otherwise MTLM_EXIT_INPUT.  The end of a document is [SEP].  For
 * masking, a word begins with a token without "##". */
const struct mtlm_tokenizer *mtlm_wordpiece_open(const char *vocab_file,
                                                 bool lower,
                                                 struct mtlm_error *err);

#endif /* MTLM_WORDPIECE_H */
