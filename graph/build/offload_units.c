/* Appends units and pieces to the rank's file of offloaded state. */

#include "config.h"

#include "graph/build/offload_units.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_file.h"

void mtlm_offload_units_append_piece(struct mtlm_program *program,
                                     int64_t bytes)
{
    struct mtlm_offloaded *o = &program->offloaded;

    o->piece = mtlm_realloc(o->piece, o->n_pieces + 1, sizeof(*o->piece));
    o->piece[o->n_pieces++] = bytes;
}

struct mtlm_unit *mtlm_offload_units_add(struct mtlm_program *program,
                                         enum mtlm_storage storage, int bucket,
                                         int first)
{
    struct mtlm_offloaded *o = &program->offloaded;

    o->unit = mtlm_realloc(o->unit, o->n_units + 1, sizeof(*o->unit));
    o->unit[o->n_units] = (struct mtlm_unit){.storage = storage,
                                             .bucket = bucket,
                                             .first = first,
                                             .piece = o->n_pieces,
                                             .saved_piece = -1};
    return &o->unit[o->n_units++];
}

void mtlm_offload_units_add_piece(struct mtlm_program *program,
                                  struct mtlm_unit *unit, int64_t bytes)
{
    mtlm_offload_units_append_piece(program, bytes);
    unit->pieces++;
    unit->bytes += mtlm_offload_file_padded(bytes);
}
