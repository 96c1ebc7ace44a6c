/* Counts the slots of a rank along its order. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/order/order_memory.h"
#include "runtime/base/memory.h"

/* A ring of a stage.  Microbatch i has slot i modulo the length: the distance
 * of numbers in use counts. */
struct counted_ring {
    bool *used;         /* [m] */
    int oldest, newest; /* no number outside oldest .. newest is in use */
    int slots;
};

/* The rings of a virtual stage: tensors that B reads last, and tensors that W
 * reads last. */
struct stage_rings {
    struct counted_ring backward, weight;
};

static void take_slot(struct counted_ring *ring, int i)
{
    while (ring->oldest <= ring->newest && !ring->used[ring->oldest])
        ring->oldest++;
    while (ring->newest >= ring->oldest && !ring->used[ring->newest])
        ring->newest--;
    if (ring->newest < ring->oldest)
        ring->oldest = ring->newest = i;
    ring->used[i] = true;
    ring->oldest = i < ring->oldest ? i : ring->oldest;
    ring->newest = i > ring->newest ? i : ring->newest;
    ring->slots =
        fmax(ring->slots, fmax(ring->newest - i, i - ring->oldest) + 1);
}

static struct stage_rings *create_rings(const struct mtlm_boxes *boxes)
{
    const int v = boxes->layout->virtual_stages;
    struct stage_rings *rings = mtlm_calloc(v, sizeof(*rings));

    for (int c = 0; c < v; c++) {
        rings[c].backward = (struct counted_ring){
            mtlm_calloc(boxes->microbatches, sizeof(bool)), 0, -1, 0};
        rings[c].weight = (struct counted_ring){
            mtlm_calloc(boxes->microbatches, sizeof(bool)), 0, -1, 0};
    }
    return rings;
}

static void free_rings(struct stage_rings *rings, int n)
{
    for (int c = 0; c < n; c++) {
        free(rings[c].backward.used);
        free(rings[c].weight.used);
    }
    free(rings);
}

/* Returns the stage's memory. */
static double memory_of(const struct stage_rings *rings, double microbatch,
                        double share)
{
    return microbatch
           * (rings->backward.slots
              + share * (rings->weight.slots - rings->backward.slots));
}

/* Runs a box.  Returns what the rings grow by. */
static double run_box(const struct mtlm_boxes *boxes, struct stage_rings *rings,
                      struct mtlm_box box, double share)
{
    const double microbatch = boxes->memory[box.stage];
    const double before = memory_of(rings, microbatch, share);

    if (box.phase == MTLM_PHASE_FORWARD) {
        take_slot(&rings->backward, box.microbatch);
        take_slot(&rings->weight, box.microbatch);
    } else if (box.phase == MTLM_PHASE_BACKWARD) {
        rings->backward.used[box.microbatch] = false;
    } else if (box.piece == boxes->pieces - 1) {
        rings->weight.used[box.microbatch] = false;
    }
    return memory_of(rings, microbatch, share) - before;
}

/* Returns the place of the first box with which the rank needs more than
 * `most`, or -1.  Sets *memory to what the rank needs then. */
static int walk_rank(const struct mtlm_box_order *order,
                     const struct mtlm_boxes *boxes, int rank, double share,
                     double most, double *memory)
{
    struct stage_rings *rings = create_rings(boxes);
    int place = -1;

    *memory = 0;
    for (int j = 0; j < order->n[rank] && place < 0; j++) {
        const struct mtlm_box box = mtlm_box_at(boxes, order->box[rank][j]);

        *memory +=
            run_box(boxes, &rings[mtlm_layout_chunk(boxes->layout, box.stage)],
                    box, share > 0 ? share : 1);
        if (*memory > most)
            place = j;
    }
    free_rings(rings, boxes->layout->virtual_stages);
    return place;
}

double mtlm_order_memory(const struct mtlm_box_order *order,
                         const struct mtlm_boxes *boxes, int rank,
                         double weight_share)
{
    double memory;

    walk_rank(order, boxes, rank, weight_share, INFINITY, &memory);
    return memory;
}

int mtlm_order_memory_exceeds(const struct mtlm_box_order *order,
                              const struct mtlm_boxes *boxes, int rank,
                              const struct mtlm_order_limit *limit,
                              double *memory)
{
    return walk_rank(order, boxes, rank, limit->weight_share,
                     limit->most[rank] * (1 + 1e-9), memory);
}
