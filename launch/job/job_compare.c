/* Whether all ranks mean the same: before anything else the program and its
 * settings, then the data. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include <xxhash.h>

#include "launch/job/job.h"
#include "launch/options/options_print.h"
#include "runtime/base/memory.h"
#include "runtime/machine/machine.h"
#include "runtime/machine/plugin.h"

/* Of a file's bytes; 0: it cannot be read. */
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

/* Of at most that many pieces of a document, spread over it. */
static uint64_t hash_of_document(const struct mtlm_indexed_dataset *dataset,
                                 int64_t document, int64_t most, uint64_t hash)
{
    enum { PIECE = 1024 };
    const int64_t length =
        mtlm_indexed_dataset_tokens(dataset, document, document + 1);
    const int64_t piece = length < PIECE ? length : PIECE;
    const int64_t all = (length + PIECE - 1) / PIECE;
    const int64_t n = all < most ? all : most;

    for (int64_t i = 0; i < n; i++) {
        int32_t tokens[PIECE];

        mtlm_indexed_dataset_read(dataset, document,
                                  n > 1 ? (length - piece) * i / (n - 1) : 0,
                                  piece, tokens);
        hash = XXH3_64bits_withSeed(tokens, piece * sizeof(*tokens), hash);
    }
    return hash ^ length;
}

/* Of all tokens of a small data set, of some thousand pieces of a large one,
 * which tells it from others without all of it being read. */
static uint64_t hash_of_data(const struct mtlm_indexed_dataset *dataset)
{
    enum { DOCUMENTS = 1024, PIECES = 4096, LEAST = 3 };
    const int64_t n = mtlm_indexed_dataset_documents(dataset);
    const int64_t step = (n + DOCUMENTS - 1) / DOCUMENTS;
    const int64_t share = PIECES / (n / step),
                  most = share > LEAST ? share : LEAST;
    uint64_t hash = 0;

    for (int64_t d = 0; d < n; d += step)
        hash = hash_of_document(dataset, d, most, hash);
    return hash;
}

/* Compares what was written to file, which is closed, and its text. */
static int compare(struct mtlm_job *job, FILE *file, char **text,
                   const char *what, enum mtlm_exit code,
                   struct mtlm_error *err)
{
    int rc;

    fclose(file);
    rc = mtlm_ranks_same(job->ranks, *text, what, code, err);
    free(*text);
    return rc;
}

int mtlm_job_compare_programs(struct mtlm_job *job, struct mtlm_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    fprintf(file, "version %s, program file %016" PRIx64 ", StarPU %s\n",
            PACKAGE_VERSION, hash_of_file("/proc/self/exe"),
            mtlm_machine_starpu_version());
    return compare(job, file, &text, "runs another program", MTLM_EXIT_USAGE,
                   err);
}

char *mtlm_job_describe_tokenizer(const struct mtlm_job *job)
{
    const struct mtlm_tokenizer *t = job->options.tokenizer;

    return t ? mtlm_sprintf("%s, %" PRId64 " tokens, hash %016" PRIx64, t->name,
                            t->vocab_size, t->hash)
             : NULL;
}

int mtlm_job_compare_settings(struct mtlm_job *job, struct mtlm_error *err)
{
    char *tokenizer = mtlm_job_describe_tokenizer(job);
    const char *cluster = job->options.cluster_file;
    const char *library = mtlm_plugin_file();
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);

    mtlm_options_print(&job->options, file);
    if (tokenizer)
        fprintf(file, "tokenizer %s\n", tokenizer);
    free(tokenizer);
    if (cluster)
        fprintf(file, "%s with hash %016" PRIx64 "\n", cluster,
                hash_of_file(cluster));
    /* Rather a rank that the variable did not reach than a wish. */
    fprintf(file, "policy %s", mtlm_plugin_wanted());
    if (library)
        fprintf(file, " of %s with hash %016" PRIx64, library,
                hash_of_file(library));
    fprintf(file, "\n");
    return compare(job, file, &text, "was started with other settings",
                   MTLM_EXIT_USAGE, err);
}

char *mtlm_job_describe_data(const struct mtlm_job *job)
{
    const struct mtlm_indexed_dataset *data = job->dataset;
    int64_t n;

    if (!data)
        return mtlm_strdup("mock data");
    n = mtlm_indexed_dataset_documents(data);
    return mtlm_sprintf("%" PRId64 " documents, %" PRId64 " sequences, %" PRId64
                        " tokens, hash %016" PRIx64,
                        n, mtlm_indexed_dataset_sequence(data, n),
                        mtlm_indexed_dataset_tokens(data, 0, n),
                        hash_of_data(data));
}

int mtlm_job_compare_data(struct mtlm_job *job, struct mtlm_error *err)
{
    char *text = mtlm_job_describe_data(job);
    const int rc = mtlm_ranks_same(job->ranks, text, "reads other data",
                                   MTLM_EXIT_INPUT, err);

    free(text);
    return rc;
}
