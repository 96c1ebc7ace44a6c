#ifndef MTLM_TESTS_OVERRIDE_MODES_H
#define MTLM_TESTS_OVERRIDE_MODES_H

#include <stdbool.h>

/* Sets whether root passes over the modes of files: without that capability
 * root is refused like any other user.  Returns whether that worked. */
bool override_modes(bool on);

#endif /* MTLM_TESTS_OVERRIDE_MODES_H */
