#ifndef MTLM_GRAPH_PIPELINE_PROGRAMS_H
#define MTLM_GRAPH_PIPELINE_PROGRAMS_H

/* The programs of a pipeline with the costs of their nodes, for
 * mtlm_evaluate_program(). */

#include "graph/predict/cost.h"
#include "graph/predict/evaluate_program.h"
#include "graph/predict/noise.h"
#include "graph/predict/stage_cost.h"

/* The programs of the first rank of each tensor-parallel group, in one replica:
 * these say as much as all programs. */
struct mtlm_pipeline_programs {
    struct mtlm_program **program; /* [n] by pp_rank */
    struct mtlm_cost *cost;        /* [n] */
    double **seconds; /* [n][graph->all.n] of each node; NAN: not asked yet */
    int n;
    int slow_rank; /* pipeline rank of another speed; -1: none */
    double speed;  /* of its computation, relative to the others */
    double more_s; /* that a message between stages takes, behind its cost */
    /* Noise of the computation, borrowed; draws.noise NULL: none. */
    struct mtlm_noise_draws draws;
    /* The pass that was asked for last: its nodes ask in turn. */
    struct mtlm_noise_pass last;
    int last_rank;
    double last_factor; /* 0: none yet */
};

/* Returns the programs of config with costs on the cluster, which is borrowed;
 * NULL: mtlm_cluster_usual.  The caller frees the result with
 * mtlm_pipeline_programs_free(). */
struct mtlm_pipeline_programs mtlm_pipeline_programs_create(
    const struct mtlm_program_config *config,
    const struct mtlm_cluster *cluster);

/* Sets slow_rank and speed to those of the machine. */
void mtlm_pipeline_programs_slow(struct mtlm_pipeline_programs *p,
                                 const struct mtlm_stage_cost *machine);

/* Returns the number of nodes that a microbatch has on all pipeline ranks of
 * config, from an outline of a rank in the middle. */
int64_t mtlm_pipeline_programs_nodes(const struct mtlm_program_config *config);

/* Frees the programs. */
void mtlm_pipeline_programs_free(struct mtlm_pipeline_programs *p);

/* Returns the seconds of an item, for struct mtlm_evaluate_program.  With
 * noise, a pass takes as long as on its slowest tensor-parallel rank, for which
 * the others wait.  arg: struct mtlm_pipeline_programs. */
double mtlm_pipeline_programs_seconds(void *arg,
                                      const struct mtlm_program *program,
                                      const struct mtlm_item *item,
                                      int iteration);

/* Returns an evaluation of one iteration as in a simulation: collectives of a
 * kind take turns, and so do loads and stores of a host; of equal priorities
 * the first come starts.  hold: as in
 * struct mtlm_evaluate_program.  p is borrowed; seconds and arg may be
 * replaced. */
struct mtlm_evaluate_program mtlm_pipeline_programs_job(
    struct mtlm_pipeline_programs *p, double hold);

/* Returns the seconds of that iteration. */
double mtlm_pipeline_programs_makespan(struct mtlm_pipeline_programs *p,
                                       double hold);

/* Returns whether the item is a link of a chain of published code
 * (graph/predict/profile.h), for struct mtlm_evaluate_program.  The cluster has
 * a profile.  arg as above. */
bool mtlm_pipeline_programs_chained(void *arg,
                                    const struct mtlm_program *program,
                                    const struct mtlm_item *item);

#endif /* MTLM_GRAPH_PIPELINE_PROGRAMS_H */
