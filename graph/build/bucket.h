#ifndef MTLM_GRAPH_BUCKET_H
#define MTLM_GRAPH_BUCKET_H

/* Buckets: one message reduces the gradients of all parameters of a bucket. The
 * message starts when the last microbatch has added to all these gradients.
 *
 * The weights of a bucket are contiguous in one memory block, the gradients in
 * another.  Parameters that every tensor-parallel rank holds whole come first,
 * sharded parameters follow.  A virtual stage has one bucket for every few
 * layers.  The word embedding has a bucket of its own.  The output layer's copy
 * of the word embedding has another bucket of the same size.
 *
 * The distributed optimizer (arXiv 1910.02054, stage 1) cuts the block into one
 * shard [elems / dp] per data-parallel rank.  Shards may end inside a
 * parameter.  A rank receives the summed gradients of its shard in place, and
 * steps the pieces of parameters in the shard.  The rank keeps moments and
 * masters of these pieces only.  All ranks then gather the weights while the
 * next iteration begins. */

#include "graph/build/program.h"

/* Default of --ddp-bucket-size (Megatron-LM's option), in elements.  A bucket
 * closes at the first layer boundary where it holds at least so many
 * elements. */
#define MTLM_BUCKET_SIZE 40000000

/* Deals the program's parameters out to buckets; creates moments and masters.
 * Weights and gradients must exist.  The result depends on model and layout
 * only and is equal on all ranks of a data-parallel group.
 * mtlm_program_destroy() frees the buckets. */
void mtlm_buckets_create(struct mtlm_program *program);

/* Appends the nodes that complete the chunk's gradients to stage->reduce.  With
 * sequence parallelism, the nodes sum gradients of replicated parameters over
 * the tensor-parallel ranks.  They sum all gradients over the data-parallel
 * ranks. */
void mtlm_buckets_build_reduce(struct mtlm_program *program, int chunk);

/* Appends the all-gather of the bucket's stepped weights to the current list.
 * Does nothing if every rank steps whole parameters, or if the bucket's
 * weights alias the weights of another bucket. */
void mtlm_bucket_build_gather(struct mtlm_program *program,
                              const struct mtlm_bucket *bucket);

/* Returns whether the data-parallel ranks share the optimizer's work. */
bool mtlm_buckets_sharded(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_BUCKET_H */
