#ifndef MTLM_TRACE_PAJE_HEADER_H
#define MTLM_TRACE_PAJE_HEADER_H

#include <stdio.h>

#include "launch/trace/node.h"
#include "launch/trace/tracks.h"

/* How paje.trace begins: what its events look like, types of containers,
 * states and variables, and the containers.  The layout is that of StarPU 1.3,
 * which StarVZ reads; a field is separated from the next by one TAB. */

/* Numbers of the events. */
enum mtlm_paje_event {
    MTLM_PAJE_CONTAINER_TYPE = 1,
    MTLM_PAJE_EVENT_TYPE = 2,
    MTLM_PAJE_STATE_TYPE = 3,
    MTLM_PAJE_VARIABLE_TYPE = 4,
    MTLM_PAJE_VALUE = 6,
    MTLM_PAJE_CREATE = 7,
    MTLM_PAJE_DESTROY = 8,
    MTLM_PAJE_STATE = 10,
    MTLM_PAJE_VARIABLE = 13,
    MTLM_PAJE_TASK = 20, /* a state with what a task has besides */
    /* What a message has besides its state, which StarVZ wants to be as
     * short as it is: what came behind would become part of its value. */
    MTLM_PAJE_MESSAGE = 21,
};

/* Definitions of the events; types; values of states, which are the operations
 * with a colour. */
void mtlm_paje_put_header(FILE *f, const struct mtlm_trace_records *records,
                          const uint32_t color[MTLM_OP_COUNT]);

/* The containers have aliases that are their names: "0_program",
 * "0_scheduler", of a track "0_CPU0" or, for communication, "0_TPmpict": in
 * the word behind the rank StarVZ looks for CPU, CUDA, mpict, and ViTE shows
 * its first letters. */
void mtlm_paje_put_program(FILE *f, int rank);
void mtlm_paje_put_scheduler(FILE *f, int rank);
void mtlm_paje_put_track(FILE *f, const struct mtlm_trace_info *info,
                         const struct mtlm_trace_track *track);

/* Aliases of a track's type and of the type of its states. */
const char *mtlm_paje_type(const struct mtlm_trace_track *track);
const char *mtlm_paje_state_type(const struct mtlm_trace_track *track);

#endif /* MTLM_TRACE_PAJE_HEADER_H */
