#ifndef MTLM_TESTS_FORBID_URING_H
#define MTLM_TESTS_FORBID_URING_H

#include <stdbool.h>

/* As in a container that forbids io_uring: from now on the system refuses a new
 * ring to this thread and its children.  Returns whether the system can do
 * that. */
bool forbid_uring(void);

#endif /* MTLM_TESTS_FORBID_URING_H */
