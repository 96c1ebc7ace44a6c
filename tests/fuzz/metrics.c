/* Files of --metrics of any bytes. */

#include "config.h"

#include "launch/log/read_metrics.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/memory_file.h"

void fuzz_metrics(const uint8_t *data, size_t bytes)
{
    struct mtlm_curves curves;
    struct mtlm_error err = {0};

    memory_file_put(0, "fuzz", data, bytes);
    if (mtlm_read_metrics(&curves, "fuzz", &err) < 0) {
        fuzz_refused(&err);
        return;
    }
    for (int kind = 0; kind < MTLM_CURVE_COUNT; kind++) {
        fuzz_look(curves.of[kind].iteration,
                  curves.of[kind].n * sizeof(*curves.of[kind].iteration));
        fuzz_look(curves.of[kind].value,
                  curves.of[kind].n * sizeof(*curves.of[kind].value));
    }
    mtlm_curves_free(&curves);
}
