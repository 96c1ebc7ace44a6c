/* The best orders beside published ones of equal memory, as a table: for each
 * line of perf/results/schedules-authors.csv, which has the makespans of the
 * zero-bubble authors' own schedulers, the lower bound, the best published
 * order, and the order that the search finds (graph/order/best.h).
 * Arguments: that file, and optionally n: every n-th setting only. */

#include "config.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "graph/order/best.h"
#include "graph/order/published.h"
#include "graph/predict/bound.h"
#include "graph/schedule/schedule.h"

enum { MOST_STAGES = 128, PIECES = 4 };

/* A setting, and the shortest order of the authors' schedulers within its
 * memory.  Memory 1: the activations of a microbatch on a rank. */
struct setting {
    int p, m;
    double forward, backward, weight, hop; /* of a rank */
    int slow;                              /* a rank of speed 0.8; -1: none */
    double memory;
    char scheduler[16];
    double makespan; /* 0: no order fits */
};

/* The pipeline of a setting with v virtual stages. */
struct pipeline {
    struct mtlm_layout layout;
    double forward[MOST_STAGES], backward[MOST_STAGES], weight[MOST_STAGES];
    double memory[MOST_STAGES];
    struct mtlm_boxes boxes;
};

/* The best orders and the least bound so far. */
struct found {
    double bound, published, best;
    const char *name, *kind;
    double seconds;
};

static const struct kind {
    const char *name;
    int v;
    enum mtlm_placement placement;
    bool search;
} kinds[] = {{"1", 1, MTLM_PLACEMENT_LOOP, true},
             {"2, v", 2, MTLM_PLACEMENT_V, true},
             {"2, loop", 2, MTLM_PLACEMENT_LOOP, false},
             {"3, loop", 3, MTLM_PLACEMENT_LOOP, false},
             {"4, loop", 4, MTLM_PLACEMENT_LOOP, false}};

static void set_pipeline(const struct setting *s, const struct kind *kind,
                         struct pipeline *l)
{
    l->layout = (struct mtlm_layout){.tp = 1,
                                     .pp = s->p,
                                     .dp = 1,
                                     .virtual_stages = kind->v,
                                     .placement = kind->placement,
                                     .workers = 1};
    for (int k = 0; k < s->p * kind->v; k++) {
        const bool slow = mtlm_layout_pp_rank(&l->layout, k) == s->slow;
        const double share = (slow ? 1.25 : 1) / kind->v;

        l->forward[k] = share * s->forward;
        l->backward[k] = share * s->backward;
        l->weight[k] = share * s->weight;
        l->memory[k] = 1.0 / kind->v;
    }
    l->boxes = (struct mtlm_boxes){.layout = &l->layout,
                                   .microbatches = s->m,
                                   .pieces = PIECES,
                                   .forward = l->forward,
                                   .backward = l->backward,
                                   .weight = l->weight,
                                   .hop = s->hop,
                                   .memory = l->memory};
}

static double bound_of(const struct pipeline *l)
{
    const struct mtlm_evaluate evaluate = {
        .layout = &l->layout,
        .schedule = mtlm_schedule_find("zb-h1"),
        .microbatches = l->boxes.microbatches,
        .forward = l->forward,
        .backward = l->backward,
        .weight = l->weight,
        .hop = l->boxes.hop,
        .pieces = PIECES};

    return mtlm_bound_makespan(&evaluate);
}

static void try_published(struct pipeline *l, double memory,
                          struct found *found)
{
    for (int i = 0; i < MTLM_PUBLISHED_COUNT; i++) {
        const struct mtlm_published *published = &mtlm_published[i];
        struct mtlm_walk walk;
        struct mtlm_box_order order;
        double makespan;

        if (mtlm_published_lacks(published, &l->boxes))
            continue;
        l->boxes.fused = published->fused;
        walk = mtlm_walk_create(&l->boxes);
        order = mtlm_order_create(&l->boxes);
        makespan = mtlm_published_build(published, &walk, memory, &order);
        if (makespan < found->published) {
            found->published = makespan;
            found->name = published->name;
        }
        mtlm_order_free(&order);
        mtlm_walk_free(&walk);
    }
    l->boxes.fused = false;
}

static double seconds_now(void)
{
    return (double) clock() / CLOCKS_PER_SEC;
}

static void search(const struct pipeline *l, double memory, double bound,
                   const char *kind, struct found *found)
{
    const struct mtlm_best best = {.most_memory = memory,
                                   .slots.pooled = true,
                                   .enough = bound,
                                   .effort = 1};
    struct mtlm_walk walk = mtlm_walk_create(&l->boxes);
    struct mtlm_box_order order = mtlm_order_create(&l->boxes);
    const double begin = seconds_now();
    const double makespan = mtlm_best_order(&best, &walk, &order);

    found->seconds += seconds_now() - begin;
    if (makespan < found->best) {
        found->best = makespan;
        found->kind = kind;
    }
    mtlm_order_free(&order);
    mtlm_walk_free(&walk);
}

static struct found try_setting(const struct setting *s)
{
    struct found found = {.bound = INFINITY,
                          .published = INFINITY,
                          .best = INFINITY,
                          .name = s->scheduler,
                          .kind = "none"};
    const double memory = s->memory * (1 + 1e-5); /* as printed */

    if (s->makespan > 0)
        found.published = s->makespan;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        struct pipeline l;

        set_pipeline(s, &kinds[i], &l);
        try_published(&l, memory, &found);
        if (!kinds[i].search)
            continue;
        found.bound = fmin(found.bound, bound_of(&l));
        search(&l, memory, bound_of(&l), kinds[i].name, &found);
    }
    return found;
}

/* Reads a line of the file.  Returns false at the end. */
static bool read_setting(FILE *file, struct setting *s)
{
    return fscanf(file, "%d,%d,%lf,%lf,%lf,%lf,%d,%lf,%15[^,],%lf\n", &s->p,
                  &s->m, &s->forward, &s->backward, &s->weight, &s->hop,
                  &s->slow, &s->memory, s->scheduler, &s->makespan)
           == 10;
}

/* Counts over the table. */
struct counts {
    int settings, above, room, gained;
    double seconds, longest;
};

static void count(const struct found *f, struct counts *c)
{
    const bool room = f->published >= 1.02 * f->bound;

    c->settings++;
    c->above += f->best > 1.005 * f->published;
    c->room += room;
    c->gained += room && f->best <= .995 * f->published;
    c->seconds += f->seconds;
    c->longest = fmax(c->longest, f->seconds);
}

static void print_row(const struct setting *s, const struct found *f)
{
    printf("| %d, %d | %g, %g, %g, %g%s | %.4g | %.2f | %.2f %s | %.2f | %s | "
           "%+.2f %% | %.1f |\n",
           s->p, s->m, s->forward, s->backward, s->weight, s->hop,
           s->slow >= 0 ? ", slow" : "", s->memory, f->bound, f->published,
           f->name, f->best, f->kind, 100 * (f->best / f->published - 1),
           f->seconds);
    fflush(stdout);
}

static void print_counts(const struct counts *c)
{
    printf("\n%d settings. Above the best published by more than 0.5 %%: %d. "
           "The bound leaves 2 %% or more in %d;\nof these, at least 0.5 %% "
           "below the best published: %d. Searches: %.1f s, the longest %.1f "
           "s.\n",
           c->settings, c->above, c->room, c->gained, c->seconds, c->longest);
}

int main(int argc, char **argv)
{
    const int every = argc > 2 ? atoi(argv[2]) : 1;
    FILE *file = argc > 1 ? fopen(argv[1], "r") : NULL;
    struct counts counts = {0};
    struct setting s;

    if (argc > 1 && !file) {
        fprintf(stderr, "search_orders: %s: %s\n", argv[1], strerror(errno));
        return 2;
    }
    if (!file || fscanf(file, "%*[^\n]\n") == EOF || every < 1) {
        fprintf(stderr, "usage: search_orders FILE [EVERY]\n");
        return 2;
    }
    printf("| p, m | F, B, W, hop | memory | bound | best published | found | "
           "stages | gain | seconds |\n"
           "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (int i = 0; read_setting(file, &s); i++)
        if (i % every == 0) {
            const struct found found = try_setting(&s);

            print_row(&s, &found);
            count(&found, &counts);
        }
    fclose(file);
    print_counts(&counts);
    return 0;
}
