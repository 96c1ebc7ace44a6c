#ifndef MTLM_GRAPH_PROGRAM_BUILD_H
#define MTLM_GRAPH_PROGRAM_BUILD_H

/* Construction of a program (graph/build/program.h). */

#include "graph/build/program.h"

/* Returns the program of the rank that config->layout describes.  The caller
 * frees the program with mtlm_program_destroy().  Copies config and borrows
 * what config points to. */
struct mtlm_program *mtlm_program_build(
    const struct mtlm_program_config *config);

#endif /* MTLM_GRAPH_PROGRAM_BUILD_H */
