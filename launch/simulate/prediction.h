#ifndef MTLM_PREDICTION_H
#define MTLM_PREDICTION_H

/* The numbers of a simulated iteration. */

#include "graph/predict/exposure.h"
#include "launch/options/options.h"
#include "launch/simulate/folded_run.h"

/* FLOP/s and utilisation count the peak of the cluster file; NAN: the file has
 * none, because it gives the times of stages. */
struct mtlm_prediction {
    struct mtlm_layout layout; /* of the first rank */
    int ranks;
    int64_t micro_batch, microbatches; /* m: per pipeline */
    int folded;                        /* ranks that are evaluated */
    bool exact;                        /* mtlm_folded_run_is_exact() */
    int nodes;                         /* evaluated nodes */
    const char *policy;
    double hold; /* as in struct mtlm_evaluate_program */
    /* StarPU ran the policy: the evaluator's iteration_s; else 0. */
    double evaluated_s;
    double iteration_s, samples_per_s, tokens_per_s;
    /* Of an iteration: mtlm_model_flops(), and with what recomputation adds. */
    double model_flops, hardware_flops;
    /* Per device and second; as shares of the peak (arXiv 2205.05198, section
     * 6.3). */
    double model_flop_per_s, hardware_flop_per_s, mfu, hfu;
    double peak_flop_per_s; /* of a rank, whose workers are devices of the
                             * cluster file; NAN: unknown */
    double narrow_bytes;    /* of an element of this fp32 job, as the cluster
                             * file says; 0: 4, or no fp32 job */
    double bubble;          /* idle share of the workers of all ranks, 0 .. 1 */
    int busiest;            /* pipeline rank whose workers compute longest */
    double busiest_bubble;
    struct mtlm_exposure exposure; /* of the busiest rank */
    double memory_bytes;           /* of the fullest device */
    int fullest;                   /* its pipeline rank */
    double limit_bytes;            /* of a device; 0: unknown */
    /* Of published code: what F leaves of a layer, and bytes of a parameter
     * (graph/predict/published_memory.h).  NULL, 0: our own memory. */
    const char *kept;
    double parameter_bytes;
    /* Of the cluster file: ranks of a host, 0: all; hosts, 0: unknown. */
    int64_t devices, hosts;
    bool timed; /* the file has times of stages, not of kernels */
};

/* Returns the numbers of a run that was evaluated. */
struct mtlm_prediction mtlm_prediction_make(const struct mtlm_folded_run *run,
                                            const struct mtlm_options *options,
                                            const struct mtlm_cluster *cluster);

#endif /* MTLM_PREDICTION_H */
