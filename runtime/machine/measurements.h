#ifndef MTLM_MEASUREMENTS_H
#define MTLM_MEASUREMENTS_H

#include "runtime/base/error.h"

/* The directory where StarPU keeps its measurements of this host: of buses, in
 * bus/, and of tasks, in codelets/.  StarPU aborts where it cannot write. */

/* Checks that StarPU can work with the directory; makes the directory unless
 * there is one.  A directory without write access serves if StarPU measured
 * this host there before, and if the policy keeps no durations of tasks.
 * Called before StarPU starts.  -1 and MTLM_EXIT_IO: StarPU would abort. */
int mtlm_measurements_check(struct mtlm_error *err);

#endif /* MTLM_MEASUREMENTS_H */
