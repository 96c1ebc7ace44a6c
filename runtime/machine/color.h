#ifndef MTLM_COLOR_H
#define MTLM_COLOR_H

#include "runtime/machine/recorder.h"

/* Colours of the parts of a training step, 0xrrggbb, in every picture and
 * trace.  Source: the "bright" scheme by Paul Tol.  Colour-blind people can
 * tell the colours apart, also in print. */
enum mtlm_color {
    MTLM_COLOR_FORWARD = 0x4477aa,
    MTLM_COLOR_BACKWARD = 0xee6677,
    MTLM_COLOR_WEIGHT = 0xccbb44,
    MTLM_COLOR_OPTIMIZER = 0x228833,
    MTLM_COLOR_EVAL = 0x997755,
    MTLM_COLOR_SAVE = 0xbbbbbb,
    MTLM_COLOR_HOST = 0x444444, /* nodes on host state: tokens, flags */
    MTLM_COLOR_TP = 0xaa3377,
    MTLM_COLOR_PP = 0x66ccee,
    MTLM_COLOR_DP = 0x777777,
    MTLM_COLOR_DISK = 0x332288, /* of the "muted" scheme by the same */
};

/* Returns the colour of computations of a phase. */
static inline enum mtlm_color mtlm_color_of_phase(enum mtlm_phase phase)
{
    switch (phase) {
    case MTLM_PHASE_FORWARD:
        return MTLM_COLOR_FORWARD;
    case MTLM_PHASE_BACKWARD:
        return MTLM_COLOR_BACKWARD;
    case MTLM_PHASE_WEIGHT:
        return MTLM_COLOR_WEIGHT;
    case MTLM_PHASE_EVAL:
        return MTLM_COLOR_EVAL;
    case MTLM_PHASE_SAVE:
        return MTLM_COLOR_SAVE;
    default:
        return MTLM_COLOR_OPTIMIZER;
    }
}

#endif /* MTLM_COLOR_H */
