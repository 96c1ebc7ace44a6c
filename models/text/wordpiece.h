#ifndef MTLM_WORDPIECE_H
#define MTLM_WORDPIECE_H

#include "models/text/added_tokens.h"
#include "models/text/bert_words.h"
#include "models/text/tokenizer.h"

struct mtlm_vocabulary;

/* What a WordPiece with a vocabulary of its own needs. */
struct mtlm_wordpiece_rules {
    struct mtlm_bert_rules words;
    int64_t longest; /* characters of a word that is not [UNK]; at most
                      * MTLM_WORDPIECE_LONGEST */
};
enum { MTLM_WORDPIECE_LONGEST = 200 };

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

/* Returns a WordPiece of that name and those rules.  Takes vocabulary and added
 * over, on failure, too.  path: the file of the vocabulary.  NULL and
 * MTLM_EXIT_INPUT: a special token is missing. */
const struct mtlm_tokenizer *mtlm_wordpiece_create(
    const char *name, const struct mtlm_wordpiece_rules *rules,
    const struct mtlm_vocabulary *vocabulary,
    const struct mtlm_added_tokens *added, const char *path,
    struct mtlm_error *err);

/* Returns the bytes of a token of a WordPiece tokenizer, which the tokenizer
 * owns, and their number. */
const char *mtlm_wordpiece_text(const struct mtlm_tokenizer *tokenizer,
                                int32_t token, int64_t *bytes);

/* Returns the rules by which a WordPiece tokenizer cuts words; it owns them. */
const struct mtlm_bert_rules *mtlm_wordpiece_words(
    const struct mtlm_tokenizer *tokenizer);

#endif /* MTLM_WORDPIECE_H */
