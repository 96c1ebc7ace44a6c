#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf/job_blas.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/blas_choice.h"
#include "runtime/machine/blas_core.h"

const char *job_blas_use(int argc, char **argv)
{
    static char text[256];
    const char *library = getenv("MTLM_BLAS");
    struct mtlm_error err;
    char note[1024];

    mtlm_blas_core_prepare(argc, argv);
    if (!library || !*library || strcmp(library, "auto") == 0)
        library =
            mtlm_blas_name[mtlm_blas_choice_find(false, note, sizeof(note))];
    if (mtlm_blas_use(library, &err) < 0) {
        fprintf(stderr, "%s\n", err.text);
        exit(2);
    }
    return mtlm_blas_describe(text, sizeof(text));
}
