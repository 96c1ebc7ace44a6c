#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "launch/job.h"

/* Of one parameter's shard. */
struct entry {
    int64_t number, shard;
    uint64_t hash;
};

struct mtlm_weight_hash {
    int n;
    struct entry entry[];
};

struct mtlm_weight_hash *mtlm_weight_hash_read(struct mtlm_job *job)
{
    const struct mtlm_program *program = job->program;
    struct mtlm_weight_hash *hash = mtlm_calloc(
        1, sizeof(*hash) + program->n_params * sizeof(struct entry));

    for (int i = 0; i < program->n_params; i++) {
        const struct mtlm_parameter *p = &program->param[i];
        const size_t bytes = mtlm_tensor_bytes(p->weight);
        void *values;

        if (!p->counted)
            continue; /* another rank has the same */
        values = mtlm_calloc(1, bytes);
        mtlm_run_read(job->run, p->weight, values);
        hash->entry[hash->n++] = (struct entry){p->number, job->layout.tp_rank,
                                                XXH3_64bits(values, bytes)};
        free(values);
    }
    return hash;
}

static int by_number(const void *x, const void *y)
{
    const struct entry *a = x, *b = y;

    if (a->number != b->number)
        return a->number < b->number ? -1 : 1;
    return (a->shard > b->shard) - (a->shard < b->shard);
}

void mtlm_weight_hash_print(struct mtlm_weight_hash *hash, struct mtlm_job *job)
{
    size_t bytes;
    struct entry *all = mtlm_ranks_gather(
        job->ranks, hash->entry, hash->n * sizeof(*hash->entry), &bytes);

    free(hash);
    if (!all)
        return;
    qsort(all, bytes / sizeof(*all), sizeof(*all), by_number);
    printf("weight hash: %016" PRIx64 "\n", (uint64_t) XXH3_64bits(all, bytes));
    fflush(stdout);
    free(all);
}
