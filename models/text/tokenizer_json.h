#ifndef MTLM_TOKENIZER_JSON_H
#define MTLM_TOKENIZER_JSON_H

#include "models/text/tokenizer.h"

/* Opens a tokenizer.json of Hugging Face's tokenizers, or the file of a
 * directory ("HuggingFaceTokenizer"); the caller closes the tokenizer.  Tokens
 * are those of transformers without the special tokens around a text.  Known:
 *
 *   BPE over bytes       with the words of GPT-2 or of BLOOM
 *   WordPiece            with BERT's normalizer and words
 *
 * The end of a document is eos_token of tokenizer_config.json beside the file,
 * else <|endoftext|> or </s>; of a WordPiece it is [SEP].
 *
 * MTLM_EXIT_INPUT with what was expected: the file breaks its format, or is a
 * tokenizer of another kind. */
const struct mtlm_tokenizer *mtlm_tokenizer_json_open(const char *path,
                                                      struct mtlm_error *err);

#endif /* MTLM_TOKENIZER_JSON_H */
