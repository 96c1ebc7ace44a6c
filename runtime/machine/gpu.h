#ifndef MTLM_GPU_H
#define MTLM_GPU_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/base/error.h"

/* Which GPUs there are, and which rank drives which: decisions only.  What they
 * are made of comes from runtime/machine/gpu_detect.h. */

enum { MTLM_MAX_GPUS = 16 };

struct mtlm_gpu {
    char name[64];
    uint64_t id; /* of the device, the same for every process that sees it */
    double total_bytes;
};

/* What a process sees: CUDA_VISIBLE_DEVICES may hide devices from it. */
struct mtlm_gpus {
    bool unwanted; /* nobody looked */
    /* As CUDA counts them, 13000 for 13.0: what the program was built with (0:
     * without CUDA), and the newest that the driver knows (0: no driver). */
    int toolkit, driver;
    char trouble[128]; /* CUDA's words for why it cannot use them, or "" */
    int count;
    struct mtlm_gpu gpu[MTLM_MAX_GPUS];
};

/* Refuses devices that are there but cannot be used.  No device, no driver, or
 * a program without CUDA are fine: it trains on CPUs. */
int mtlm_gpus_check(const struct mtlm_gpus *gpus, struct mtlm_error *err);

/* Why a program with CUDA trains on CPUs, as "none, there is no driver"; NULL:
 * the program has no CUDA. */
const char *mtlm_gpus_missing(const struct mtlm_gpus *gpus);

/* "NVIDIA H200, 139.81 GiB, driver for CUDA 13.0, built with 13.0"; NULL for
 * -1.  The caller frees it. */
char *mtlm_gpu_describe(const struct mtlm_gpus *gpus, int gpu);

/* "13.0" of 13000; valid until the fourth call from then on. */
const char *mtlm_gpus_version(int version);

/* Which GPU (index in .gpu) each of the n ranks of a host drives; -1: none,
 * since per_gpu ranks have each of those that it sees.  In the order of the
 * ranks each takes the GPU with the fewest, the first of them: where all see
 * the same, rank modulo GPUs. */
void mtlm_gpus_assign(const struct mtlm_gpus gpus[], int n, int per_gpu,
                      int gpu[]);

/* How many of the n ranks, rank among them, drive the same GPU as rank. */
int mtlm_gpus_sharing(const struct mtlm_gpus gpus[], int n, const int gpu[],
                      int rank);

/* Bytes of a GPU that a rank may plan with: its part of what is free, without
 * what libraries need (MTLM_GPU_LIBRARIES_BYTES). */
double mtlm_gpu_share(double free_bytes, int sharing);

/* On each rank's GPU, beyond what is planned: cuBLASLt's workspace, cuDNN's and
 * NCCL's buffers. */
#define MTLM_GPU_LIBRARIES_BYTES (256.0 * 1024 * 1024)

#endif /* MTLM_GPU_H */
