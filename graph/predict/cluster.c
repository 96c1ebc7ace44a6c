/* The machine that plans assume where no file describes one. */

#include "config.h"

#include "graph/predict/cluster.h"

const struct mtlm_cluster mtlm_cluster_usual = {
    .flops_per_s = 92.7e9,
    .efficiency = 0.95,
    .bytes_per_s = 27.5e9,
    .memory_efficiency = 1,
    .launch_s = 10e-6,
    .element_bytes = 4,
    .host = {.latency_s = 100e-6, .bytes_per_s = 3e9, .given = true},
    .network = {.latency_s = 150e-6, .bytes_per_s = 1.25e9, .given = true}};
