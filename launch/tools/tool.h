#ifndef MTLM_TOOL_H
#define MTLM_TOOL_H

#include "runtime/base/error.h"

/* What programs beside mtlm-dag have in common: mtlm-preprocess, mtlm-convert,
 * mtlm-report. */

/* From here on a write that cannot be done says why instead of ending the
 * process. */
void mtlm_tool_start(void);

/* And SIGINT, SIGTERM and SIGHUP, but one that was ignored (nohup), are heeded
 * where the program looks; the second one ends it at once. */
void mtlm_tool_catch_signals(void);

/* -1 and MTLM_EXIT_INTERRUPTED once one came. */
int mtlm_tool_stopped(struct mtlm_error *err);

/* The exit status of a program that did what it was to (rc 0) or not: then the
 * reason is printed.  A signal ends the program here as it would have. */
int mtlm_tool_end(int rc, const struct mtlm_error *err);

#endif /* MTLM_TOOL_H */
