#ifndef MTLM_GRAPH_DECODE_H
#define MTLM_GRAPH_DECODE_H

/* Generation of text: the part of a program that continues sequences token by
 * token.
 *
 * A layer keeps keys and values of all positions of a sequence in a cache, one
 * slot for each of config.decoding.sequences.  A submission takes a piece of
 * a prompt or one new token through the stages.  At the end of a prompt or
 * step, the last stage draws a token and sends the token to all other pipeline
 * ranks: the first stage embeds the token, every host reads it.
 *
 * The use number of an item is the number of its sequence's slot.  Submissions
 * for different sequences share no data but rings, so stages work on different
 * sequences at a time.  Pieces of a prompt have a fixed number of rows;
 * position and rows in use come at run time (struct mtlm_context). */

#include "graph/build/program.h"

/* Builds program->decode and the lists of all stages.  Needs
 * config.decoding and a GPT. */
void mtlm_decode_build(struct mtlm_program *program);

#endif /* MTLM_GRAPH_DECODE_H */
