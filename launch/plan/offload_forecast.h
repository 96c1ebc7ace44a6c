#ifndef MTLM_OFFLOAD_FORECAST_H
#define MTLM_OFFLOAD_FORECAST_H

/* The time of an iteration with offloaded state, at rates measured on this
 * machine. */

#include "graph/build/program.h"
#include "graph/predict/exposure.h"
#include "launch/options/options.h"
#include "runtime/file/offload_file.h"

/* Rates of this machine. */
struct mtlm_offload_rates {
    double flops_per_s;              /* of matrix products on a worker */
    struct mtlm_offload_speed speed; /* of the disk */
};

struct mtlm_offload_forecast {
    double iteration_s;
    /* Of the rank whose workers compute longest: matrix products at that rate,
     * and what its idle time is spent on. */
    double products_s;
    struct mtlm_exposure exposure;
};

/* Measures the FLOP/s of a worker in products as large as the model's. */
double mtlm_offload_forecast_flops(const struct mtlm_options *options);

/* Measures the rates in at most a few seconds.  The disk is that of
 * --offload-dir, or of the nearest directory above that exists.  A speed of 0:
 * the disk cannot be measured. */
struct mtlm_offload_rates mtlm_offload_forecast_measure(
    const struct mtlm_options *options);

/* Evaluates one training iteration of config (graph/predict/exposure.h):
 * per_host ranks of each host share the disk, and all else is the default
 * machine (graph/predict/cluster.h).  tasks: of all pipeline ranks.  Returns
 * false for evaluations only, for unknown rates, and for iterations of too many
 * tasks. */
bool mtlm_offload_forecast_make(const struct mtlm_program_config *config,
                                const struct mtlm_offload_rates *rates,
                                int per_host, double tasks,
                                struct mtlm_offload_forecast *forecast);

/* Prints the forecast in a line that begins with `begin`. */
void mtlm_offload_forecast_print(const struct mtlm_offload_forecast *forecast,
                                 const struct mtlm_offload_rates *rates,
                                 int workers, const char *begin, FILE *out);

#endif /* MTLM_OFFLOAD_FORECAST_H */
