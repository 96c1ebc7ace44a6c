#ifndef MTLM_WORDPIECE_H
#define MTLM_WORDPIECE_H

#include "models/text/tokenizer.h"

/* BERT's WordPiece, "BertWordPieceLowerCase" (lower) or "BertWordPieceCase":
 * of each word (bert_words.h) the longest beginning that is a token, then the
 * longest beginning of the rest that is one behind "##", and so on; [UNK] for
 * a word of which that leaves something, or of more than 200 characters.
 *
 * vocab_file is vocab.txt, a token on each line, which has to know [PAD],
 * [UNK], [CLS], [SEP] and [MASK]; otherwise MTLM_EXIT_INPUT.  The end of a
 * document, where one is asked for, is [SEP].  A word for masking begins with
 * a token without "##". */
const struct mtlm_tokenizer *mtlm_wordpiece_open(const char *vocab_file,
                                                 bool lower,
                                                 struct mtlm_error *err);

#endif /* MTLM_WORDPIECE_H */
