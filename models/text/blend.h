#ifndef MTLM_BLEND_H
#define MTLM_BLEND_H

#include "runtime/base/sample.h"

/* Samples of several sources in one order.
 *
 * Source: Megatron-LM, BlendedDataset (helpers.cpp, build_blending_indices).
 * Weights are divided by their sum.  Sample n comes from the source i with the
 * largest error weight[i] * max(n, 1) - count[i]; of equal errors, the first
 * source.  count[i]: samples of source i before sample n; the sample is number
 * count[i] of its source.  So the order is the same for each split, and sources
 * repeat by themselves. */

/* Creates the blend, which owns the n sources, 1 .. MTLM_BLEND_MOST; weight [n]
 * is positive.  All sources have the same seq_length.  The caller destroys the
 * blend.  Memory: 320 KiB, and 8 bytes per source for each 16 384 samples. */
enum { MTLM_BLEND_MOST = 65535 };
struct mtlm_samples *mtlm_blend_create(struct mtlm_samples *const *source,
                                       const double *weight, int n);

/* Writes how many of samples 0 .. samples - 1 come from each source to count
 * [n].  Takes time for each sample. */
void mtlm_blend_count(const double *weight, int n, int64_t samples,
                      int64_t *count);

#endif /* MTLM_BLEND_H */
