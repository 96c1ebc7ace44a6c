#ifndef MTLM_STAGE_TIMES_FILE_H
#define MTLM_STAGE_TIMES_FILE_H

#include "graph/schedule/stage_times.h"
#include "runtime/base/error.h"

/* Sets *times from the file path of --stage-times: lines key = value in
 * sections.  [stage K] or [stage A-B] has forward_ms, backward_ms and weight_ms
 * of a microbatch on one worker; every stage from 0 on has a section.  [hop]
 * has latency_us of a message between two ranks; without it messages take no
 * time.  The caller frees *times after success.  -1 with MTLM_EXIT_USAGE and a
 * sentence with file, stage and value. */
int mtlm_stage_times_file_read(struct mtlm_stage_times *times, const char *path,
                               struct mtlm_error *err);

#endif /* MTLM_STAGE_TIMES_FILE_H */
