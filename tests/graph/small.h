#ifndef MTLM_TESTS_SMALL_H
#define MTLM_TESTS_SMALL_H

#include "graph/build/program.h"
#include "graph/predict/plan.h"

/* gpt-tiny's structure - 4 layers, 4 heads, hidden dropout and attention
 * dropout - small enough that its programs run in milliseconds.  The
 * vocabulary is padded, and by different amounts for 1 and 2 tensor-parallel
 * ranks; there are more positions than tokens. */
struct mtlm_program_config small_config(int tp, int pp, int64_t microbatches);

/* The schedule of that name; NULL: the default. */
const struct mtlm_schedule *small_schedule(const char *name);

/* The same samples without padding, however long; all labels count. */
extern struct mtlm_samples small_full_source;

/* Every kind of model: the family, where layernorm stands, the options that
 * change what is computed, and whether samples are cut into parts. */
struct small_model {
    const char *name;
    enum mtlm_family family;
    bool binary_head, post_layernorm, query_key_scaling, exact_gelu;
    int row_parts; /* 0: by shape, which is one part here */
    enum mtlm_positions positions;
    bool embedding_layernorm;
    enum mtlm_head_kind head; /* of a task: three classes or choices */
};

extern const struct small_model small_models[];
extern const int small_n_models;

/* small_config() of that model. */
struct mtlm_program_config small_model_config(const struct small_model *model,
                                              int tp, int pp,
                                              int64_t microbatches);

/* The programs of all ranks of config's layout. */
struct small_ranks {
    int n;
    struct mtlm_program **program;
};

struct small_ranks small_ranks_create(const struct mtlm_program_config *config);
void small_ranks_destroy(struct small_ranks *ranks);

/* Returns the plan of rank 0. */
struct mtlm_plan small_plan(const struct mtlm_program_config *config);

/* Bytes of a slot of everything that the forward pass of rank 0 leaves for the
 * gradients, in a model of so many layers. */
double small_kept_bytes(struct mtlm_program_config config, int64_t num_layers);

/* The layouts and accumulations that the tests go through. */
struct small_case {
    int tp, pp, virtual_stages;
    int64_t microbatches;
    int row_parts; /* 0: one */
    enum mtlm_placement placement;
    const char *schedule;    /* NULL: the default */
    int layers;              /* 0: 4 */
    int64_t stage_layers[8]; /* all 0: as even as can be */
};

extern const struct small_case small_cases[];
extern const int small_n_cases;

/* Whether stages k and k + 1 lie on one rank, where no message passes. */
bool small_neighbours(const struct mtlm_layout *layout, int k);

/* Items of that kind. */
int small_count(const struct mtlm_items *items, enum mtlm_op_kind kind);

/* Parts that a sample is cut into. */
int small_parts(const struct small_case *c);

/* The nodes that add to the gradient of a matrix: of a rank that waits for no
 * other, one for all parts. */
int small_weight_parts(const struct small_case *c);

struct mtlm_program_config small_case_config(const struct small_case *c);

/* Calls body for the programs of every case. */
void small_for_each_case(void (*body)(const struct small_case *,
                                      struct small_ranks *));

#endif /* MTLM_TESTS_SMALL_H */
