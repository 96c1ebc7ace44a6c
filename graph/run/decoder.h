#ifndef MTLM_RUN_DECODER_H
#define MTLM_RUN_DECODER_H

/* Generation of text: submits rows of sequences, and hands over the tokens.
 * All ranks make the same calls in the same order.  The program has
 * config.decoding. */

#include "graph/run/run.h"

struct mtlm_run_decode;

/* Input of a submission: the sequence in a slot, and its positions. */
struct mtlm_run_decode_input {
    int slot;         /* 0 .. config.decoding.sequences - 1 */
    int64_t sequence; /* its sample; its stream of random numbers */
    int64_t position; /* of the first row */
    int64_t rows;
};

/* Clears the caches of all slots.  Borrows run.  The caller frees the result
 * with mtlm_run_decode_destroy(). */
struct mtlm_run_decode *mtlm_run_decode_create(struct mtlm_run *run);

/* Waits for all submissions and frees decode. */
void mtlm_run_decode_destroy(struct mtlm_run_decode *decode);

/* Submits a piece of the prompt, of at most config.decoding.prompt_rows rows.
 * Does not wait.  end: the piece is the last one, and a token follows. */
void mtlm_run_decode_prompt(struct mtlm_run_decode *decode,
                            const struct mtlm_run_decode_input *input,
                            bool end);

/* Submits the newest token, one row; a token follows.  Does not wait.  At most
 * MTLM_RUN_TOKENS_AHEAD tokens of a slot may be pending. */
enum { MTLM_RUN_TOKENS_AHEAD = 2 };
void mtlm_run_decode_step(struct mtlm_run_decode *decode,
                          const struct mtlm_run_decode_input *input);

/* Waits for the oldest pending token of the slot and returns the token. */
int32_t mtlm_run_decode_token(struct mtlm_run_decode *decode, int slot);

#endif /* MTLM_RUN_DECODER_H */
