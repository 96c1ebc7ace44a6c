#ifndef MTLM_NCCL_H
#define MTLM_NCCL_H

/* NCCL, which carries collectives between GPUs, as far as the rest of the
 * program knows of it. */

/* The library's version, "2.28.9"; NULL: this program is built without. */
const char *mtlm_nccl_version(void);

#endif /* MTLM_NCCL_H */
