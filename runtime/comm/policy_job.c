/* Each rank's place in the job, and the activation slots that its microbatches
 * occupy. */

#include "config.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/memory.h"
#include "runtime/comm/policy_job.h"

/* A microbatch that occupies slots. */
struct held_slots {
    int64_t iteration;
    int microbatch;
    int backward, weight; /* tasks that have not ended */
};

struct chunk_slots {
    struct mtlm_policy_job_chunk about;
    struct held_slots *held; /* [n] */
    int n;
    size_t capacity;
};

struct rank_place {
    struct mtlm_policy_job job;
    struct chunk_slots *chunk; /* [job.virtual_stages] */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* guards these: */
static struct rank_place *places;                         /* [n_places] */
static int n_places;

static void grow(int rank)
{
    if (rank < n_places)
        return;
    places = mtlm_realloc(places, rank + 1, sizeof(*places));
    memset(places + n_places, 0, (rank + 1 - n_places) * sizeof(*places));
    n_places = rank + 1;
}

void mtlm_policy_job_set(int rank, const struct mtlm_policy_job *job,
                         const struct mtlm_policy_job_chunk *chunk)
{
    struct rank_place *place;

    pthread_mutex_lock(&mutex);
    grow(rank);
    place = &places[rank];
    for (int i = 0; i < place->job.virtual_stages; i++)
        free(place->chunk[i].held);
    free(place->chunk);
    place->job = *job;
    place->chunk = mtlm_calloc(job->virtual_stages, sizeof(*place->chunk));
    for (int i = 0; i < job->virtual_stages; i++)
        place->chunk[i].about = chunk[i];
    pthread_mutex_unlock(&mutex);
}

/* ---- slots ---- */

static bool is_task_of(const struct mtlm_policy_node *node,
                       enum mtlm_phase phase)
{
    return node->kind == MTLM_POLICY_TASK && node->phase == phase
           && node->rank < n_places
           && node->chunk < places[node->rank].job.virtual_stages;
}

static void take_slots(struct chunk_slots *c,
                       const struct mtlm_policy_node *node)
{
    c->held = mtlm_make_room(c->held, &c->capacity, c->n + 1, sizeof(*c->held));
    c->held[c->n++] =
        (struct held_slots){node->iteration, node->microbatch,
                            c->about.backward_tasks, c->about.weight_tasks};
}

void mtlm_policy_job_started(const struct mtlm_policy_node *node)
{
    if (!node->first || node->phase != MTLM_PHASE_FORWARD)
        return;
    pthread_mutex_lock(&mutex);
    if (is_task_of(node, MTLM_PHASE_FORWARD))
        take_slots(&places[node->rank].chunk[node->chunk], node);
    pthread_mutex_unlock(&mutex);
}

static void end_task(struct chunk_slots *c, const struct mtlm_policy_node *node)
{
    int i = 0;

    while (i < c->n
           && (c->held[i].iteration != node->iteration
               || c->held[i].microbatch != node->microbatch))
        i++;
    if (i == c->n)
        return;
    if (node->phase == MTLM_PHASE_BACKWARD)
        c->held[i].backward--;
    else
        c->held[i].weight--;
    if (c->held[i].backward <= 0 && c->held[i].weight <= 0)
        c->held[i] = c->held[--c->n];
}

void mtlm_policy_job_ended(const struct mtlm_policy_node *node)
{
    if (node->phase != MTLM_PHASE_BACKWARD && node->phase != MTLM_PHASE_WEIGHT)
        return;
    pthread_mutex_lock(&mutex);
    if (is_task_of(node, node->phase))
        end_task(&places[node->rank].chunk[node->chunk], node);
    pthread_mutex_unlock(&mutex);
}

/* ---- what policies ask ---- */

struct mtlm_policy_job mtlm_policy_job(int rank)
{
    struct mtlm_policy_job job = {0};

    pthread_mutex_lock(&mutex);
    if (rank >= 0 && rank < n_places)
        job = places[rank].job;
    pthread_mutex_unlock(&mutex);
    return job;
}

static struct mtlm_policy_slots slots_of(const struct chunk_slots *c)
{
    struct mtlm_policy_slots slots = {.backward = c->about.w,
                                      .weight = c->about.w + c->about.q};
    int backward = slots.backward, weight = slots.weight - c->n;

    for (int i = 0; i < c->n; i++)
        backward -= c->held[i].backward > 0;
    slots.free = backward < weight ? backward : weight;
    slots.free = slots.free > 0 ? slots.free : 0;
    return slots;
}

struct mtlm_policy_slots mtlm_policy_slots(int rank, int chunk)
{
    struct mtlm_policy_slots slots = {0};

    pthread_mutex_lock(&mutex);
    if (rank >= 0 && rank < n_places && chunk >= 0
        && chunk < places[rank].job.virtual_stages)
        slots = slots_of(&places[rank].chunk[chunk]);
    pthread_mutex_unlock(&mutex);
    return slots;
}
