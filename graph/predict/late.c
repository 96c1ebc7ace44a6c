/* Evaluations behind late messages. */

#include "config.h"

#include <stdint.h>

#include "graph/predict/late.h"

/* What messages take more, as shares of F. */
static const double latency[] = {5e-3, 1e-2, 2e-2};

enum { LATENCIES = sizeof(latency) / sizeof(latency[0]) };

double mtlm_late_seconds(mtlm_late_evaluate *evaluate, void *arg,
                         double forward)
{
    double sum = 0;

    for (int i = 0; i < LATENCIES; i++)
        sum += evaluate(arg, latency[i] * forward);
    return sum / LATENCIES;
}

struct mtlm_evaluate mtlm_late_pipeline(const struct mtlm_evaluate *pipeline,
                                        double more)
{
    struct mtlm_evaluate late = *pipeline;

    late.latency = 2 * more; /* the longest one: half on average */
    return late;
}

/* The mixing function of splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

double mtlm_late_share(int from, int to, int microbatch)
{
    const uint64_t x = mix(mix(mix(from) + to) + microbatch);

    return (double) (x >> 11) / (double) (UINT64_C(1) << 53);
}
