#ifndef MTLM_GRAPH_STAGE_KIND_H
#define MTLM_GRAPH_STAGE_KIND_H

/* Virtual stages per rank and their placement: what --schedule auto tries. */

#include "graph/build/program.h"

struct mtlm_stage_kind {
    int chunks;
    enum mtlm_placement placement;
};

enum { MTLM_STAGE_KINDS = 3 };

/* Placement loop with one virtual stage, placement V with two, placement loop
 * with two. */
extern const struct mtlm_stage_kind mtlm_stage_kinds[MTLM_STAGE_KINDS];

/* Which kinds are tried: bit i is kind i. */
enum {
    MTLM_KINDS_GIVEN = 0, /* none: the stages of a config stay */
    MTLM_KINDS_OF_TWO = 6,
    MTLM_KINDS_ALL = 7
};

/* Sets *one to config with the stages of that kind.  Returns false if the
 * model, the pipeline or config->times have no such stages. */
bool mtlm_stage_kind_place(const struct mtlm_program_config *config,
                           const struct mtlm_stage_kind *kind,
                           struct mtlm_program_config *one);

/* More virtual stages per rank, placement loop, all of equal layers: calls
 * try(arg, config with these stages) for 3 and more of them, as often as the
 * model allows. */
void mtlm_stage_kind_deeper(const struct mtlm_program_config *config,
                            void (*try)(void *arg,
                                        const struct mtlm_program_config *one),
                            void *arg);

#endif /* MTLM_GRAPH_STAGE_KIND_H */
