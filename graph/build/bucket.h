#ifndef MTLM_GRAPH_BUCKET_H
#define MTLM_GRAPH_BUCKET_H

/* Buckets: one message reduces the gradients of all parameters of a bucket.
 * The message starts when the last microbatch has added to these gradients.
 *
 * One memory block holds the weights of a bucket, another block the gradients.
 * Replicated parameters, which every tensor-parallel rank holds whole, come
 * first.  Sharded parameters follow.
 *
 * The layers of a virtual stage share buckets, a few layers each.  The word
 * embedding has a bucket of its own.  The output layer's copy of the word
 * embedding has another bucket.
 *
 * The distributed optimizer (arXiv 1910.02054, stage 1) cuts both blocks into
 * one shard [elems / dp] per data-parallel rank.  Shards may end inside a
 * parameter.  A rank receives the summed gradients of its shard in place.  The
 * rank steps only the elements of its shard, and has moments and masters for
 * these only.  All ranks then gather the weights while the next iteration
 * begins. */

#include "graph/build/program.h"

/* Default of --ddp-bucket-size (Megatron-LM's option), in elements that this
 * rank holds.  A bucket of this size closes at the end of a layer. */
#define MTLM_BUCKET_SIZE 40000000

/* Assigns the program's parameters to buckets; creates moments and masters.
 * Weights and gradients must exist.  All ranks of a data-parallel group make
 * the same buckets, and with the distributed optimizer step different shards.
 * mtlm_program_destroy() frees the buckets. */
void mtlm_buckets_create(struct mtlm_program *program);

/* Appends nodes to the list reduce of a virtual stage; the nodes complete the
 * gradients.  chunk: number of the stage on this rank.
 *
 * With sequence parallelism, the nodes first sum gradients of replicated
 * parameters over the tensor-parallel ranks.  Then the nodes sum all gradients
 * over the data-parallel ranks. */
void mtlm_buckets_build_reduce(struct mtlm_program *program, int chunk);

/* Appends the all-gather of the bucket's stepped weights to the graph's current
 * list (mtlm_graph_at()).  Does nothing without the distributed optimizer, or
 * if the bucket's weights alias another bucket's. */
void mtlm_bucket_build_gather(struct mtlm_program *program,
                              const struct mtlm_bucket *bucket);

/* Returns whether each data-parallel rank steps a shard only: the distributed
 * optimizer in a training with dp > 1. */
bool mtlm_buckets_sharded(const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_BUCKET_H */
