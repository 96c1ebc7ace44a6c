#ifndef MTLM_WEIGHT_HASH_H
#define MTLM_WEIGHT_HASH_H

/* --weight-hash: one number for the weights of all ranks.  Equal weights have
 * equal hashes under any layout of one tensor-parallel size. */

#include "launch/job/job.h"

struct mtlm_weight_hash;

/* Hashes this rank's weights while the engine runs.  mtlm_weight_hash_print()
 * frees the result. */
struct mtlm_weight_hash *mtlm_weight_hash_read(struct mtlm_job *job);

/* Prints the hash of all ranks' weights on rank 0.  Frees hash.  Collective;
 * the engine must be stopped. */
void mtlm_weight_hash_print(struct mtlm_weight_hash *hash,
                            struct mtlm_job *job);

#endif /* MTLM_WEIGHT_HASH_H */
