/* --weight-hash: hashes each shard, then all shards in order on rank 0. */
#include "config.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "launch/train/weight_hash.h"
#include "runtime/base/compare.h"
#include "runtime/base/standard_output.h"

/* Hash of a parameter's shard; every data-parallel rank has it. */
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
            continue; /* another rank owns the same parameter */
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
    const int c = mtlm_compare(a->number, b->number);

    return c ? c : mtlm_compare(a->shard, b->shard);
}

/* Keeps one entry of each set of equal entries.  Returns the number of entries
 * left; 0: the replicas of the model differ. */
static size_t unite_replicas(struct entry *all, size_t n, int dp)
{
    for (size_t i = 0; i < n; i++) {
        if (memcmp(&all[i], &all[i / dp * dp], sizeof(*all)) != 0)
            return 0;
        all[i / dp] = all[i];
    }
    return n / dp;
}

void mtlm_weight_hash_print(struct mtlm_weight_hash *hash, struct mtlm_job *job)
{
    size_t bytes, n;
    struct entry *all = mtlm_ranks_gather(
        job->ranks, hash->entry, hash->n * sizeof(*hash->entry), &bytes);

    free(hash);
    if (!all)
        return;
    n = bytes / sizeof(*all);
    qsort(all, n, sizeof(*all), by_number);
    n = unite_replicas(all, n, job->layout.dp);
    if (n)
        printf("weight hash: %016" PRIx64 "\n",
               (uint64_t) XXH3_64bits(all, n * sizeof(*all)));
    else
        printf("weight hash: none, data-parallel ranks have different "
               "weights\n");
    mtlm_standard_output_flush();
    free(all);
}
