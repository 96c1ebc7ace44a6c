#ifndef MTLM_DOUBLE_PRIVATE_H
#define MTLM_DOUBLE_PRIVATE_H

#include <stdbool.h>
#include <stddef.h>

#include <cuda_runtime_api.h>

/* What the files of the device double share. */

enum { MAX_GPUS = 16 };

#define MIB ((size_t) 1 << 20)

/* A number of the environment. */
long mtlm_double_setting(const char *name, long otherwise);

/* How many devices there are, and the memory of each. */
int mtlm_double_gpus(void);
size_t mtlm_double_bytes(void);

/* The thread's device. */
int mtlm_double_current(void);

/* Ends the program with a sentence. */
void mtlm_double_wrong(const char *fmt, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

/* error, which cudaGetLastError() will give. */
cudaError_t mtlm_double_give(cudaError_t error);

/* The device that holds an address, or -1. */
int mtlm_double_device_of(const void *p);

/* That an address is on a device, or the host; that device memory was taken;
 * both for a copy.  what: for the sentence that ends the program. */
void mtlm_double_side(const void *p, bool on_device, const char *what);
void mtlm_double_range(const void *p, size_t bytes, const char *what);
void mtlm_double_copy(const void *to, const void *from, size_t bytes,
                      enum cudaMemcpyKind kind);

#endif /* MTLM_DOUBLE_PRIVATE_H */
