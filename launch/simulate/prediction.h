#ifndef MTLM_PREDICTION_H
#define MTLM_PREDICTION_H

/* The numbers of a simulated iteration. */

#include "graph/predict/choose.h"
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
    /* Seconds of the busiest rank's matrix products at its peak: the floor of
     * an iteration.  NAN: no peak. */
    double products_s;
    double loaded_bytes, stored_bytes; /* of the busiest rank, by its disk */
    double memory_bytes; /* of the fullest device; with a disk, of the fullest
                          * host */
    int fullest;         /* its pipeline rank; -1: a host */
    double limit_bytes;  /* of a device or host; 0: unknown */
    /* Of published code: what F leaves of a layer, what without recomputation,
     * and bytes of a parameter (graph/predict/published_memory.h).  NULL, 0:
     * our own memory. */
    const char *kept, *kept_whole;
    double parameter_bytes;
    /* Of the cluster file: ranks of a host, 0: all; hosts, 0: unknown. */
    int64_t devices, hosts;
    bool timed; /* the file has times of stages, not of kernels */
};

/* Returns whether state of the job is offloaded to a disk. */
static inline bool mtlm_prediction_uses_disk(const struct mtlm_prediction *p)
{
    return p->loaded_bytes + p->stored_bytes > 0;
}

/* Returns the numbers of a run that was evaluated, on such hosts. */
struct mtlm_prediction mtlm_prediction_make(const struct mtlm_folded_run *run,
                                            const struct mtlm_options *options,
                                            const struct mtlm_cluster *cluster,
                                            const struct mtlm_hosts *hosts);

#endif /* MTLM_PREDICTION_H */
