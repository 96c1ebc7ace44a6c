#ifndef MTLM_WEIGHT_HASH_H
#define MTLM_WEIGHT_HASH_H

/* --weight-hash: one number for the weights of all ranks.  Equal weights have
 * equal hashes under any layout of one tensor-parallel size. */

#include "launch/job/job.h"

struct mtlm_weight_hash;

/* Hashes this rank's weights while the engine runs.  The caller passes the
 * result to print. */
struct mtlm_weight_hash *mtlm_weight_hash_read(struct mtlm_job *job);

/* Rank 0 prints the hash.  Frees hash.  Collective; the engine is stopped. */
void mtlm_weight_hash_print(struct mtlm_weight_hash *hash,
                            struct mtlm_job *job);

#endif /* MTLM_WEIGHT_HASH_H */
