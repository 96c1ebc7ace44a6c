#ifndef MTLM_TESTS_TWIN_DEVICE_H
#define MTLM_TESTS_TWIN_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "runtime/machine/device.h"
#include "tests/codelets/twin.h"
#if MTLM_EMULATED
#include "tests/emulator/device_double.h"
#include "tests/emulator/emulator.h"
#include "tests/emulator/guarded.h"
#endif

/* Included where there is CUDA only. */

/* What twin_start() has started, with a stream and a workspace. */
extern struct mtlm_device twin_device;

struct twin_memory {
    void *data;
#if MTLM_EMULATED
    struct guarded guarded;
#else
    void *allocated;
#endif
};

/* Room for n elements of that many bytes, of which none is a number; aligned
 * to 16 bytes and more, or off that by an element. */
void twin_memory_new(struct twin_memory *memory, int64_t n, size_t size,
                     bool aligned);
/* Fails where something was written beside it (in the emulator). */
void twin_memory_free(struct twin_memory *memory);

/* From and to host memory. */
void twin_copy(void *to, const void *from, size_t bytes);

/* Until the device has done all; fails where it could not. */
void twin_wait(void);

#endif /* MTLM_TESTS_TWIN_DEVICE_H */
