#ifndef MTLM_GRAPH_VERSION_H
#define MTLM_GRAPH_VERSION_H

/* Versions of the weights: --weight-staleness 1.
 *
 * All passes of iteration t read the weights W(t - 1), and the optimizer of
 * iteration t steps the newest ones with the delayed gradient:
 *
 *   W(t + 1) = W(t) - step(gradient at W(t - 1)),    W(-1) = W(0)
 *
 * So no pass of iteration t + 1 waits for the optimizer of iteration t: the
 * pipeline has no flush between iterations.  Source: PipeDream-2BW
 * (arXiv 2006.09503, section 3.1).
 *
 * A weight is a ring of two slots, by iteration: iteration t reads slot t
 * modulo 2, then its optimizer writes W(t + 1) there.  The other slot holds
 * W(t), the version before, which the optimizer of iteration t and the passes
 * of iteration t + 1 read.  Gradients and losses have two slots, too: iteration
 * t + 1 adds to its own while the norm of iteration t is summed up.  Masters
 * and moments have one slot, because only the optimizer uses them.  With the
 * distributed optimizer (graph/build/bucket.h) a replica steps its shard of
 * W(t + 1), and an all-gather carries W(t + 1) whole. */

#include "graph/build/program.h"

enum { MTLM_VERSIONS = 2 };

/* Returns the number of versions of a weight: 1 or MTLM_VERSIONS. */
int mtlm_version_count(const struct mtlm_program_config *config);

/* Makes tensor a ring of versions; without staleness, leaves it alone.  Tensors
 * of a block get their stride later (mtlm_version_place()). */
void mtlm_version_add(const struct mtlm_program *program,
                      struct mtlm_tensor *tensor);

/* Widens block, which holds `bytes` bytes of each version, for all versions,
 * and sets the stride of tensor, which lies in the block. */
void mtlm_version_place(const struct mtlm_program *program,
                        struct mtlm_tensor *tensor, size_t bytes);

/* Returns a new name for the version before that of `weight`: W(t) in iteration
 * t, where weight becomes W(t + 1).  weight has versions. */
struct mtlm_tensor *mtlm_version_before(struct mtlm_program *program,
                                        struct mtlm_tensor *weight);

#endif /* MTLM_GRAPH_VERSION_H */
