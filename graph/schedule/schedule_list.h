#ifndef MTLM_GRAPH_SCHEDULE_LIST_H
#define MTLM_GRAPH_SCHEDULE_LIST_H

/* Every pipeline schedule, one entry each.  To add a schedule, add an entry.
 * If the windows follow a new formula, add the formula to schedule.c.
 *
 * SCHEDULE("name", "help", fields of struct mtlm_schedule...)
 *
 * The choices of --schedule, their help, all checks and messages come from
 * here.  The first entry is the default. */
#define MTLM_SCHEDULE_LIST(SCHEDULE)                                           \
    SCHEDULE(                                                                  \
        "window",                                                              \
        "B and W apart, windows of --window, --act-mem or --stage-windows",    \
        .sizing = MTLM_SIZING_OPTIONS, .least_chunks = 1,                      \
        .windows = by_options, .order = &mtlm_priority_by_depth)               \
    SCHEDULE("gpipe", "all F, then all B", .source = "arXiv 1811.06965",       \
             .fused = true, .least_chunks = 1, .most_chunks = 1,               \
             .windows = all_microbatches, .order = &mtlm_priority_by_depth)    \
    SCHEDULE("1f1b", "F and B in turn", .source = "arXiv 2104.04473, 2.2.1",   \
             .fused = true, .least_chunks = 1, .most_chunks = 1,               \
             .windows = one_pipeline, .order = &mtlm_priority_by_depth)        \
    SCHEDULE("interleaved", "1F1B of two or more virtual stages on each rank", \
             .source = "arXiv 2104.04473, 2.2.2", .fused = true,               \
             .least_chunks = 2, .placed = true,                                \
             .placement = MTLM_PLACEMENT_LOOP, .windows = interleaved,         \
             .order = &mtlm_priority_by_groups)                                \
    SCHEDULE("breadth-first", "all microbatches through each virtual stage",   \
             .source = "arXiv 2211.05953", .fused = true, .least_chunks = 2,   \
             .placed = true, .placement = MTLM_PLACEMENT_LOOP,                 \
             .windows = all_microbatches, .order = &mtlm_priority_by_depth,    \
             .followed = true)                                                 \
    SCHEDULE("zb-h1", "1F1B's memory, W apart", .source = "arXiv 2401.10241",  \
             .least_chunks = 1, .most_chunks = 1,                              \
             .windows = one_pipeline_filled, .order = &mtlm_priority_by_depth) \
    SCHEDULE("zb-h2", "twice 1F1B's memory, W apart",                          \
             .source = "arXiv 2401.10241", .least_chunks = 1,                  \
             .most_chunks = 1, .windows = two_pipelines_filled,                \
             .order = &mtlm_priority_by_depth)                                 \
    SCHEDULE("zb-1p", "1F1B's memory, W apart, by times",                      \
             .source = "arXiv 2401.10241, 3", .least_chunks = 1,               \
             .most_chunks = 1, .windows = one_pipeline_filled,                 \
             .order = &mtlm_priority_by_depth, .followed = true)               \
    SCHEDULE("zb-2p", "twice 1F1B's memory, W apart, by times",                \
             .source = "arXiv 2401.10241, 3", .least_chunks = 1,               \
             .most_chunks = 1, .windows = two_pipelines_filled,                \
             .order = &mtlm_priority_by_depth, .followed = true)               \
    SCHEDULE("zb-v",                                                           \
             "1F1B's memory, W apart, two virtual stages on each rank, "       \
             "--placement v",                                                  \
             .source = "arXiv 2405.15362", .least_chunks = 2,                  \
             .most_chunks = 2, .placed = true, .placement = MTLM_PLACEMENT_V,  \
             .windows = pipeline_of_memory, .order = &mtlm_priority_by_depth)  \
    SCHEDULE("v-half", "half of 1F1B's memory, W apart, --placement v",        \
             .source = "arXiv 2405.15362", .least_chunks = 2,                  \
             .most_chunks = 2, .placed = true, .placement = MTLM_PLACEMENT_V,  \
             .windows = half_of_memory, .order = &mtlm_priority_by_depth,      \
             .followed = true)                                                 \
    SCHEDULE("v-min", "a third of 1F1B's memory, W apart, --placement v",      \
             .source = "arXiv 2405.15362", .least_chunks = 2,                  \
             .most_chunks = 2, .placed = true, .placement = MTLM_PLACEMENT_V,  \
             .windows = third_of_memory, .order = &mtlm_priority_by_depth,     \
             .followed = true)                                                 \
    SCHEDULE("dualpipe-v", "pairs of F and B, W apart, --placement v",         \
             .source = "github.com/deepseek-ai/DualPipe", .least_chunks = 2,   \
             .most_chunks = 2, .placed = true, .placement = MTLM_PLACEMENT_V,  \
             .windows = pipeline_of_memory, .order = &mtlm_priority_by_depth,  \
             .followed = true)                                                 \
    SCHEDULE("auto",                                                           \
             "virtual stages, placement, and windows or an order by "          \
             "evaluation",                                                     \
             .sizing = MTLM_SIZING_SEARCH, .memory_of = "1f1b",                \
             .least_chunks = 1, .windows = by_options,                         \
             .order = &mtlm_priority_by_depth)

/* String constants: "window|gpipe|..." and "; window: ...; gpipe: ...". */
#define MTLM_SCHEDULE_CHOICE(name, help, ...) "|" name
#define MTLM_SCHEDULE_CHOICES                                                  \
    (&("" MTLM_SCHEDULE_LIST(MTLM_SCHEDULE_CHOICE))[1])
#define MTLM_SCHEDULE_LINE(name, help, ...) "; " name ": " help
#define MTLM_SCHEDULE_HELP MTLM_SCHEDULE_LIST(MTLM_SCHEDULE_LINE)

#endif /* MTLM_GRAPH_SCHEDULE_LIST_H */
