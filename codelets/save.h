#ifndef MTLM_SAVE_OP_H
#define MTLM_SAVE_OP_H

/* Time spent on checkpoint copies. */

#include <stdint.h>

/* Returns the time that workers of this process have spent on checkpoint copies
 * so far, in ns, summed over workers. */
int64_t mtlm_save_copies_ns(void);

#endif /* MTLM_SAVE_OP_H */
