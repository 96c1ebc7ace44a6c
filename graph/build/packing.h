#ifndef MTLM_GRAPH_PACKING_H
#define MTLM_GRAPH_PACKING_H

/* Packed weights: --pack-weights.  A pack node (codelets/pack.h) copies a bf16
 * weight once per iteration, before the first microbatch: for forward products,
 * for gradients of inputs, or two copies for both.  Products of all
 * microbatches read the copy; else each product packs the weight anew.
 * Gradients of weights, embeddings, validations and generation read the weight
 * itself.  Packed and plain products have the same bits.
 *
 * A copy saves time if it has enough readers per iteration.  Measured with
 * oneDNN 2.6.3 on a Zen 5 core, weights of GPT-2 124M; a share of the time of
 * one product of so many rows:
 *
 *                          128 rows    256 rows    1024 rows
 *   forward                saves 11 %  5 %         5 %
 *     the copy takes       24 %        12 %        3 %
 *   gradient of an input   saves 19 %  10 %        5 %
 *     the copy takes       22 %        11 %        3 %
 *
 * With AMX on two cores of a Xeon (family 6, model 207):
 *
 *                          128 rows    256 rows    512 rows
 *   forward                saves 12 %  7 %         3 %
 *   gradient of an input   saves 24 %  14 %        8 %
 *     a copy takes         59 %        41 %        19 %
 *
 * There gradients of BERT 336M with 256 rows save 25 %.
 *
 * Two cores that copy at once share the memory: copies then take up to twice as
 * long.  MTLM_PACKING_AUTO packs for two readers or more with rows enough
 * together: MTLM_PACKING_FORWARD, or MTLM_PACKING_GRADIENT for gradients; with
 * AMX the two limits of AMX.  With oneDNN packed gradients save 1 % of an
 * iteration with 2 x 128 rows, and 2 to 5 % with 2 x 256.  MTLM_PACKING_YES
 * packs what a product can read. */

#include "graph/build/program.h"

enum {
    MTLM_PACKING_FORWARD = 1536,
    MTLM_PACKING_GRADIENT = 256,
    MTLM_PACKING_AMX_FORWARD = 3072,
    MTLM_PACKING_AMX_GRADIENT = 512,
};

/* Adds the pack nodes of all virtual stages, and makes products of training
 * read the packed weights.  Does nothing without config.packing, for values
 * other than bf16, for processors that do not multiply bf16, with versions of
 * weights, with offloaded state, and with config.eval_only.  Leaves a weight
 * alone if its readers prefer different layouts, or a larger one.
 * Call after differentiation. */
void mtlm_packing_apply(struct mtlm_program *program);

/* Returns whether the program packs any weight. */
bool mtlm_packing_is_used(const struct mtlm_program *program);

/* Returns why mtlm_packing_apply() does nothing with this config, though
 * config->packing asks for packed weights: a fragment such as "weights are
 * not bf16".  NULL: it may pack. */
const char *mtlm_packing_hindrance(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_PACKING_H */
