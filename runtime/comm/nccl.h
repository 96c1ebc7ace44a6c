#ifndef MTLM_NCCL_H
#define MTLM_NCCL_H

/* What the rest of the program knows of NCCL, which carries collectives between
 * GPUs. */

/* Returns the version of the library, "2.28.9"; NULL: the program is built
 * without NCCL. */
const char *mtlm_nccl_version(void);

#endif /* MTLM_NCCL_H */
