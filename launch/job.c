#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codelets/codelet.h"
#include "launch/job.h"
#include "launch/progress.h"
#include "models/text/gpt_dataset.h"
#include "models/text/mock_dataset.h"
#include "models/text/split.h"
#include "runtime/blas_core.h"
#include "runtime/cpu.h"
#include "runtime/machine.h"

int64_t mtlm_job_microbatches(const struct mtlm_job *job)
{
    return job->options.global_batch_size
           / (job->options.micro_batch_size * job->layout.dp);
}

/* --- data --------------------------------------------------------------- */

static void read_source(const struct mtlm_sample_source *source, int64_t sample,
                        int64_t first, int64_t n, int32_t *tokens)
{
    const struct mtlm_job_source *s = (const struct mtlm_job_source *) source;

    mtlm_samples_read(s->samples, sample, first, n, tokens);
}

static void open_mock(struct mtlm_job *job)
{
    const struct mtlm_model *model = &job->options.model;

    job->train.samples = mtlm_mock_dataset_create(
        model->vocab_size, model->seq_length, 2 * job->options.seed);
    job->valid.samples = mtlm_mock_dataset_create(
        model->vocab_size, model->seq_length, 2 * job->options.seed + 1);
}

/* A token of a byte-level data set is a byte: only then do entropies of
 * bytes mean something. */
static bool is_bytes(const struct mtlm_model *model)
{
    return model->vocab_size == 257;
}

static int open_documents(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    int64_t bound[MTLM_SPLITS + 1];

    job->dataset =
        mtlm_indexed_dataset_open(o->data_path, o->model.vocab_size, err);
    if (!job->dataset
        || mtlm_split_parse(o->split,
                            mtlm_indexed_dataset_documents(job->dataset), bound,
                            err)
               < 0)
        return -1;
    job->train.samples = mtlm_gpt_dataset_create(
        job->dataset, bound[MTLM_TRAIN], bound[MTLM_TRAIN + 1],
        o->model.seq_length, o->seed, err);
    if (!job->train.samples)
        return mtlm_error_prefix(err, "%s: training split", o->data_path);
    if (o->eval_iters == 0)
        return 0;
    job->valid.samples = mtlm_gpt_dataset_create(
        job->dataset, bound[MTLM_VALID], bound[MTLM_VALID + 1],
        o->model.seq_length, o->seed, err);
    if (!job->valid.samples)
        return mtlm_error_prefix(
            err, "%s: validation split \"%s\" (--eval-iters 0 for none)",
            o->data_path, o->split);
    if (is_bytes(&o->model) && o->summary_text
        && mtlm_ranks_rank(job->ranks) == 0) {
        job->entropy = mtlm_entropy_measure(job->dataset, bound[MTLM_VALID],
                                            bound[MTLM_VALID + 1]);
        job->has_entropy = true;
    }
    return 0;
}

static int open_data(struct mtlm_job *job, struct mtlm_error *err)
{
    job->train.source.read = job->valid.source.read = read_source;
    if (!job->options.mock_data)
        return open_documents(job, err);
    open_mock(job);
    return 0;
}

/* --- layout, program, memory -------------------------------------------- */

static int place(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    struct mtlm_layout *layout = &job->layout;
    struct mtlm_ranks *ranks = job->ranks;
    const int size = mtlm_ranks_size(ranks);

    if (mtlm_options_layout_check(o, size, err) < 0)
        return -1;
    *layout = (struct mtlm_layout){.tp = o->tensor_parallel,
                                   .pp = o->pipeline_parallel,
                                   .dp = 1,
                                   .virtual_stages = 1,
                                   .workers = 1};
    mtlm_layout_place(layout, mtlm_ranks_rank(ranks));
    return 0;
}

/* Collective: all ranks, or none, get here. */
static void make_groups(struct mtlm_job *job)
{
    const struct mtlm_layout *l = &job->layout;
    const bool end = l->pp_rank == 0 || l->pp_rank == l->pp - 1;

    mtlm_ranks_group(job->ranks, MTLM_GROUP_TP,
                     l->pp_rank * l->dp + l->dp_rank);
    mtlm_ranks_group(job->ranks, MTLM_GROUP_EMBEDDING,
                     l->pp > 1 && end ? l->tp_rank + l->tp * l->dp_rank : -1);
}

/* Workers: what the user says, else this rank's share of the cores that its
 * binding allows. */
static int count_workers(struct mtlm_job *job, struct mtlm_error *err)
{
    struct mtlm_cpu cpu;
    int sharing, before, workers, used;
    char text[256];
    const char *hint;

    if (mtlm_cpu_detect(&cpu, err) < 0)
        return -1;
    sharing = mtlm_ranks_sharing(job->ranks, cpu.mask_hash, &before);
    workers = mtlm_cpu_share(&cpu, sharing, before);
    if (job->options.workers > 0)
        workers = job->options.workers;
    else
        workers = mtlm_machine_wanted_workers(workers);
    job->layout.workers = workers;
    used = mtlm_ranks_host_sum(job->ranks, workers);
    hint = mtlm_cpu_hint(&cpu, used, text, sizeof(text));
    if (hint && mtlm_ranks_rank(job->ranks) == 0)
        fprintf(stderr, "%s\n", hint);
    return 0;
}

static int build(struct mtlm_job *job, struct mtlm_error *err)
{
    const struct mtlm_options *o = &job->options;
    const int64_t m = mtlm_job_microbatches(job);
    const double available = mtlm_memory_available();
    const int ranks = mtlm_ranks_on_host(job->ranks);
    struct mtlm_program_config config = {.model = o->model,
                                         .layout = job->layout,
                                         .micro_batch = o->micro_batch_size,
                                         .microbatches = m,
                                         .eval_microbatches = o->eval_iters * m,
                                         .seed = o->seed,
                                         .window = o->window,
                                         .clip = o->clip_grad,
                                         .weight_decay = o->weight_decay,
                                         .beta1 = o->adam_beta1,
                                         .beta2 = o->adam_beta2,
                                         .epsilon = o->adam_eps,
                                         .schedule = o->lr,
                                         .train = &job->train.source,
                                         .valid = &job->valid.source};

    if (mtlm_plan_check_model(&o->model, &job->layout, o->micro_batch_size,
                              available, ranks, err)
        < 0)
        return -1;
    job->program = mtlm_program_create(&config);
    job->plan = mtlm_plan(job->program);
    return mtlm_plan_check(&job->plan, available, ranks, err);
}

/* Finds out now whether dir can be written, not at the end. */
static int probe(struct mtlm_job *job, const char *dir, struct mtlm_error *err)
{
    char *path;
    int rc;

    if (!dir)
        return 0;
    if (mkdir(dir, 0777) == 0)
        job->made_dir[job->n_made_dirs++] = dir;
    else if (errno != EEXIST)
        return mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be made: %s", dir,
                              strerror(errno));
    path = mtlm_sprintf("%s/.probe.%ld", dir, (long) getpid());
    rc = mknod(path, S_IFREG | 0600, 0);
    if (rc < 0)
        mtlm_error_set(err, MTLM_EXIT_IO, "%s: cannot be written: %s", dir,
                       strerror(errno));
    else
        unlink(path);
    free(path);
    return rc;
}

static int start_machine(struct mtlm_job *job, struct mtlm_error *err)
{
    if (mtlm_machine_start(job->layout.workers,
                           mtlm_ranks_on_host(job->ranks) > 1, err)
        < 0)
        return -1;
    job->machine = true;
    mtlm_codelets_start();
    if (mtlm_machine_workers() != job->layout.workers)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "StarPU started %d workers where %d were asked "
                              "for (--workers)",
                              mtlm_machine_workers(), job->layout.workers);
    return 0;
}

static void start_run(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const bool shows_progress = mtlm_ranks_rank(job->ranks) == 0;

    if (o->trace_dir)
        job->recorder = mtlm_recorder_create();
    job->engine = mtlm_engine_start(&(struct mtlm_engine_config){
        .ranks = job->ranks,
        .order = o->collective_order == MTLM_ORDER_READY ? MTLM_ORDER_WHEN_READY
                                                         : MTLM_ORDER_BY_LEADER,
        .max_in_flight = o->transport == MTLM_USE_SERIAL ? 1 : 0,
        .recorder = job->recorder});
    job->run = mtlm_run_create(job->program, job->engine, job->recorder,
                               mtlm_ranks_rank(job->ranks),
                               shows_progress ? mtlm_progress_add : NULL);
    if (o->inject_nan > 0)
        mtlm_run_poison(job->run, o->inject_nan - 1);
}

/* All ranks must train the same thing on the same data. */
static int compare(struct mtlm_job *job, struct mtlm_error *err)
{
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    int rc;

    fprintf(file, "version = %s\n", PACKAGE_VERSION);
    mtlm_options_print(&job->options, file);
    if (job->dataset)
        fprintf(
            file, "data = %" PRId64 " documents, %" PRId64 " tokens\n",
            mtlm_indexed_dataset_documents(job->dataset),
            mtlm_indexed_dataset_tokens(
                job->dataset, 0, mtlm_indexed_dataset_documents(job->dataset)));
    fclose(file);
    rc = mtlm_ranks_same(job->ranks, text, err);
    free(text);
    return rc;
}

static void say(struct mtlm_job *job)
{
    const struct mtlm_options *o = &job->options;
    const struct mtlm_layout *l = &job->layout;
    const double mib = 1024.0 * 1024;
    char blas[160];

    if (mtlm_ranks_rank(job->ranks) != 0)
        return;
    printf("mtlm-dag %s: %s, %" PRId64 " layers, hidden %" PRId64
           ", %.2f million parameters\n",
           PACKAGE_VERSION, o->preset ? o->preset : "GPT", o->model.num_layers,
           o->model.hidden_size, mtlm_model_parameters(&o->model) / 1e6);
    printf("layout: tensor %d x pipeline %d = %d rank%s, %" PRId64
           " microbatches of %" PRId64 " x %" PRId64 " tokens\n",
           l->tp, l->pp, mtlm_layout_ranks(l),
           mtlm_layout_ranks(l) > 1 ? "s" : "", mtlm_job_microbatches(job),
           o->micro_batch_size, o->model.seq_length);
    printf("machine: %d worker%s on rank 0, StarPU %s, policy %s, %s\n",
           l->workers, l->workers > 1 ? "s" : "", mtlm_machine_starpu_version(),
           mtlm_machine_policy(), mtlm_blas_describe(blas, sizeof(blas)));
    printf("memory of rank 0: weights %.1f, gradients %.1f, moments %.1f, "
           "activations %.1f, in all %.1f MiB\n",
           job->plan.weight_bytes / mib, job->plan.gradient_bytes / mib,
           job->plan.moment_bytes / mib, job->plan.activation_bytes / mib,
           job->plan.total_bytes / mib);
    if (o->mock_data)
        printf("data: mock data, made up as it goes (--data-path PREFIX for "
               "text)\n");
    else
        printf("data: %s, %" PRId64 " documents\n", o->data_path,
               mtlm_indexed_dataset_documents(job->dataset));
    fflush(stdout);
}

/* One step of the start on this rank; after each all ranks agree. */
typedef int step(struct mtlm_job *job, struct mtlm_error *err);

static int probe_outputs(struct mtlm_job *job, struct mtlm_error *err)
{
    if (mtlm_ranks_rank(job->ranks) == 0
        && probe(job, job->options.trace_dir, err) < 0)
        return -1;
    return probe(job, job->options.dump_dir, err);
}

/* Nothing is left of a job that does not start. */
static void remove_dirs(const struct mtlm_job *job)
{
    for (int i = 0; i < job->n_made_dirs; i++)
        rmdir(job->made_dir[i]);
}

int mtlm_job_start(struct mtlm_job *job, struct mtlm_error *err, int *print)
{
    static step *const steps[] = {place, count_workers, open_data,    compare,
                                  build, probe_outputs, start_machine};

    for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
        struct mtlm_error mine;
        const int rc = steps[i](job, &mine);

        if (mtlm_ranks_agree(job->ranks, rc < 0 ? &mine : NULL, err, print)
            < 0) {
            remove_dirs(job);
            return -1;
        }
    }
    make_groups(job);
    start_run(job);
    say(job);
    return 0;
}

void mtlm_job_stop_engine(struct mtlm_job *job)
{
    if (!job->engine)
        return;
    mtlm_run_wait(job->run);
    mtlm_engine_stop(job->engine);
    job->engine = NULL;
}

void mtlm_job_stop(struct mtlm_job *job)
{
    mtlm_job_stop_engine(job);
    if (job->run)
        mtlm_run_destroy(job->run);
    mtlm_recorder_destroy(job->recorder);
    if (job->machine) {
        mtlm_machine_stop();
        mtlm_codelets_stop();
    }
    mtlm_program_destroy(job->program);
    mtlm_samples_destroy(job->valid.samples);
    mtlm_samples_destroy(job->train.samples);
    mtlm_indexed_dataset_close(job->dataset);
}
