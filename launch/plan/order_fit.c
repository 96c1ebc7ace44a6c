/* Compares the slots of an order with the memory of each rank. */

#include "config.h"

#include <math.h>
#include <stdlib.h>

#include "graph/build/ring_order.h"
#include "graph/order/order_file.h"
#include "graph/order/order_write.h"
#include "graph/predict/activation_memory.h"
#include "launch/options/options_schedule.h"
#include "launch/plan/order_fit.h"
#include "runtime/base/compare.h"
#include "runtime/base/memory.h"
#include "runtime/base/units.h"

/* The boxes of an order.  memory [stages] MiB is the caller's. */
static struct mtlm_boxes boxes_of(const struct mtlm_program_config *config,
                                  double *memory)
{
    struct mtlm_boxes boxes = mtlm_program_boxes(config);

    for (int k = 0; k < mtlm_layout_stages(&config->layout); k++)
        memory[k] = config->activation.stage[k] / MTLM_MIB;
    boxes.forward = boxes.backward = boxes.weight = boxes.memory = memory;
    return boxes;
}

/* Reads the file again, which has the columns. */
static int check_file(const struct mtlm_options *o,
                      const struct mtlm_boxes *boxes,
                      const struct mtlm_order_limit *limit,
                      struct mtlm_error *err)
{
    struct mtlm_box_order order = mtlm_order_create(boxes);
    struct mtlm_order_file_notes notes;
    const int rc = mtlm_order_file_read(o->schedule_file, boxes, limit, &order,
                                        &notes, err);

    mtlm_order_free(&order);
    return rc;
}

/* The columns of a published order are those of --schedule-out. */
static int check_published(const struct mtlm_program_config *config,
                           const struct mtlm_boxes *boxes,
                           const struct mtlm_order_limit *limit,
                           struct mtlm_error *err)
{
    for (int r = 0; r < boxes->layout->pp; r++) {
        double memory;
        const int place =
            mtlm_order_memory_exceeds(config->order, boxes, r, limit, &memory);
        char action[MTLM_ORDER_WRITE_ACTION];
        int column;

        if (place < 0)
            continue;
        column =
            mtlm_order_write_column(boxes, config->order, r, place, action);
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "--schedule %s: rank %d, column %d: with %s the activations take "
            "%.6g MiB, and the rank has %.6g MiB for them",
            config->schedule->name, r, column, action, memory, limit->most[r]);
    }
    return 0;
}

/* most [ranks]: MiB. */
static int check(const struct mtlm_options *o,
                 const struct mtlm_program_config *config,
                 const struct mtlm_boxes *boxes, const double *most,
                 struct mtlm_error *err)
{
    const struct mtlm_order_limit limit = {most, mtlm_ring_order_rules(config)};

    return o->schedule_file ? check_file(o, boxes, &limit, err)
                            : check_published(config, boxes, &limit, err);
}

int mtlm_order_fit_act_mem(const struct mtlm_options *options,
                           const struct mtlm_program_config *config,
                           struct mtlm_error *err)
{
    double *memory =
        mtlm_calloc(mtlm_layout_stages(&config->layout), sizeof(*memory));
    double *most = mtlm_calloc(config->layout.pp, sizeof(*most));
    const struct mtlm_boxes boxes = boxes_of(config, memory);
    int rc;

    for (int r = 0; r < config->layout.pp; r++)
        most[r] = config->act_mem / MTLM_MIB;
    rc = check(options, config, &boxes, most, err);
    free(memory);
    free(most);
    return rc;
}

/* ---- memory of machines ---- */

/* Returns the MiB that a rank needs. */
static double need_of_rank(const struct mtlm_hosts *hosts,
                           const struct mtlm_plan *plan)
{
    return (hosts->gpus ? mtlm_plan_gpu_bytes(plan)
                        : mtlm_plan_more_bytes(plan))
           / MTLM_MIB;
}

/* Returns the most that each of n ranks can have of `available`, where ranks
 * that need less leave the rest to the others. */
static double level_of(double *need, int n, double available)
{
    qsort(need, n, sizeof(*need), mtlm_compare_double);
    for (int i = 0; i < n; i++) {
        if (need[i] > available / (n - i))
            return available / (n - i);
        available -= need[i];
    }
    return INFINITY;
}

/* Returns the MiB that a rank can have: of its GPU, or of the machine where
 * ranks can have least. */
static double share_of_rank(const struct mtlm_hosts *hosts,
                            const struct mtlm_outline *outline)
{
    const int ranks = mtlm_layout_ranks(&outline->layout);
    double *need = mtlm_calloc(hosts->per_host, sizeof(*need));
    double share = hosts->gpus ? hosts->available / MTLM_MIB : INFINITY;

    for (int first = 0; first < ranks && !hosts->gpus;
         first += hosts->per_host) {
        int n = 0;

        for (; n < hosts->per_host && first + n < ranks; n++)
            need[n] =
                need_of_rank(hosts, mtlm_outline_plan(outline, first + n));
        share = fmin(share, level_of(need, n, hosts->available / MTLM_MIB));
    }
    free(need);
    return share;
}

/* Sets most [ranks]: MiB that each rank has for the slots of the order. Returns
 * false if a rank cannot have a slot per stage. */
static bool find_most(const struct mtlm_program_config *config,
                      const struct mtlm_boxes *boxes,
                      const struct mtlm_hosts *hosts, double *most)
{
    const int pp = config->layout.pp;
    const struct mtlm_slot_rules rules = mtlm_ring_order_rules(config);
    struct mtlm_outline outline =
        mtlm_outline_create(config, hosts->process_bytes);
    const double share = share_of_rank(hosts, &outline);
    bool enough = true;

    for (int r = 0; r < pp; r++) {
        double least = 0;

        for (int c = 0; c < config->layout.virtual_stages; c++)
            least += boxes->memory[mtlm_box_stage(boxes, r, c)];
        most[r] = share - need_of_rank(hosts, &outline.plan[r])
                  + mtlm_order_memory(config->order, boxes, r, &rules);
        enough = enough && most[r] >= least;
    }
    mtlm_outline_destroy(&outline);
    return enough;
}

int mtlm_order_fit_machines(const struct mtlm_options *options,
                            const struct mtlm_wish *wish,
                            const struct mtlm_hosts *hosts,
                            const struct mtlm_choice *choice,
                            struct mtlm_error *err)
{
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    struct mtlm_boxes boxes;
    double *memory, *most;
    int rc = 0;

    if (!config.order || config.eval_only
        || (!options->schedule_file && !mtlm_options_schedule_follows(options))
        || choice->least || choice->need <= hosts->available)
        return 0;
    config.activation = mtlm_activation_memory(&config);
    memory = mtlm_calloc(mtlm_layout_stages(&config.layout), sizeof(*memory));
    most = mtlm_calloc(config.layout.pp, sizeof(*most));
    boxes = boxes_of(&config, memory);
    if (find_most(&config, &boxes, hosts, most))
        rc = check(options, &config, &boxes, most, err);
    free(memory);
    free(most);
    mtlm_activation_memory_free(&config.activation);
    return rc;
}
