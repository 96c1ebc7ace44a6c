#ifndef MTLM_TRACE_PAJE_HEADER_H
#define MTLM_TRACE_PAJE_HEADER_H

#include <stdio.h>

#include "launch/trace/node.h"
#include "launch/trace/tracks.h"

/* The header of paje.trace: events, types of containers, states and variables,
 * and the containers, as in StarPU 1.3, which StarVZ reads.  One TAB separates
 * two fields. */

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
    MTLM_PAJE_TASK = 20, /* a state with the fields of a task */
    /* The fields of a message.  Its state stays short: StarVZ would read more
     * fields as part of the value. */
    MTLM_PAJE_MESSAGE = 21,
};

/* Writes event definitions, types, and one state value per operation with a
 * colour. */
void mtlm_paje_header_put(FILE *f, const struct mtlm_trace_records *records,
                          const uint32_t color[MTLM_OP_COUNT]);

/* Write containers.  The alias of a container is its name: "0_program",
 * "0_scheduler", "0_CPU0" of a worker's track, "0_TPmpict" of communication.
 * StarVZ looks for CPU, CUDA or mpict after the rank. */
void mtlm_paje_header_put_program(FILE *f, int rank);
void mtlm_paje_header_put_scheduler(FILE *f, int rank);
void mtlm_paje_header_put_track(FILE *f, const struct mtlm_trace_info *info,
                                const struct mtlm_trace_track *track);

/* Alias of the track's type; alias of the type of its states. */
const char *mtlm_paje_header_type(const struct mtlm_trace_track *track);
const char *mtlm_paje_header_state_type(const struct mtlm_trace_track *track);

#endif /* MTLM_TRACE_PAJE_HEADER_H */
