#ifndef MTLM_TESTS_INTERPRETER_H
#define MTLM_TESTS_INTERPRETER_H

#include "codelets/control_slots.h"
#include "graph/build/program.h"

/* Runs the programs of all ranks of a layout in one process, node after node
 * in program order, without StarPU and MPI: a rank goes on until it must
 * wait for a message.  What this computes is what the graph means. */
struct interpreter;

/* config.layout's coordinates are set for each rank; everything else is
 * shared. */
struct interpreter *interpreter_create(
    const struct mtlm_program_config *config);
void interpreter_destroy(struct interpreter *in);

const struct mtlm_program *interpreter_program(const struct interpreter *in,
                                               int rank);

void interpreter_init(struct interpreter *in);
/* stop_before_step: leaves out Adam, so that gradients can be read. */
void interpreter_iteration(struct interpreter *in, int64_t iteration,
                           bool stop_before_step);
/* A new interpreter after so many iterations from the first weights. */
struct interpreter *interpreter_train(const struct mtlm_program_config *config,
                                      int iterations);
/* The copies of a checkpoint after that iteration. */
void interpreter_save(struct interpreter *in, int64_t iteration);
/* Bytes of a tensor in the rank's file of offloaded state. */
const void *interpreter_on_disk(const struct interpreter *in, int rank,
                                const struct mtlm_tensor *tensor);
/* The forward pass of an iteration alone: returns the sum of its losses. */
double interpreter_loss(struct interpreter *in, int64_t iteration);
/* A validation, piece by piece: the sum of its reports. */
void interpreter_measure(struct interpreter *in,
                         double report[MTLM_STATUS_EXTRA]);
/* The same: returns the sum of its losses. */
double interpreter_validation(struct interpreter *in);

/* Generation: the items of the sequence in that slot; row 0 has that position,
 * and the first rows are in use. */
enum interpreter_decode {
    INTERPRETER_BEGIN,
    INTERPRETER_PROMPT,
    INTERPRETER_PROMPT_END,
    INTERPRETER_STEP
};
void interpreter_decode(struct interpreter *in, enum interpreter_decode part,
                        int slot, int64_t sequence, int64_t position,
                        int64_t rows);

/* That slot of a tensor of rank. */
void *interpreter_data_of(struct interpreter *in, int rank,
                          struct mtlm_tensor *tensor, int64_t slot);

/* Slot 0 of a tensor of rank, or the version of the iteration that ran last. */
void *interpreter_data(struct interpreter *in, int rank,
                       struct mtlm_tensor *tensor);

#endif /* MTLM_TESTS_INTERPRETER_H */
