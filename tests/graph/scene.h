#ifndef MTLM_TESTS_GRAPH_SCENE_H
#define MTLM_TESTS_GRAPH_SCENE_H

/* A pipeline of equal stages for tests of orders, and what every order must
 * hold. */

#include "graph/order/order_file.h"
#include "graph/order/walk.h"

enum { SCENE_MOST = 64 }; /* virtual stages */

extern const double scene_rounding;

struct scene {
    struct mtlm_layout layout;
    double forward[SCENE_MOST], backward[SCENE_MOST], weight[SCENE_MOST];
    double memory[SCENE_MOST];
    struct mtlm_boxes boxes;
    struct mtlm_walk walk;
    struct mtlm_box_order order;
};

/* Makes p ranks of v virtual stages.  times: F, B and W of a rank; each virtual
 * stage takes its share.  The memory of a microbatch on a rank is 1.  With two
 * virtual stages, the placement is V. */
void scene_create(struct scene *s, int p, int m, int v, int pieces,
                  const double times[3], double hop);

/* Call after changes of layout, boxes or times. */
void scene_update(struct scene *s);

/* Gives a rank 0.8 of its speed. */
void scene_slow_down(struct scene *s, int rank);

void scene_free(struct scene *s);

/* Asserts that the order holds every box once, on its rank, each box after what
 * the box waits for, and that the memory suffices. */
void scene_assert_sound(struct scene *s, double most_memory);

/* Reads the text of an order's file into `order`, an order without boxes. */
void scene_read(const struct scene *s, const char *csv,
                struct mtlm_box_order *order,
                struct mtlm_order_file_notes *notes);

#endif /* MTLM_TESTS_GRAPH_SCENE_H */
