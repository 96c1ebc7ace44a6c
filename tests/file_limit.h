#ifndef MTLM_TESTS_FILE_LIMIT_H
#define MTLM_TESTS_FILE_LIMIT_H

#include <sys/resource.h>

/* As of a file system that is full: no file of this process grows beyond that,
 * and what would is refused with EFBIG.  RLIM_INFINITY: any size. */
void file_limit(rlim_t bytes);

#endif /* MTLM_TESTS_FILE_LIMIT_H */
