/* --schedule-file: reads the order, and settles what the order decides. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/order/order_file.h"
#include "graph/order/order_rows.h"
#include "graph/order/published.h"
#include "launch/options/option_table.h"
#include "launch/options/options_note.h"
#include "launch/options/options_order.h"
#include "launch/options/options_schedule.h"
#include "launch/options/options_stages.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"

/* Refuses options that choose another order. */
static int check_alone(const struct mtlm_options *o, struct mtlm_error *err)
{
    static const enum mtlm_option_id others[] = {
        MTLM_OPT_SCHEDULE, MTLM_OPT_WINDOW, MTLM_OPT_STAGE_WINDOWS};

    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (mtlm_options_given(o, others[i]))
            return mtlm_error_set(err, MTLM_EXIT_USAGE,
                                  "--schedule-file and --%s contradict each "
                                  "other; give one of them",
                                  mtlm_option_name(others[i]));
    return 0;
}

/* Refuses options that contradict the file's shape. */
static int check_shape(const struct mtlm_options *o,
                       const struct mtlm_order_shape *shape,
                       struct mtlm_error *err)
{
    if (mtlm_options_given(o, MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE)
        && o->pipeline_parallel != shape->ranks)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s has rows of %d pipeline rank%s, and "
                              "--pipeline-model-parallel-size is %" PRId64,
                              o->schedule_file, shape->ranks,
                              mtlm_plural(shape->ranks), o->pipeline_parallel);
    if (mtlm_options_given(o, MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK)
        && o->virtual_stages != shape->virtual_stages)
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE,
            "%s has %d virtual stage%s on each rank, and "
            "--num-virtual-stages-per-pipeline-rank is %" PRId64,
            o->schedule_file, shape->virtual_stages,
            mtlm_plural(shape->virtual_stages), o->virtual_stages);
    if (mtlm_options_given(o, MTLM_OPT_PLACEMENT)
        && (o->placement == MTLM_PLACEMENT_POLICY
            || (shape->virtual_stages > 1 && o->placement != shape->placement)))
        return mtlm_error_set(
            err, MTLM_EXIT_USAGE, "%s has placement %s, and --placement is %s",
            o->schedule_file, mtlm_placement_name(shape->placement),
            mtlm_placement_name(o->placement));
    return 0;
}

static void set_shape(struct mtlm_options *o,
                      const struct mtlm_order_shape *shape)
{
    const unsigned char source = mtlm_options_source(o, MTLM_OPT_SCHEDULE_FILE);

    o->pipeline_parallel = shape->ranks;
    o->source[MTLM_OPT_PIPELINE_MODEL_PARALLEL_SIZE] = source;
    o->placement = shape->placement;
    o->source[MTLM_OPT_PLACEMENT] = source;
    if (mtlm_options_stages_given(o))
        return;
    o->virtual_stages = shape->virtual_stages;
    o->source[MTLM_OPT_NUM_VIRTUAL_STAGES_PER_PIPELINE_RANK] = source;
}

static void note_left_out(struct mtlm_options *o,
                          const struct mtlm_order_file_notes *notes)
{
    if (notes->messages > 0)
        mtlm_options_note(o, "%s: %d message%s left out, the graph has its own",
                          o->schedule_file, notes->messages,
                          mtlm_plural(notes->messages));
    if (notes->sharding > 0)
        mtlm_options_note(o,
                          "%s: %d action%s of sharding left out, weights are "
                          "not sharded",
                          o->schedule_file, notes->sharding,
                          mtlm_plural(notes->sharding));
}

static int read_order(struct mtlm_options *o,
                      const struct mtlm_order_shape *shape,
                      struct mtlm_error *err)
{
    const struct mtlm_layout layout = {.tp = 1,
                                       .pp = shape->ranks,
                                       .dp = 1,
                                       .virtual_stages = shape->virtual_stages,
                                       .placement = shape->placement,
                                       .workers = 1};
    const int stages = mtlm_layout_stages(&layout);
    double *one = mtlm_calloc(stages, sizeof(*one));
    const struct mtlm_boxes boxes = {.layout = &layout,
                                     .microbatches = shape->microbatches,
                                     .pieces = 1,
                                     .forward = one,
                                     .backward = one,
                                     .weight = one,
                                     .memory = one};
    struct mtlm_order_file_notes notes;
    int rc;

    for (int k = 0; k < stages; k++)
        one[k] = 1;
    o->order_microbatches = shape->microbatches;
    o->order = mtlm_calloc(1, sizeof(*o->order));
    *o->order = mtlm_order_create(&boxes);
    rc = mtlm_order_file_read(o->schedule_file, &boxes, NULL, o->order, &notes,
                              err);
    free(one);
    if (rc < 0)
        return -1;
    note_left_out(o, &notes);
    if (o->schedule_mode == MTLM_FOLLOW_STRICT && notes.late[0])
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: %s; gradients add up in ascending order, "
                              "which --schedule-mode strict cannot change: "
                              "give hint or windows",
                              o->schedule_file, notes.late);
    return 0;
}

/* Refuses a mode without an order. */
static int check_mode(const struct mtlm_options *o, struct mtlm_error *err)
{
    const char *name = mtlm_options_schedule(o)->name;

    if (mtlm_options_source(o, MTLM_OPT_SCHEDULE_MODE)
            != MTLM_SOURCE_COMMAND_LINE
        || mtlm_published_find(name))
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "--schedule-mode is for the order of --schedule-file "
                          "or of a published --schedule; %s has none",
                          name);
}

int mtlm_options_order_resolve(struct mtlm_options *options,
                               struct mtlm_error *err)
{
    struct mtlm_options *o = options;
    struct mtlm_order_shape shape;

    if (!o->schedule_file)
        return check_mode(o, err);
    if (check_alone(o, err) < 0
        || mtlm_order_rows_shape(o->schedule_file, &shape, err) < 0
        || check_shape(o, &shape, err) < 0 || read_order(o, &shape, err) < 0)
        return -1;
    set_shape(o, &shape);
    return 0;
}
