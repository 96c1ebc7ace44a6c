#ifndef MTLM_GRAPH_BUCKET_H
#define MTLM_GRAPH_BUCKET_H

/* Buckets: parameters whose gradients one message reduces as soon as the last
 * microbatch's W of all of them ends.
 *
 * The weights of a bucket are contiguous in one memory block, the gradients in
 * another.  Parameters that every tensor-parallel rank holds whole come first,
 * sharded parameters after them.  A virtual stage has one bucket for every few
 * layers.  The word embedding has a bucket of its own, equal on the first and
 * the last stage; so has its use as output layer.
 *
 * With the distributed optimizer (arXiv 1910.02054, stage 1) the block is cut
 * into one shard [elems / dp] per data-parallel rank, regardless of parameter
 * boundaries.  A rank receives the summed gradients of its shard in place.  The
 * rank steps the pieces of parameters in its shard and keeps moments and
 * masters for these pieces only.  All ranks then gather the weights while the
 * next iteration begins. */

#include "graph/build/program.h"

/* Maximum elements of a bucket, where layer boundaries allow; as Megatron-LM's
 * --ddp-bucket-size. */
#define MTLM_BUCKET_SIZE 40000000

/* Deals the program's parameters out to buckets and creates the moments.
 * Weights and gradients must exist.  The result depends on model and layout
 * only and is equal on all ranks of a data-parallel group.
 * mtlm_program_destroy() frees the buckets. */
void mtlm_buckets_create(struct mtlm_program *program);

/* Appends the nodes that complete the chunk's gradients to stage->reduce.  With
 * sequence parallelism, replicated parameters are summed over tensor-parallel
 * ranks.  All parameters are summed over data-parallel ranks. */
void mtlm_buckets_build_reduce(struct mtlm_program *program, int chunk);

/* Appends the all-gather of the bucket's stepped weights to the current list.
 * Does nothing if every rank steps whole parameters, or if the weights are
 * those of another bucket. */
void mtlm_bucket_build_gather(struct mtlm_program *program,
                              const struct mtlm_bucket *bucket);

/* Returns whether the data-parallel ranks share the optimizer's work. */
bool mtlm_buckets_sharded(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_BUCKET_H */
