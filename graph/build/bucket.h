#ifndef MTLM_GRAPH_BUCKET_H
#define MTLM_GRAPH_BUCKET_H

#include "graph/build/program.h"

/* Parameters whose gradients are reduced by one message, as soon as the last
 * microbatch's W of all of them is done.  Their weights lie one after the
 * other in one block of memory, so do their gradients: first the parameters
 * that every tensor-parallel rank has whole, then those that it has a shard
 * of.  A virtual stage has a bucket for every few layers; the word embedding
 * has one of its own, the same on the first and on the last stage, and so has
 * its use as output layer.
 *
 * With the distributed optimizer (arXiv 1910.02054, stage 1) the block is cut
 * into one shard [elems / dp] for each data-parallel rank, wherever parameters
 * begin: a rank gets the sum of the gradients of its shard only, in place of
 * its own, steps the pieces of parameters that lie in it, which are all that it
 * has moments and masters for, and all gather the weights again, while the next
 * iteration begins. */

/* Elements that a bucket has at the most where layers allow, as Megatron-LM's
 * --ddp-bucket-size. */
#define MTLM_BUCKET_SIZE 40000000

/* Deals out the program's parameters, whose weights and gradients exist, to
 * its buckets, and makes the moments.  Everything follows from model and
 * layout alone, and the ranks of a data-parallel group get the same. */
void mtlm_buckets_create(struct mtlm_program *program);

/* Appends to stage->reduce what makes the gradients of that chunk complete:
 * with sequence parallelism the sums over tensor-parallel ranks of what these
 * have parts of, the replicated parameters; the sums over data-parallel
 * ranks. */
void mtlm_buckets_build_reduce(struct mtlm_program *program, int chunk);

/* Appends to the current list the message that gives every rank the weights
 * that others stepped, if any. */
void mtlm_bucket_build_gather(struct mtlm_program *program,
                              const struct mtlm_bucket *bucket);

/* Whether the optimizer's work is shared among data-parallel ranks. */
bool mtlm_buckets_sharded(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_BUCKET_H */
