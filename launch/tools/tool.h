#ifndef MTLM_TOOL_H
#define MTLM_TOOL_H

/* Start and end of the programs beside mtlm-dag: mtlm-preprocess, mtlm-convert,
 * mtlm-report. */

#include "runtime/base/error.h"

/* Ignores SIGXFSZ and SIGPIPE: a failed write reports its reason. */
void mtlm_tool_start(void);

/* Defers SIGINT, SIGTERM and SIGHUP to mtlm_tool_stopped(); an ignored signal
 * (nohup) stays ignored.  A second signal ends the program at once. */
void mtlm_tool_catch_signals(void);

/* -1 and MTLM_EXIT_INTERRUPTED after a deferred signal. */
int mtlm_tool_stopped(struct mtlm_error *err);

/* Returns the exit status for rc; prints *err unless rc is 0.  After a deferred
 * signal the program dies of that signal here. */
int mtlm_tool_end(int rc, const struct mtlm_error *err);

#endif /* MTLM_TOOL_H */
