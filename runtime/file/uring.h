#ifndef MTLM_URING_H
#define MTLM_URING_H

#include <stdbool.h>
#include <stdint.h>

/* io_uring of Linux, by liburing: a long read or write as several requests at
 * once, which a fast disk serves at the same time. */
struct mtlm_uring;

/* Returns a ring, which the caller destroys.  NULL: this build has no liburing,
 * or the system refuses, as some containers do. */
struct mtlm_uring *mtlm_uring_create(void);

/* Frees the ring, which has no request; NULL is allowed. */
void mtlm_uring_destroy(struct mtlm_uring *uring);

/* Reads or writes all bytes at offset, as pread() and pwrite() do in a loop.
 * Returns 0, or -1 with the reason in errno; 0 in errno: the file is short.  No
 * request is under way when the function returns.  One thread at a time. */
int mtlm_uring_transfer(struct mtlm_uring *uring, int fd, bool writes,
                        void *memory, int64_t bytes, int64_t offset);

#endif /* MTLM_URING_H */
