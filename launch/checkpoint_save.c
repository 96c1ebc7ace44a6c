/* A checkpoint is written: every rank its file, then rank 0 the manifest, and
 * commits.  After each step all ranks know whether all went well. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/clock.h"

struct saving {
    struct mtlm_job *job;
    const char *dir; /* of the checkpoints */
    int64_t iteration, samples;
    struct mtlm_checkpoint_tensors list;
    struct mtlm_manifest_file file; /* this rank's */
    struct mtlm_error err;
    double bytes; /* of all files */
};

static bool commits(const struct mtlm_job *job)
{
    return mtlm_ranks_rank(job->ranks) == 0;
}

/* Whether rc is 0 on all ranks; whose is not says why. */
static bool all_well(struct saving *s, int rc)
{
    double bad = rc < 0;

    if (rc < 0)
        fprintf(stderr,
                "mtlm-dag: rank %d: no checkpoint of iteration %" PRId64
                ": %s\n",
                mtlm_ranks_rank(s->job->ranks), s->iteration, s->err.text);
    mtlm_ranks_sum_all(s->job->ranks, &bad, 1);
    return bad == 0;
}

static int begin(struct saving *s)
{
    if (!commits(s->job))
        return 0;
    return mtlm_checkpoint_space(s->dir, s->job->checkpoint_bytes, &s->err) < 0
                   || mtlm_checkpoint_begin(s->dir, s->iteration, &s->err) < 0
               ? -1
               : 0;
}

/* ---- this rank's file ---- */

struct source {
    struct mtlm_run *run;
    const struct mtlm_tensor *tensor;
};

static void read_tensor(void *arg, void *memory)
{
    const struct source *source = arg;

    mtlm_run_read(source->run, source->tensor, memory);
}

/* A whole shard keeps its form, a piece of it has none. */
static void add(struct mtlm_safetensors_writer *writer,
                const struct mtlm_checkpoint_tensor *t, struct source *source)
{
    const struct mtlm_slice *s = &t->slice;
    const bool whole = s->count == s->dim[0] * s->dim[1] && s->full[1] > 1;

    mtlm_safetensors_writer_add_later(writer, t->name, MTLM_SAFETENSORS_F32,
                                      whole ? 2 : 1, whole ? s->dim : &s->count,
                                      read_tensor, source);
}

static void describe(struct saving *s,
                     const struct mtlm_safetensors_writer *writer)
{
    const struct mtlm_safetensors_written written =
        mtlm_safetensors_writer_written(writer);

    s->file.bytes = written.bytes;
    s->file.hash = written.hash;
    s->file.tensors = s->list.n;
    s->file.tensor = mtlm_calloc(s->list.n + 1, sizeof(*s->file.tensor));
    for (int i = 0; i < s->list.n; i++)
        s->file.tensor[i] = (struct mtlm_manifest_tensor){
            .name = mtlm_strdup(s->list.tensor[i].name),
            .slice = s->list.tensor[i].slice,
            .hash = mtlm_safetensors_writer_hash(writer, i)};
}

static int write_file(struct saving *s)
{
    char *dir = mtlm_checkpoint_temporary(s->dir, s->iteration), *path;
    struct source *source = mtlm_calloc(s->list.n + 1, sizeof(*source));
    struct mtlm_safetensors_writer *writer;
    int rc;

    s->file.name =
        mtlm_sprintf("rank-%05d.safetensors", mtlm_ranks_rank(s->job->ranks));
    path = mtlm_sprintf("%s/%s", dir, s->file.name);
    writer = mtlm_safetensors_writer_create(path);
    for (int i = 0; i < s->list.n; i++) {
        source[i] = (struct source){s->job->run, s->list.tensor[i].tensor};
        add(writer, &s->list.tensor[i], &source[i]);
    }
    rc = mtlm_safetensors_writer_commit(writer, &s->err);
    if (rc == 0)
        describe(s, writer);
    mtlm_safetensors_writer_destroy(writer);
    free(source);
    free(path);
    free(dir);
    return rc;
}

/* ---- the manifest ---- */

/* Rank 0 gets the texts of all ranks' files, its own aside. */
static struct mtlm_swap *exchange(struct saving *s, int *n)
{
    const bool first = commits(s->job);
    const size_t word = sizeof(int64_t);
    struct mtlm_swap *swap;

    *n = first ? mtlm_ranks_size(s->job->ranks) - 1 : 1;
    swap = mtlm_calloc(*n + 1, sizeof(*swap));
    for (int i = 0; i < *n; i++)
        swap[i].peer = first ? i + 1 : 0;
    if (!first) {
        char *text = mtlm_manifest_file_text(&s->file);

        swap[0].n_out = (int64_t) (strlen(text) / word + 1);
        swap[0].out = mtlm_calloc(swap[0].n_out, word);
        memcpy(swap[0].out, text, strlen(text));
        free(text);
    }
    mtlm_ranks_swap(s->job->ranks, swap, *n);
    return swap;
}

static int write_manifest(struct saving *s, const struct mtlm_swap *swap, int n)
{
    char *dir = mtlm_checkpoint_temporary(s->dir, s->iteration);
    double control[MTLM_CONTROL_COUNT];
    struct mtlm_manifest m = {.iteration = s->iteration,
                              .samples = s->samples,
                              .settings = mtlm_checkpoint_settings(s->job),
                              .files = n + 1};
    int rc = 0;

    mtlm_run_read(s->job->run, s->job->program->control, control);
    m.state = mtlm_checkpoint_state(s->job, control);
    m.file = mtlm_calloc(n + 1, sizeof(*m.file));
    m.file[0] = s->file;
    s->file = (struct mtlm_manifest_file){0};
    for (int i = 0; i < n && rc == 0; i++)
        if (mtlm_manifest_file_parse((const char *) swap[i].in, &m.file[i + 1])
            < 0)
            rc = mtlm_error_set(&s->err, MTLM_EXIT_PEER,
                                "rank %d sent no description of its file",
                                i + 1);
    if (rc == 0)
        rc = mtlm_manifest_write(&m, dir, &s->err);
    mtlm_manifest_free(&m);
    free(dir);
    return rc;
}

static int commit(struct saving *s)
{
    int n, rc = 0;
    struct mtlm_swap *swap = exchange(s, &n);

    if (commits(s->job)) {
        rc = write_manifest(s, swap, n);
        if (rc == 0)
            rc = mtlm_checkpoint_commit(s->dir, s->iteration, &s->err);
    }
    for (int i = 0; i < n; i++) {
        free(swap[i].out);
        free(swap[i].in);
    }
    free(swap);
    return rc;
}

static void say(const struct saving *s, int64_t since_ns)
{
    const struct mtlm_ranks *ranks = s->job->ranks;

    if (mtlm_ranks_rank(ranks) != mtlm_ranks_size(ranks) - 1)
        return; /* as in Megatron-LM, where the log lines are */
    printf("checkpoint: iteration %" PRId64 " saved in %.2f s, %.1f MB\n",
           s->iteration, (mtlm_now_ns() - since_ns) * 1e-9, s->bytes / 1e6);
    fflush(stdout);
}

bool mtlm_checkpoint_save(struct mtlm_job *job, int64_t iteration,
                          int64_t samples)
{
    const struct mtlm_options *o = &job->options;
    const int64_t start = mtlm_now_ns();
    struct saving s = {.job = job,
                       .dir = o->save_dir,
                       .iteration = iteration,
                       .samples = samples};
    bool good;

    mtlm_checkpoint_to_save(job, !o->no_save_optim, &s.list);
    good = all_well(&s, begin(&s)) && all_well(&s, write_file(&s));
    s.bytes = (double) s.file.bytes;
    mtlm_ranks_sum_all(job->ranks, &s.bytes, 1);
    good = good && all_well(&s, commit(&s));
    if (good)
        say(&s, start);
    if (commits(job) && !good)
        mtlm_checkpoint_discard(s.dir, iteration);
    else if (commits(job) && o->keep_last > 0)
        mtlm_checkpoint_prune(s.dir, iteration, o->keep_last, &job->damaged);
    mtlm_manifest_file_free(&s.file);
    mtlm_checkpoint_tensors_free(&s.list);
    return good;
}
