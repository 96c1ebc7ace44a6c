/* Checks that all ranks run the same job: first program and settings, then the
 * data. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include "launch/job/job_blas.h"
#include "launch/job/job_compare.h"
#include "launch/job/job_data.h"
#include "launch/job/job_finetune.h"
#include "launch/options/options_print.h"
#include "runtime/base/memory.h"
#include "runtime/base/text.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* Hash of a file's bytes; 0 for a file that cannot be read. */
static uint64_t hash_of_file(const char *path)
{
    enum { BYTES = 1 << 16 };
    FILE *file = fopen(path, "rb");
    char *bytes = malloc(BYTES);
    uint64_t hash = 0;
    size_t n;

    while (file && bytes && (n = fread(bytes, 1, BYTES, file)) > 0)
        hash = XXH3_64bits_withSeed(bytes, n, hash + 1);
    free(bytes);
    if (file)
        fclose(file);
    return hash;
}

static uint64_t hash_of_times(const struct mtlm_stage_times *times)
{
    const uint64_t hop = XXH3_64bits(&times->hop, sizeof(times->hop));

    return XXH3_64bits_withSeed(
        times->forward, 3 * times->stages * sizeof(*times->forward), hop);
}

/* Closes the text, compares it among all ranks, frees it. */
static int compare_text(struct mtlm_job *job, struct mtlm_text *text,
                        const char *what, enum mtlm_exit code,
                        struct mtlm_error *err)
{
    char *own = mtlm_text_close(text);
    const int rc = mtlm_ranks_same(job->ranks, own, what, code, err);

    free(own);
    return rc;
}

int mtlm_job_compare_programs(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_text text;
    FILE *file = mtlm_text_open(&text);

    fprintf(file, "version %s, program file %016" PRIx64 ", StarPU %s\n",
            PACKAGE_VERSION, hash_of_file("/proc/self/exe"),
            mtlm_machine_starpu_version());
    return compare_text(job, &text, "runs another program", MTLM_EXIT_USAGE,
                        err);
}

/* Prints the policy of StarPU.  Plans differ by whether the environment names
 * the policy, and how long its workers wait for messages. */
static void print_policy(FILE *file)
{
    const char *library = mtlm_plugin_file();
    double share;

    fprintf(file, "policy %s%s", mtlm_plugin_wanted(),
            mtlm_plugin_is_free() ? " by default" : "");
    if (mtlm_plugin_hold_share(&share))
        fprintf(file, " with MTLM_HOLD=%.9g", share);
    if (library)
        fprintf(file, " of %s with hash %016" PRIx64, library,
                hash_of_file(library));
    fprintf(file, "\n");
}

/* Prints the checkpoint that a fine-tuning begins from.  Each rank looks for
 * itself whether --load has one, and takes --pretrained-checkpoint otherwise.
 */
static void print_beginning(const struct mtlm_options *options, FILE *file)
{
    if (options->pretrained_dir)
        fprintf(file, "loads %s%s\n", options->load_dir,
                options->new_head ? " with a new head" : "");
}

int mtlm_job_compare_settings(struct mtlm_job *job, struct mtlm_error *err)
{
    char *tokenizer = mtlm_tokenizer_describe(job->options.tokenizer);
    const char *const files[] = {job->options.cluster_file,
                                 job->options.schedule_file};
    const struct mtlm_stage_times *times = &job->options.times;
    struct mtlm_text text;
    FILE *file = mtlm_text_open(&text);

    /* First: what follows from a checkpoint would be named otherwise. */
    print_beginning(&job->options, file);
    mtlm_options_print(&job->options, file);
    if (tokenizer)
        fprintf(file, "tokenizer %s\n", tokenizer);
    free(tokenizer);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++)
        if (files[i])
            fprintf(file, "%s with hash %016" PRIx64 "\n", files[i],
                    hash_of_file(files[i]));
    if (times->stages > 0)
        fprintf(file, "times of %d stages with hash %016" PRIx64 "\n",
                times->stages, hash_of_times(times));
    /* BLAS and policy come from the environment, which may not reach every
     * rank. */
    if (!job->options.cluster_file)
        fprintf(file, "BLAS %s\n", mtlm_job_blas_wish(&job->options));
    print_policy(file);
    return compare_text(job, &text, "was started with other settings",
                        MTLM_EXIT_USAGE, err);
}

int mtlm_job_compare_data(struct mtlm_job *job, struct mtlm_error *err)
{
    char *data = mtlm_job_data_describe(job);
    /* A checkpoint knows the data of the training alone. */
    char *text = job->finetune
                     ? mtlm_sprintf("%s; %" PRId64
                                    " samples to evaluate on, hash %016" PRIx64,
                                    data, job->finetune->samples,
                                    mtlm_job_finetune_valid_hash(job))
                     : mtlm_strdup(data);
    const int rc = mtlm_ranks_same(job->ranks, text, "reads other data",
                                   MTLM_EXIT_INPUT, err);

    free(text);
    free(data);
    return rc;
}
