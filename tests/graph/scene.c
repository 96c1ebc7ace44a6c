/* Pipelines for tests of orders. */

#include "config.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/graph/scene.h"

const double scene_rounding = 1e-6;

void scene_create(struct scene *s, int p, int m, int v, int pieces,
                  const double times[3], double hop)
{
    s->layout = (struct mtlm_layout){.tp = 1,
                                     .pp = p,
                                     .dp = 1,
                                     .virtual_stages = v,
                                     .placement = v == 2 ? MTLM_PLACEMENT_V
                                                         : MTLM_PLACEMENT_LOOP,
                                     .workers = 1};
    for (int k = 0; k < p * v; k++) {
        s->forward[k] = times[0] / v;
        s->backward[k] = times[1] / v;
        s->weight[k] = times[2] / v;
        s->memory[k] = 1.0 / v;
    }
    s->boxes = (struct mtlm_boxes){.layout = &s->layout,
                                   .microbatches = m,
                                   .pieces = pieces,
                                   .forward = s->forward,
                                   .backward = s->backward,
                                   .weight = s->weight,
                                   .hop = hop,
                                   .memory = s->memory};
    s->walk = mtlm_walk_create(&s->boxes);
    s->order = mtlm_order_create(&s->boxes);
}

void scene_update(struct scene *s)
{
    mtlm_walk_free(&s->walk);
    s->walk = mtlm_walk_create(&s->boxes);
}

void scene_slow_down(struct scene *s, int rank)
{
    for (int k = 0; k < mtlm_layout_stages(&s->layout); k++)
        if (mtlm_layout_pp_rank(&s->layout, k) == rank) {
            s->forward[k] *= 1.25;
            s->backward[k] *= 1.25;
            s->weight[k] *= 1.25;
        }
    scene_update(s);
}

void scene_free(struct scene *s)
{
    mtlm_order_free(&s->order);
    mtlm_walk_free(&s->walk);
}

void scene_assert_sound(struct scene *s, double most_memory)
{
    bool *seen = calloc(s->walk.n, sizeof(*seen));
    int n = 0;

    assert_true(mtlm_walk(&s->walk, &s->order) < INFINITY);
    for (int r = 0; r < s->order.ranks; r++)
        for (int j = 0; j < s->order.n[r]; j++) {
            const int box = s->order.box[r][j], before = s->walk.before[box];

            assert_int_equal(mtlm_box_rank(&s->boxes, box), r);
            assert_false(seen[box]);
            seen[box] = true;
            n++;
            if (before >= 0)
                assert_true(s->walk.start[box] + scene_rounding
                            >= s->walk.end[before] + s->walk.hop[box]);
        }
    free(seen);
    assert_int_equal(n, s->walk.n);
    assert_true(mtlm_order_peak(&s->order, &s->boxes)
                <= most_memory + scene_rounding);
}

void scene_read(const struct scene *s, const char *csv,
                struct mtlm_box_order *order,
                struct mtlm_order_file_notes *notes)
{
    struct mtlm_error err = {0};
    char path[] = "/tmp/mtlm-order-XXXXXX";
    FILE *file = fdopen(mkstemp(path), "w");

    assert_non_null(file);
    assert_true(fputs(csv, file) >= 0);
    assert_int_equal(fclose(file), 0);
    if (mtlm_order_file_read(path, &s->boxes, NULL, order, notes, &err) < 0)
        fail_msg("%s", err.text);
    remove(path);
}
