/* Orders built in rounds of one B and one F per rank. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "graph/order/rounding.h"
#include "graph/order/rounds.h"
#include "runtime/base/memory.h"

enum { MOST_CHUNKS = 2, MOST_TRIES = 8 };

/* A rank while its order grows. */
struct rounds_rank {
    double now;      /* the last box's end */
    double memory;   /* in use */
    double idle;     /* time for which the rank waited after its first box */
    double approved; /* idle of the rank in the try before; < 0: none */
    /* Microbatches whose F or B has run, of each chunk. */
    int forward[MOST_CHUNKS], backward[MOST_CHUNKS];
    int *waiting; /* [chunks * m] pieces of W to take next, oldest B first */
    int first, end;
};

struct rounds_build {
    const struct mtlm_rounds *rounds;
    struct mtlm_walk *walk;
    struct mtlm_box_order *order;
    const struct mtlm_boxes *boxes;
    struct rounds_rank *rank;
    int ranks, chunks, m;
};

static bool fits(double used, double most)
{
    return used <= most * (1 + MTLM_MEMORY_ROUNDING);
}

/* ---- boxes ---- */

static int box_at(const struct rounds_build *b, enum mtlm_phase phase, int r,
                  int chunk, int microbatch)
{
    return mtlm_box_number(
        b->boxes, (struct mtlm_box){phase, mtlm_box_stage(b->boxes, r, chunk),
                                    microbatch, 0});
}

/* The next microbatch of a chunk's F or B; m behind the last one. */
static int *next_of(struct rounds_rank *rank, enum mtlm_phase phase, int chunk)
{
    return phase == MTLM_PHASE_FORWARD ? &rank->forward[chunk]
                                       : &rank->backward[chunk];
}

/* When what the box waits for has arrived; INFINITY: nobody has run it yet. */
static double arrival(const struct rounds_build *b, int box)
{
    const int before = b->walk->before[box];

    if (before < 0)
        return 0;
    return b->walk->end[before] < 0 ? INFINITY
                                    : b->walk->end[before] + b->walk->hop[box];
}

static bool arrives(const struct rounds_build *b, enum mtlm_phase phase, int r,
                    int chunk)
{
    const int next = *next_of(&b->rank[r], phase, chunk);

    return next < b->m
           && arrival(b, box_at(b, phase, r, chunk, next)) < INFINITY;
}

static void run(struct rounds_build *b, int r, int box, double start)
{
    struct rounds_rank *rank = &b->rank[r];

    if (b->order->n[r] > 0)
        rank->idle += start - rank->now;
    b->walk->end[box] = rank->now = start + b->walk->time[box];
    rank->memory += b->walk->growth[box];
    mtlm_order_append(b->order, b->boxes, box);
}

/* ---- pieces of W ---- */

static bool has_weight(const struct rounds_rank *rank)
{
    return rank->first < rank->end;
}

static void run_weight(struct rounds_build *b, int r)
{
    struct rounds_rank *rank = &b->rank[r];
    const int box = rank->waiting[rank->first];

    run(b, r, box, rank->now);
    if (mtlm_box_at(b->boxes, box).piece == b->boxes->pieces - 1)
        rank->first++;
    else
        rank->waiting[rank->first]++;
}

/* The idle time that a rank may reach without making the schedule longer. */
static double allowed_idle(const struct rounds_build *b, int r)
{
    double most = 0, most_approved = -1;

    for (int i = 0; i < b->ranks; i++) {
        most = fmax(most, b->rank[i].idle);
        most_approved = fmax(most_approved, b->rank[i].approved);
    }
    return fmax(most, most_approved - b->rank[r].approved);
}

/* Pieces that end before the box could start, and one more where the wait would
 * make this rank the one that idles most. */
static void fill_wait(struct rounds_build *b, int r, double until, bool fill)
{
    struct rounds_rank *rank = &b->rank[r];

    while (has_weight(rank)
           && rank->now + b->walk->time[rank->waiting[rank->first]]
                  <= until * (1 + MTLM_WALK_ROUNDING))
        run_weight(b, r);
    while (fill && has_weight(rank)
           && until - rank->now > allowed_idle(b, r) - rank->idle
                                      + MTLM_WALK_ROUNDING * until)
        run_weight(b, r);
}

/* ---- F and B ---- */

/* Runs the next F or B of a chunk.  Returns false if it has none, or if it
 * cannot run yet. */
static bool advance(struct rounds_build *b, enum mtlm_phase phase, int r,
                    int chunk, bool fill)
{
    struct rounds_rank *rank = &b->rank[r];
    int *next = next_of(rank, phase, chunk);
    int box;

    if (!arrives(b, phase, r, chunk))
        return false;
    box = box_at(b, phase, r, chunk, *next);
    while (!fits(rank->memory + b->walk->growth[box], b->rounds->most_memory)) {
        if (!has_weight(rank))
            return false;
        run_weight(b, r);
    }
    fill_wait(b, r, arrival(b, box), fill);
    run(b, r, box, fmax(rank->now, arrival(b, box)));
    if (phase == MTLM_PHASE_BACKWARD)
        rank->waiting[rank->end++] =
            box_at(b, MTLM_PHASE_WEIGHT, r, chunk, *next);
    ++*next;
    return true;
}

/* ---- before the first B ---- */

/* Placement V: runs F until no rank has fewer than the rank before it. */
static void even_out(struct rounds_build *b)
{
    int chunk = 0;

    for (int r = 1; r < b->ranks; r++)
        for (int guard = 0; guard < 2 * b->m; guard++) {
            const struct rounds_rank *one = &b->rank[r],
                                     *last = &b->rank[r - 1];

            if (one->forward[0] + one->forward[1]
                    >= last->forward[0] + last->forward[1]
                && (one->forward[1] > last->forward[1]
                    || last->forward[1] >= b->m))
                break;
            for (int i = b->ranks - 1; i >= r; i--)
                advance(b, MTLM_PHASE_FORWARD, i, chunk, false);
            chunk = 1 - chunk;
        }
}

/* Placement V: each rank runs F of both chunks before its first B.  More F of
 * the first chunk fit before F of the second one arrives.  Stages of unequal
 * memory may get fewer. */
static bool begin_v(struct rounds_build *b)
{
    const double each = b->boxes->memory[0];

    for (int r = 0; r < b->ranks; r++)
        if (!advance(b, MTLM_PHASE_FORWARD, r, 0, false))
            return false;
    for (int r = b->ranks - 1; r >= 0; r--) {
        const double until = arrival(b, box_at(b, MTLM_PHASE_FORWARD, r, 1, 0));
        struct rounds_rank *rank = &b->rank[r];
        bool more = r < b->ranks - 1;

        while (
            more && rank->forward[0] < b->m
            && fits(rank->memory + (2 + 2 * r) * each, b->rounds->most_memory)
            && rank->now + b->boxes->forward[r]
                   <= until * (1 + MTLM_WALK_ROUNDING))
            for (int i = 0; i <= r && more; i++)
                more = advance(b, MTLM_PHASE_FORWARD, i, 0, false);
        if (!advance(b, MTLM_PHASE_FORWARD, r, 1, false))
            return false;
    }
    even_out(b);
    return true;
}

/* Returns how many microbatches the memory of a rank keeps, at most all.  A
 * stage without layers keeps nothing of a microbatch. */
static int kept_by(const struct rounds_build *b, int r)
{
    const double most = b->rounds->most_memory * (1 + MTLM_MEMORY_ROUNDING);
    const double each = b->boxes->memory[r];

    return most >= b->m * each ? b->m : (int) floor(most / each);
}

/* One virtual stage: the F of ZB-H2 where the memory keeps them, else those of
 * ZB-H1; no rank runs more than the rank before it. */
static bool begin_loop(struct rounds_build *b)
{
    int most = b->m;

    for (int r = 0; r < b->ranks; r++) {
        const int kept = kept_by(b, r);
        const int deep = b->ranks - r;
        /* ZB-H1 keeps p - r microbatches in flight, ZB-H2 2 (p - r) - 1. */
        const int wish = kept >= 2 * b->ranks - 1 ? 2 * deep - 1 : deep;

        most = most < wish ? most : wish;
        most = most < kept ? most : kept;
        if (most < 1)
            return false;
        for (int i = 0; i < most; i++)
            if (!advance(b, MTLM_PHASE_FORWARD, r, 0, false))
                return false;
    }
    return true;
}

/* ---- rounds ---- */

/* Whether the rank's next B is of the first chunk. */
static bool backward_is_shallow(const struct rounds_build *b, int r)
{
    const struct rounds_rank *rank = &b->rank[r];

    if (b->chunks == 1)
        return true;
    if (rank->backward[0] >= rank->backward[1])
        return false;
    return r == b->ranks - 1 || rank->backward[1] >= b->m
           || arrives(b, MTLM_PHASE_BACKWARD, r, 0);
}

static bool round_of_backward(struct rounds_build *b)
{
    bool *shallow = mtlm_calloc(b->ranks, sizeof(*shallow)), any = false;

    for (int r = 0; r < b->ranks; r++)
        shallow[r] = backward_is_shallow(b, r);
    for (int r = b->ranks - 1; r >= 0; r--)
        if (shallow[r])
            any |= advance(b, MTLM_PHASE_BACKWARD, r, 0, true);
    for (int r = 0; r < b->ranks; r++)
        if (!shallow[r])
            any |=
                advance(b, MTLM_PHASE_BACKWARD, r, 1, b->rounds->fill_backward);
    free(shallow);
    return any;
}

/* The chunk of the rank's next F, or -1. */
static int forward_chunk(const struct rounds_build *b, int r)
{
    const struct rounds_rank *rank = &b->rank[r];

    if (b->chunks > 1 && rank->forward[1] < rank->forward[0]
        && arrives(b, MTLM_PHASE_FORWARD, r, 1))
        return 1;
    return arrives(b, MTLM_PHASE_FORWARD, r, 0) ? 0 : -1;
}

static bool round_of_forward(struct rounds_build *b)
{
    bool any = false;

    for (int r = 0; r < b->ranks; r++) {
        const int chunk = forward_chunk(b, r);

        if (chunk >= 0)
            any |= advance(b, MTLM_PHASE_FORWARD, r, chunk,
                           b->rounds->fill_forward);
    }
    return any;
}

static void begin_try(struct rounds_build *b)
{
    for (int i = 0; i < b->walk->n; i++)
        b->walk->end[i] = -1;
    for (int r = 0; r < b->ranks; r++) {
        struct rounds_rank *rank = &b->rank[r];

        *rank = (struct rounds_rank){.approved = rank->approved,
                                     .waiting = rank->waiting};
        b->order->n[r] = 0;
    }
}

static double build_once(struct rounds_build *b)
{
    int n = 0;
    bool any = true;

    begin_try(b);
    if (!(b->chunks == 1 ? begin_loop(b) : begin_v(b)))
        return INFINITY;
    while (any) {
        any = round_of_backward(b);
        any |= round_of_forward(b);
    }
    for (int r = 0; r < b->ranks; r++) {
        while (has_weight(&b->rank[r]))
            run_weight(b, r);
        n += b->order->n[r];
    }
    return n == b->walk->n ? mtlm_walk(b->walk, b->order) : INFINITY;
}

/* The longest idle time of a rank. */
static double most_idle(const struct rounds_build *b)
{
    double most = 0;

    for (int r = 0; r < b->ranks; r++)
        most = fmax(most, b->rank[r].idle);
    return most;
}

/* Again and again, as long as the idle times that a try approves make the next
 * one better. */
static double build_best(struct rounds_build *b, struct mtlm_box_order *best)
{
    double least = INFINITY, idle = INFINITY;

    for (int i = 0; i < MOST_TRIES; i++) {
        const double makespan = build_once(b);

        if (makespan < least) {
            least = makespan;
            mtlm_order_copy(best, b->order);
        }
        if (makespan == INFINITY || most_idle(b) >= idle)
            break;
        idle = most_idle(b);
        for (int r = 0; r < b->ranks; r++)
            b->rank[r].approved = b->rank[r].idle;
    }
    return least;
}

double mtlm_rounds_build(const struct mtlm_rounds *rounds,
                         struct mtlm_walk *walk, struct mtlm_box_order *order)
{
    const struct mtlm_boxes *boxes = walk->boxes;
    const struct mtlm_layout *layout = boxes->layout;
    struct mtlm_box_order work = mtlm_order_create(boxes);
    struct rounds_build b = {
        .rounds = rounds,
        .walk = walk,
        .order = &work,
        .boxes = boxes,
        .rank = mtlm_calloc(layout->pp, sizeof(struct rounds_rank)),
        .ranks = layout->pp,
        .chunks = layout->virtual_stages,
        .m = boxes->microbatches};
    double makespan;

    assert(b.chunks == 1
           || (b.chunks == 2 && layout->placement == MTLM_PLACEMENT_V));
    for (int r = 0; r < b.ranks; r++) {
        b.rank[r].approved = -1;
        b.rank[r].waiting = mtlm_calloc(b.chunks * b.m, sizeof(int));
    }
    makespan = build_best(&b, order);
    for (int r = 0; r < b.ranks; r++)
        free(b.rank[r].waiting);
    free(b.rank);
    mtlm_order_free(&work);
    return makespan;
}

double mtlm_rounds_best(double most_memory, struct mtlm_walk *walk,
                        struct mtlm_box_order *order)
{
    struct mtlm_box_order work = mtlm_order_create(walk->boxes);
    double least = INFINITY;

    for (int i = 0; i < 4; i++) {
        const struct mtlm_rounds rounds = {.most_memory = most_memory,
                                           .fill_backward = i % 2 == 1,
                                           .fill_forward = i / 2 == 1};
        const double makespan = mtlm_rounds_build(&rounds, walk, &work);

        if (makespan < least) {
            least = makespan;
            mtlm_order_copy(order, &work);
        }
    }
    mtlm_order_free(&work);
    return least < INFINITY ? mtlm_walk(walk, order) : INFINITY;
}
