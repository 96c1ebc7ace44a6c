#include "config.h"

#include <mpi.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/machine/data.h"
#include "runtime/machine/machine.h"
#include "runtime/policies/builtin.h"
#include "support.h"
#include "tests/time_scale.h"

struct mtlm_ranks *ranks;
struct mtlm_engine *engine;
int rank, size;
enum mtlm_transport_kind transport;

static atomic_int failures;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of engine */

static void *watchdog(void *arg)
{
    char text[400] = "no engine";

    sleep(*(int *) arg);
    pthread_mutex_lock(&mutex);
    if (engine)
        mtlm_engine_describe(engine, text, sizeof(text));
    fprintf(stderr, "rank %d hangs: %s\n", rank, text);
    /* The others are about to say where they are. */
    sleep(2);
    MPI_Abort(MPI_COMM_WORLD, 1);
    return NULL;
}

int times(int n)
{
    return getenv("MTLM_TEST_GPU") ? n / 25 : n;
}

void setup(int *argc, char ***argv, int tp, int workers, int seconds)
{
    static int limit;
    const char *wanted = getenv("MTLM_TEST_TRANSPORT");
    struct mtlm_machine_config config = {.workers = workers,
                                         .gpu = -1,
                                         .shared = true,
                                         .policies = mtlm_policies_builtin()};
    const char *gpu = getenv("MTLM_TEST_GPU");
    struct mtlm_error err;
    pthread_t thread;

    if (wanted && strcmp(wanted, "nccl") == 0)
        transport = MTLM_TRANSPORT_NCCL;
    ranks = mtlm_ranks_start(argc, argv);
    rank = mtlm_ranks_rank(ranks);
    size = mtlm_ranks_size(ranks);
    mtlm_ranks_group(ranks, MTLM_GROUP_TP, rank / tp);
    mtlm_ranks_group(ranks, MTLM_GROUP_EMBEDDING, rank % tp);
    mtlm_ranks_group(ranks, MTLM_GROUP_DP, rank % tp);
    config.rank = rank;
    if (gpu) {
        config.gpu = atoi(gpu);
        config.gpu_bytes = 64 << 20;
    }
    if (mtlm_machine_start(&config, &err) < 0)
        mtlm_fatal(__FILE__, __LINE__, "%s", err.text);
    limit = seconds * time_scale();
    pthread_create(&thread, NULL, watchdog, &limit);
    pthread_detach(thread);
}

struct mtlm_engine *start_engine(enum mtlm_collective_order order,
                                 int max_in_flight,
                                 struct mtlm_recorder *recorder)
{
    const struct mtlm_engine_config config = {.ranks = ranks,
                                              .transport = transport,
                                              .order = order,
                                              .max_in_flight = max_in_flight,
                                              .recorder = recorder};

    pthread_mutex_lock(&mutex);
    engine = mtlm_engine_start(&config);
    pthread_mutex_unlock(&mutex);
    return engine;
}

void stop_engine(void)
{
    struct mtlm_engine *old = engine;

    /* It may hang here too, and is described as long as it lives. */
    mtlm_engine_wait(old);
    pthread_mutex_lock(&mutex);
    engine = NULL;
    pthread_mutex_unlock(&mutex);
    mtlm_engine_stop(old);
}

void expect(bool so, const char *fmt, ...)
{
    char text[300];
    va_list ap;

    if (so || atomic_fetch_add(&failures, 1) >= 10)
        return;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "FAILED on rank %d: %s\n", rank, text);
}

int finish(void)
{
    const double sum = mtlm_ranks_sum(ranks, failures);

    mtlm_machine_stop();
    mtlm_ranks_barrier(ranks);
    mtlm_ranks_stop(ranks);
    return sum > 0;
}

void post_number(enum mtlm_message_kind kind, starpu_data_handle_t handle)
{
    mtlm_message_post(engine, &(struct mtlm_message){.kind = kind,
                                                     .handle = &handle,
                                                     .n_handles = 1,
                                                     .count = 1,
                                                     .dtype = MTLM_F64,
                                                     .peer = !rank});
}

void settle(starpu_data_handle_t handle)
{
    MTLM_CHECK_STARPU(
        starpu_data_acquire_on_node(handle, STARPU_MAIN_RAM, STARPU_R));
    starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
}
