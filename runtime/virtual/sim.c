/* mtlm-dag-sim: runs a job under StarPU with SimGrid, in virtual time. mtlm-dag
 * starts this program and reads the times (runtime/virtual/child.h):
 *
 *     mtlm-dag-sim JOB TIMES
 *
 * Each task is a StarPU task with the job's data and priority; StarPU's rules
 * order tasks by data, its policy chooses the order.  Nothing is computed. */

#include "config.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <starpu.h>

#include "runtime/base/memory.h"
#include "runtime/comm/policy_nodes.h"
#include "runtime/machine/plugin.h"
#include "runtime/machine/policy_guard.h"
#include "runtime/policies/builtin.h"
#include "runtime/virtual/job.h"
#include "runtime/virtual/sim_nodes.h"
#include "runtime/virtual/sim_policy.h"
#include "runtime/virtual/times.h"

static struct {
    struct mtlm_virtual_job job;
    struct mtlm_virtual_times *times;
    starpu_data_handle_t *data; /* [job.n_data] */
    /* Read by tasks that wait for nothing: no task starts before the last one
     * is submitted. */
    starpu_data_handle_t gate;
    struct starpu_codelet *codelet; /* [job.n_names] */
    struct starpu_perfmodel *model; /* [job.n_names] */
    uint32_t *mask;                 /* [workers][mask_words] one worker each */
    unsigned mask_words;
    int64_t begin_ns;
    double stretch;
} sim;

enum { BITS = 32 };

/* ---- codelets ---- */

static int64_t number_of(const struct mtlm_virtual_task *task)
{
    return task - sim.job.task;
}

/* Returns microseconds; StarPU takes 0 for "not known". */
static double modelled_us(struct starpu_task *task,
                          struct starpu_perfmodel_arch *arch, unsigned impl)
{
    const struct mtlm_virtual_task *t = task->cl_arg;
    const double least = 1e-3;

    (void) arch;
    (void) impl;
    return fmax(1e-3 * sim.stretch * t->duration_ns, least);
}

/* With each task StarPU lets a microsecond pass.  Durations are stretched until
 * a microsecond is little: to a mean of 10 ms.  More would cost time, because
 * idle workers look for a task once a second. */
static double find_stretch(void)
{
    const double mean_ns = 1e7, most = 1e4;
    double sum_ns = 0;
    int64_t n = 0;

    for (int64_t i = 0; i < sim.job.n_tasks; i++) {
        sum_ns += sim.job.task[i].duration_ns;
        n += sim.job.task[i].duration_ns > 0;
    }
    return n > 0 ? fmin(fmax(mean_ns * n / sum_ns, 1), most) : 1;
}

static void never_runs(void *buffers[], void *arg)
{
    (void) buffers;
    (void) arg;
}

static void make_codelets(void)
{
    const int n = sim.job.n_names;

    sim.codelet = mtlm_calloc(n, sizeof(*sim.codelet));
    sim.model = mtlm_calloc(n, sizeof(*sim.model));
    for (int i = 0; i < n; i++) {
        starpu_codelet_init(&sim.codelet[i]);
        sim.model[i].type = STARPU_PER_ARCH;
        sim.model[i].symbol = sim.job.name[i];
        sim.model[i].arch_cost_function = modelled_us;
        sim.codelet[i].model = &sim.model[i];
        sim.codelet[i].name = sim.job.name[i];
        sim.codelet[i].cpu_funcs[0] = never_runs;
        sim.codelet[i].nbuffers = STARPU_VARIABLE_NBUFFERS;
    }
}

static const struct mtlm_policy_node *node_of(const struct starpu_task *task)
{
    if (!task->cl || task->cl->cpu_funcs[0] != never_runs)
        return NULL;
    return mtlm_virtual_sim_nodes_of(number_of(task->cl_arg));
}

static bool about_task(const struct starpu_task *task,
                       struct mtlm_policy_node *about)
{
    const struct mtlm_virtual_task *t = task->cl_arg;

    if (!task->cl || task->cl->cpu_funcs[0] != never_runs)
        return false;
    *about = sim.job.node[t->first_node].about;
    about->name = sim.job.name[t->name];
    return true;
}

/* ---- events ---- */

static void on_start(void *arg)
{
    const int64_t task = number_of(arg);

    sim.times->task[task].start_ns = mtlm_policy_now_ns() - sim.begin_ns;
    mtlm_virtual_sim_nodes_started(task);
}

static void on_end(void *arg)
{
    const int64_t task = number_of(arg);

    sim.times->task[task].end_ns = mtlm_policy_now_ns() - sim.begin_ns;
    sim.times->ended++;
    mtlm_virtual_sim_nodes_ended(task);
}

/* ---- tasks ---- */

static void register_data(void)
{
    sim.data = mtlm_calloc(sim.job.n_data, sizeof(*sim.data));
    /* No kernel runs, so no data has memory. */
    for (int64_t i = 0; i < sim.job.n_data; i++)
        starpu_variable_data_register(&sim.data[i], STARPU_MAIN_RAM,
                                      (uintptr_t) 1, sim.job.data_bytes[i]);
    starpu_variable_data_register(&sim.gate, STARPU_MAIN_RAM, (uintptr_t) 1, 1);
}

static void unregister_data(void)
{
    for (int64_t i = 0; i < sim.job.n_data; i++)
        starpu_data_unregister_no_coherency(sim.data[i]);
    starpu_data_unregister_no_coherency(sim.gate);
    free(sim.data);
}

static void set_handles(struct starpu_task *task,
                        const struct mtlm_virtual_task *t)
{
    const bool gated = t->n_predecessors == 0;
    const int n = t->n_uses + gated;
    starpu_data_handle_t *handle = task->handles;
    enum starpu_data_access_mode *mode = task->modes;

    if (n > STARPU_NMAXBUFS) {
        handle = task->dyn_handles = mtlm_calloc(n, sizeof(*handle));
        mode = task->dyn_modes = mtlm_calloc(n, sizeof(*mode));
    }
    task->nbuffers = n;
    for (int i = 0; i < t->n_uses; i++) {
        const struct mtlm_virtual_use *use = &sim.job.use[t->first_use + i];

        handle[i] = sim.data[use->data];
        mode[i] = (use->read ? STARPU_R : 0) | (use->write ? STARPU_W : 0);
    }
    if (gated) {
        handle[t->n_uses] = sim.gate;
        mode[t->n_uses] = STARPU_R;
    }
}

/* Returns the workers that may run the task, for task->workerids. */
static uint32_t *workers_of(const struct mtlm_virtual_task *t)
{
    int n;
    const int first = mtlm_virtual_first_worker(&sim.job, t, &n);

    /* Rows of single workers, then a row of all compute workers per rank. */
    return sim.mask
           + (size_t) sim.mask_words
                 * (n == 1 ? (unsigned) first
                           : sim.job.ranks * mtlm_virtual_workers(&sim.job)
                                 + (unsigned) t->rank);
}

static void make_masks(void)
{
    const int each = mtlm_virtual_workers(&sim.job);
    const int workers = sim.job.ranks * each;

    sim.mask_words = (workers + BITS - 1) / BITS;
    sim.mask = mtlm_calloc((size_t) (workers + sim.job.ranks) * sim.mask_words,
                           sizeof(*sim.mask));
    for (int w = 0; w < workers; w++) {
        const uint32_t bit = UINT32_C(1) << w % BITS;
        uint32_t *all =
            sim.mask + (size_t) (workers + w / each) * sim.mask_words;

        sim.mask[(size_t) w * sim.mask_words + w / BITS] |= bit;
        if (w % each < sim.job.workers)
            all[w / BITS] |= bit;
    }
}

static void submit(struct mtlm_virtual_task *t)
{
    struct starpu_task *task = starpu_task_create();

    mtlm_virtual_sim_nodes_add(number_of(t));
    task->cl = &sim.codelet[t->name];
    task->name = sim.job.name[t->name];
    task->cl_arg = t;
    task->priority = t->priority;
    task->workerids = workers_of(t);
    task->workerids_len = sim.mask_words;
    task->prologue_callback_pop_func = on_start;
    task->prologue_callback_pop_arg = t;
    task->epilogue_callback_func = on_end;
    task->epilogue_callback_arg = t;
    set_handles(task, t);
    if (starpu_task_submit(task) < 0)
        abort(); /* mtlm-dag reports the task that is ready */
    sim.times->submitted++;
}

static void run_tasks(void)
{
    starpu_data_acquire(sim.gate, STARPU_W);
    for (int64_t i = 0; i < sim.job.n_tasks; i++)
        submit(&sim.job.task[i]);
    starpu_do_schedule();
    sim.begin_ns = mtlm_policy_now_ns();
    mtlm_virtual_sim_nodes_begin();
    starpu_data_release(sim.gate);
    starpu_task_wait_for_all();
}

/* ---- the whole ---- */

/* Starts StarPU with a worker for each of the job. */
static int start_workers(struct starpu_conf *conf, struct mtlm_error *err)
{
    const int workers = sim.job.ranks * mtlm_virtual_workers(&sim.job);
    int rc, started;

    if (workers > STARPU_MAXCPUS)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "StarPU in virtual time has %d workers at most; %d ranks have %d",
            STARPU_MAXCPUS, sim.job.ranks, workers);
    rc = starpu_init(conf);
    if (rc < 0)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "StarPU in virtual time does not start with %d workers: %s",
            workers, strerror(-rc));
    started = (int) starpu_cpu_worker_get_count();
    if (started < workers)
        return mtlm_error_set(
            err, MTLM_EXIT_RESOURCE,
            "StarPU in virtual time starts %d workers only; %d ranks have %d",
            started, sim.job.ranks, workers);
    return 0;
}

static int start_starpu(struct mtlm_error *err)
{
    struct starpu_conf conf;
    const char *policy;

    starpu_conf_init(&conf);
    sim.stretch = find_stretch();
    mtlm_virtual_sim_policy_stretch(sim.stretch);
    mtlm_virtual_sim_policy_ranks(sim.job.ranks,
                                  mtlm_virtual_workers(&sim.job));
    mtlm_policy_nodes_find_task(node_of);
    mtlm_policy_guard_describe(about_task);
    if (mtlm_plugin_choose(&conf, mtlm_policies_builtin(), 0, err) < 0
        || start_workers(&conf, err) < 0)
        return -1;
    policy = starpu_sched_get_sched_policy_in_ctx(0)->policy_name;
    snprintf(sim.times->policy, sizeof(sim.times->policy), "%s", policy);
    if (strcmp(policy, mtlm_plugin_wanted()) != 0)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "STARPU_SCHED=%s names a policy that calls itself %s",
            mtlm_plugin_wanted(), policy);
    return 0;
}

static int simulate(struct mtlm_error *err)
{
    if (start_starpu(err) < 0)
        return -1;
    make_codelets();
    make_masks();
    register_data();
    mtlm_virtual_sim_nodes_start(&sim.job);
    run_tasks();
    unregister_data();
    mtlm_virtual_sim_policy_end();
    starpu_shutdown();
    mtlm_virtual_sim_nodes_stop();
    return 0;
}

/* Says what this program is.  SimGrid would take --help for itself, before
 * main(). */
__attribute__((constructor)) static void answer_users(int argc, char **argv)
{
    const bool help = argc == 2 && strcmp(argv[1], "--help") == 0;

    if (argc > 2)
        return;
    fprintf(help ? stdout : stderr,
            "mtlm-dag-sim is a part of mtlm-dag: --simulate CLUSTER.ini "
            "--simulate-engine starpu starts it\n");
    exit(help ? MTLM_EXIT_OK : MTLM_EXIT_USAGE);
}

/* StarPU renames this function, and calls it in a thread of SimGrid. */
int main(int argc, char **argv)
{
    struct mtlm_error err;
    int rc;

    (void) argc;
    /* SimGrid's handler of a crash may crash again, for ever. */
    signal(SIGSEGV, SIG_DFL);
    signal(SIGBUS, SIG_DFL);
    if (mtlm_virtual_job_read(&sim.job, argv[1], &err) < 0
        || !(sim.times =
                 mtlm_virtual_times_open(argv[2], sim.job.n_tasks, &err))) {
        fprintf(stderr, "%s\n", err.text);
        return err.code;
    }
    rc = simulate(&err);
    fflush(NULL); /* what a policy printed */
    if (rc < 0) {
        sim.times->error = err;
        sim.times->state = MTLM_VIRTUAL_REFUSED;
        /* At a normal end SimGrid would wait for the other threads. */
        _exit(err.code);
    }
    sim.times->state = MTLM_VIRTUAL_COMPLETE;
    _exit(MTLM_EXIT_OK);
}
