/* Remembers the epoch with the best score, across runs. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/checkpoint/checkpoint.h"
#include "launch/checkpoint/job_best.h"
#include "launch/job/job_finetune.h"
#include "runtime/base/memory.h"

static bool is_first(const struct mtlm_job *job)
{
    return mtlm_ranks_rank(job->ranks) == 0;
}

/* Returns the path of the best checkpoint, which the caller frees. */
static char *best_path(const struct mtlm_job *job)
{
    const struct mtlm_checkpoint_id after = {job->best.iteration + 1, 0};
    struct mtlm_checkpoint_id id;

    /* The newest before `after` is another one where the best is gone. */
    if (mtlm_checkpoint_dir_newest(job->options.save_dir, &after, &id, NULL)
            <= 0
        || id.iteration != job->best.iteration)
        id = (struct mtlm_checkpoint_id){job->best.iteration, 0};
    return mtlm_checkpoint_dir_path(job->options.save_dir, &id);
}

/* ---- at the start ---- */

/* Returns whether the job may go on with what best.json says: no iteration
 * comes later, the scores are of the same data. */
static bool is_usable(const struct mtlm_job *job)
{
    const struct mtlm_best_checkpoint *best = &job->best;

    return best->iteration <= job->begin.iteration
           && best->scores == mtlm_job_finetune_scores(job)
           && best->data == mtlm_job_finetune_valid_hash(job);
}

/* Looks for the best checkpoint.  -1: it is damaged or not there
 * (MTLM_EXIT_INPUT), or unreadable. */
static int look_at_best(const struct mtlm_job *job, struct mtlm_error *err)
{
    const char *dir = job->options.save_dir;
    struct mtlm_checkpoint_id id;
    char *path;
    int rc;

    if (mtlm_best_checkpoint_find(dir, &id, err) < 0)
        return -1;
    path = mtlm_checkpoint_dir_path(dir, &id);
    rc = mtlm_manifest_look(path, id.iteration, err);
    free(path);
    return rc;
}

/* Rank 0 reads best.json.  -1: it, or the checkpoint that it names, is there
 * and cannot be read now: --keep-last would remove that checkpoint. */
static int read_best(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_best_checkpoint *best = &job->best;
    int rc = mtlm_best_checkpoint_read(best, job->options.save_dir, err);

    if (rc >= 0 && !is_usable(job))
        mtlm_best_checkpoint_free(best);
    if (rc >= 0 && best->iteration > 0)
        rc = look_at_best(job, err);
    if (rc < 0)
        mtlm_best_checkpoint_free(best);
    if (rc < 0 && err->code != MTLM_EXIT_INPUT)
        return -1;
    if (rc < 0)
        mtlm_warn("%s; the best epoch is sought anew", err->text);
    if (best->scored > job->begin.iteration)
        best->scored = job->begin.iteration;
    return 0;
}

/* Gives all ranks what rank 0 has read. */
static void share(struct mtlm_job *job)
{
    struct mtlm_best_checkpoint *best = &job->best;
    const int n = mtlm_job_finetune_scores(job);
    double *number = mtlm_calloc(3 + n, sizeof(*number));

    best->score = mtlm_realloc(best->score, n, sizeof(*best->score));
    if (is_first(job)) {
        number[0] = (double) best->iteration;
        number[1] = (double) best->epoch;
        number[2] = (double) best->scored;
        for (int i = 0; i < best->scores; i++)
            number[3 + i] = best->score[i];
    }
    mtlm_ranks_max_all(job->ranks, number, 3 + n);
    best->iteration = (int64_t) number[0];
    best->epoch = (int64_t) number[1];
    best->scored = (int64_t) number[2];
    best->scores = n;
    memcpy(best->score, number + 3, n * sizeof(*number));
    best->data = mtlm_job_finetune_valid_hash(job);
    free(number);
}

int mtlm_job_best_find(struct mtlm_job *job, struct mtlm_error *err)
{
    int rc = 0;

    if (!job->finetune || job->options.eval_only)
        return 0;
    if (is_first(job) && job->begin_is_saved)
        rc = read_best(job, err);
    share(job);
    return rc;
}

bool mtlm_job_best_lacks_begin(const struct mtlm_job *job)
{
    const int64_t begin = job->begin.iteration;

    return job->finetune && job->begin_is_saved && begin > job->best.scored
           && begin % job->options.eval_interval == 0;
}

/* ---- an epoch ends ---- */

/* Rank 0 writes best.json, then removes the checkpoint that was the best. */
static int record(const struct mtlm_job *job, int64_t done,
                  struct mtlm_error *err)
{
    const int n = job->best.scores;
    char **name = mtlm_calloc(n, sizeof(*name));
    int rc;

    for (int i = 0; i < n; i++)
        name[i] = mtlm_job_finetune_score_name(job, i);
    rc = mtlm_best_checkpoint_write(&job->best, (const char *const *) name,
                                    job->options.save_dir, err);
    for (int i = 0; i < n; i++)
        free(name[i]);
    free(name);
    if (rc == 0)
        mtlm_checkpoint_remove_old(job, done);
    return rc;
}

/* Sets the best, and what was scored, to the iteration `done`. */
static void take_scores(struct mtlm_job *job, int64_t done, const double *score)
{
    struct mtlm_best_checkpoint *best = &job->best;
    const int last = best->scores - 1;

    if (best->iteration == 0 || score[last] > best->score[last]) {
        best->iteration = done;
        best->epoch = done / job->options.eval_interval;
        memcpy(best->score, score, best->scores * sizeof(*score));
    }
    best->scored = done;
}

/* Whether --save's directory has the checkpoint of iteration `done`, unless
 * saving failed. */
static bool is_there(const struct mtlm_job *job, int64_t done)
{
    return !job->options.save_dir || done > job->begin.iteration
           || job->begin_is_saved;
}

int mtlm_job_best_offer(struct mtlm_job *job, int64_t done, double *score,
                        bool saved, struct mtlm_error *err)
{
    struct mtlm_best_checkpoint *best = &job->best;
    const struct mtlm_best_checkpoint before = *best;
    const int last = best->scores - 1;
    double lost = !saved || !is_there(job, done), failed = 0, *kept;

    mtlm_ranks_max_all(job->ranks, score, best->scores);
    mtlm_ranks_max_all(job->ranks, &lost, 1);
    if (score[last] < 0 || lost > 0 || done <= best->scored
        || done % job->options.eval_interval)
        return 0;
    kept = mtlm_calloc(best->scores, sizeof(*kept));
    memcpy(kept, best->score, best->scores * sizeof(*kept));
    take_scores(job, done, score);
    if (job->options.save_dir && is_first(job))
        failed = record(job, done, err) < 0;
    mtlm_ranks_max_all(job->ranks, &failed, 1);
    /* --keep-last goes by the best of the file. */
    if (failed > 0) {
        *best = before;
        memcpy(best->score, kept, best->scores * sizeof(*kept));
    }
    free(kept);
    return failed > 0 && is_first(job) ? -1 : 0;
}

char *mtlm_job_best_text(const struct mtlm_job *job)
{
    const struct mtlm_best_checkpoint *best = &job->best;
    char *score, *path, *text;

    if (best->iteration == 0)
        return NULL;
    score = mtlm_job_finetune_score_text(job, best->scores - 1,
                                         best->score[best->scores - 1]);
    path = job->options.save_dir ? best_path(job) : NULL;
    text = mtlm_sprintf("best: epoch %" PRId64 " of %" PRId64 ", %s%s%s",
                        best->epoch, job->options.epochs, score,
                        path ? "; " : "", path ? path : "");
    free(path);
    free(score);
    return text;
}
