#ifndef MTLM_GRAPH_OFFLOAD_UNITS_H
#define MTLM_GRAPH_OFFLOAD_UNITS_H

/* Units and pieces of the rank's file of offloaded state. */

#include "graph/build/program.h"

/* Appends a unit without pieces, whose first piece comes next.  bucket, first:
 * see struct mtlm_unit.  The address is valid until the next call. */
struct mtlm_unit *mtlm_offload_units_add(struct mtlm_program *program,
                                         enum mtlm_storage storage, int bucket,
                                         int first);

/* Appends a piece of so many bytes to the file. */
void mtlm_offload_units_append_piece(struct mtlm_program *program,
                                     int64_t bytes);

/* Appends a piece to the unit that was added last. */
void mtlm_offload_units_add_piece(struct mtlm_program *program,
                                  struct mtlm_unit *unit, int64_t bytes);

#endif /* MTLM_GRAPH_OFFLOAD_UNITS_H */
