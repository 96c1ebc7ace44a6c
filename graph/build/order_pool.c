/* Finds partners among the tensors of a rank's stages, and deals out slots. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "graph/build/order_pool.h"
#include "graph/build/ring.h"
#include "graph/build/ring_life.h"
#include "graph/build/ring_order.h"
#include "graph/order/order_slots.h"
#include "graph/order/walk.h"
#include "runtime/base/memory.h"

/* A box need not wait for the box before it. */
enum { LEAST = 2 };

/* Tensors that share slots: at most one of each chunk that B or W reads last,
 * and one of each chunk that B leaves for W. */
struct group {
    struct mtlm_tensor **member; /* [2 chunks]; NULL: none */
    const struct mtlm_tensor *like;
    int n; /* members */
};

/* Slots of some lives. */
struct dealt {
    struct mtlm_slot_life *life; /* [n] */
    int *slot;                   /* [n] */
    int n, slots;
    struct mtlm_slot_spare spare;
};

struct pooling {
    struct mtlm_program *program;
    struct mtlm_ring_life *lives; /* [tensor id] */
    bool *elsewhere;              /* [tensor id] other passes use the tensor */
    struct group *group;
    int n_groups;
    struct dealt *dealt; /* few lives differ: those dealt out so far */
    int n_dealt;
    struct mtlm_walk walk;
    int *number; /* [boxes] in the order of the walk */
};

/* ---- partners ---- */

static bool *find_elsewhere(const struct mtlm_graph *graph)
{
    bool *elsewhere = mtlm_calloc(graph->n_tensors, sizeof(*elsewhere));

    for (int i = 0; i < graph->all.n; i++) {
        const struct mtlm_node *node = graph->all.node[i];

        for (int k = 0; k < mtlm_node_n_uses(node); k++)
            if (node->phase > MTLM_PHASE_WEIGHT)
                elsewhere[mtlm_tensor_owner(mtlm_node_use(node, k).tensor)
                              ->id] = true;
    }
    return elsewhere;
}

/* Returns whether microbatches may need slots of the tensor at the same time. A
 * tensor of one phase needs few slots, whatever the order. */
static bool may_share(const struct pooling *p, const struct mtlm_tensor *t)
{
    return t->storage == MTLM_STORE_ACTIVATION && t->dtype != MTLM_I32
           && mtlm_tensor_is_owner(t) && t->block < 0
           && t->first_use != t->last_use && p->lives[t->id].n > 0
           && !p->elsewhere[t->id];
}

static bool is_kept_until_weight(const struct mtlm_tensor *t)
{
    return t->first_use == MTLM_PHASE_FORWARD
           && t->last_use == MTLM_PHASE_WEIGHT;
}

/* Returns whether two tensors may share slots.  Those that W reads last keep to
 * themselves: then the slots are as many as the order's microbatches. */
static bool are_alike(const struct mtlm_tensor *a, const struct mtlm_tensor *b)
{
    return is_kept_until_weight(a) == is_kept_until_weight(b)
           && mtlm_tensor_is_like(a, b);
}

/* Puts the tensor into the first group of its like that has place number i
 * free. */
static void join_group(struct pooling *p, struct mtlm_tensor *t, int i)
{
    const int places = 2 * p->program->config.layout.virtual_stages;
    int g = 0;

    while (g < p->n_groups
           && (p->group[g].member[i] || !are_alike(p->group[g].like, t)))
        g++;
    if (g == p->n_groups) {
        p->group = mtlm_realloc(p->group, ++p->n_groups, sizeof(*p->group));
        p->group[g] = (struct group){
            .member = mtlm_calloc(places, sizeof(struct mtlm_tensor *)),
            .like = t};
    }
    p->group[g].member[i] = t;
    p->group[g].n++;
}

static void find_groups(struct pooling *p)
{
    const struct mtlm_graph *graph = p->program->graph;
    const struct mtlm_layout *layout = &p->program->config.layout;

    for (int i = 0; i < graph->n_tensors; i++) {
        struct mtlm_tensor *t = graph->tensor[i];
        const int gradients = t->first_use == MTLM_PHASE_BACKWARD;

        if (t->stage >= 0 && may_share(p, t))
            join_group(p, t,
                       gradients * layout->virtual_stages
                           + mtlm_layout_chunk(layout, t->stage));
    }
}

/* ---- lives ---- */

static bool ends_before(const struct pooling *p, int a, int b)
{
    const double *end = p->walk.end;

    return end[a] < end[b] || (end[a] == end[b] && p->number[a] < p->number[b]);
}

/* Returns the first place below `place` whose box ends behind box `before`, or
 * `place`.  In one lane, ends ascend. */
static int first_behind(const struct pooling *p, const int *order, int before,
                        int place)
{
    int low = 0;

    while (low < place) {
        const int middle = low + (place - low) / 2;

        if (ends_before(p, before, order[middle]))
            place = middle;
        else
            low = middle + 1;
    }
    return place;
}

/* Returns the place in the order of the box's rank at which the message that
 * the box receives may begin. */
static int place_of_message(const struct pooling *p, int box)
{
    const struct mtlm_box_order *order = p->program->config.order;
    const int *boxes = order->box[p->program->config.layout.pp_rank];
    const int before = p->walk.before[box];
    int place = p->walk.place[box];

    if (!order->lane)
        return first_behind(p, boxes, before, place);
    while (place > 0 && ends_before(p, before, boxes[place - 1]))
        place--;
    return place;
}

/* Returns the first place at which the box has ended.  On a rank of several
 * lanes, others may start before. */
static int place_of_end(const struct pooling *p, int box)
{
    const struct mtlm_box_order *order = p->program->config.order;
    const int rank = p->program->config.layout.pp_rank;
    int place = p->walk.place[box] + 1;

    while (place < order->n[rank]
           && p->walk.start[order->box[rank][place]] < p->walk.end[box])
        place++;
    return place;
}

static struct mtlm_slot_life life_of(const struct pooling *p,
                                     const struct mtlm_tensor *t,
                                     int microbatch)
{
    const struct mtlm_ring_life *uses = &p->lives[t->id];
    struct mtlm_slot_life life = {p->walk.n, 0};

    for (int i = 0; i < uses->n; i++) {
        struct mtlm_box box = uses->box[i];
        int number, begin, end;

        box.microbatch = microbatch;
        number = mtlm_box_number(p->walk.boxes, box);
        begin = t->received && box.phase == t->first_use
                    ? place_of_message(p, number)
                    : p->walk.place[number];
        life.begin = begin < life.begin ? begin : life.begin;
        end = place_of_end(p, number);
        life.end = end > life.end ? end : life.end;
    }
    return life;
}

/* ---- slots ---- */

/* Returns the slots of these lives; takes over `life`. */
static const struct dealt *deal(struct pooling *p, struct mtlm_slot_life *life,
                                int n, struct mtlm_slot_spare spare)
{
    struct dealt *d;

    for (int i = 0; i < p->n_dealt; i++)
        if (p->dealt[i].n == n && p->dealt[i].spare.more == spare.more
            && p->dealt[i].spare.least == spare.least
            && memcmp(p->dealt[i].life, life, n * sizeof(*life)) == 0) {
            free(life);
            return &p->dealt[i];
        }
    p->dealt = mtlm_realloc(p->dealt, p->n_dealt + 1, sizeof(*p->dealt));
    d = &p->dealt[p->n_dealt++];
    *d = (struct dealt){.life = life, .n = n, .spare = spare};
    d->slot = mtlm_calloc(n, sizeof(*d->slot));
    d->slots = mtlm_order_slots_deal(life, n, spare, d->slot);
    return d;
}

/* Returns the tensor whose slots the group shares. */
static struct mtlm_tensor *add_shared(struct pooling *p,
                                      const struct group *group, int slots)
{
    struct mtlm_graph *graph = p->program->graph;
    struct mtlm_tensor *shared;

    graph->stage = group->like->stage;
    graph->phase = group->like->first_use;
    shared = mtlm_graph_tensor(graph, MTLM_STORE_ACTIVATION, "shared slots",
                               group->like->shape, group->like->dtype);
    shared->slots = slots;
    shared->last_use = group->like->last_use;
    return shared;
}

/* A received tensor has a slot more: its message may come early. */
static void share_slots(struct pooling *p, const struct group *group)
{
    const int places = 2 * p->program->config.layout.virtual_stages;
    const int m = p->program->config.microbatches;
    struct mtlm_slot_life *life =
        mtlm_calloc((size_t) group->n * m, sizeof(*life));
    struct mtlm_slot_spare spare = {0, LEAST};
    struct mtlm_tensor *shared;
    const struct dealt *dealt;
    int n = 0;

    for (int c = 0; c < places; c++)
        for (int i = 0; group->member[c] && i < m; i++) {
            spare.more |= group->member[c]->received;
            life[n++] = life_of(p, group->member[c], i);
        }
    dealt = deal(p, life, n, spare);
    shared = add_shared(p, group, dealt->slots);
    n = 0;
    for (int c = 0; c < places; c++) {
        struct mtlm_tensor *t = group->member[c];

        if (!t)
            continue;
        t->pool = shared;
        t->pool_size = 1;
        t->n_slot_of = m;
        t->slot_of = mtlm_calloc(m, sizeof(*t->slot_of));
        memcpy(t->slot_of, &dealt->slot[n], m * sizeof(*t->slot_of));
        n += m;
    }
}

/* ---- the whole ---- */

static void share_all(struct pooling *p)
{
    find_groups(p);
    for (int i = 0; i < p->n_groups; i++) {
        if (p->group[i].n > 1)
            share_slots(p, &p->group[i]);
        free(p->group[i].member);
    }
    for (int i = 0; i < p->n_dealt; i++) {
        free(p->dealt[i].life);
        free(p->dealt[i].slot);
    }
    free(p->group);
    free(p->dealt);
}

void mtlm_order_pool_apply(struct mtlm_program *program)
{
    const struct mtlm_program_config *config = &program->config;
    const int stages = mtlm_layout_stages(&config->layout);
    const int n_tensors = program->graph->n_tensors;
    struct pooling p = {.program = program};
    struct mtlm_boxes boxes;
    struct mtlm_window_model model;
    double *times;

    if (!mtlm_program_is_ordered(config))
        return;
    times = mtlm_calloc(4 * stages, sizeof(*times));
    model = mtlm_ring_model(config, times, times + 3 * stages);
    boxes = mtlm_ring_order_boxes(config, &model);
    p.walk = mtlm_ring_order_walk(config, &boxes);
    p.number = mtlm_calloc(p.walk.n, sizeof(*p.number));
    for (int i = 0; i < p.walk.n_run; i++)
        p.number[p.walk.run[i]] = i;
    p.lives = mtlm_ring_life_find(program);
    p.elsewhere = find_elsewhere(program->graph);
    share_all(&p);
    mtlm_ring_life_free(p.lives, n_tensors);
    free(p.elsewhere);
    free(p.number);
    mtlm_walk_free(&p.walk);
    free(times);
}
