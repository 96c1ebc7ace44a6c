#ifndef MTLM_GRAPH_PROGRAM_CHOICE_H
#define MTLM_GRAPH_PROGRAM_CHOICE_H

/* The choice of mtlm_search_program() among candidates: their evaluation, the
 * shortest of each kind so far, and the last comparison of both kinds. */

#include "graph/predict/search_program.h"

/* A program that may be chosen.  found.seconds: INFINITY if it does not fit. */
struct mtlm_program_candidate {
    struct mtlm_found_order found;
    double window, act_mem; /* of windows without an order */
};

/* The shortest of each kind stays: of chains, and of the others.  The first
 * microbatches say less of one kind beside the other. */
enum { MTLM_CHOICE_READY, MTLM_CHOICE_CHAINED, MTLM_CHOICE_KINDS };

struct mtlm_program_choice {
    const struct mtlm_search_program *search; /* borrowed */
    int64_t microbatches;                     /* that are evaluated */
    bool tight;         /* the choice before does not fit into a device */
    double most;        /* seconds of a choice that replaces the one before */
    double most_stages; /* the same, by stages */
    struct mtlm_program_candidate best[MTLM_CHOICE_KINDS]; /* so far */
};

/* Returns a choice without candidates, for programs about as large as those of
 * config. */
struct mtlm_program_choice mtlm_program_choice_create(
    const struct mtlm_search_program *search,
    const struct mtlm_program_config *config);

/* Sets seconds and too_large of a choice that was made by stages.  gradients:
 * windows get the slots of gradients of a search. */
void mtlm_program_choice_evaluate(const struct mtlm_program_choice *s,
                                  const struct mtlm_program_config *config,
                                  bool gradients,
                                  struct mtlm_found_order *choice);

/* Begins with the choice of the search before, *found, which becomes *windows
 * if it has no ranks.  Evaluates both, and takes over *found.  Windows that fit
 * are a candidate. */
void mtlm_program_choice_begin(struct mtlm_program_choice *s,
                               const struct mtlm_program_config *config,
                               struct mtlm_found_order *windows,
                               struct mtlm_found_order *found);

/* Takes over the order, without ranks for windows, if its programs are the
 * shortest of their kind so far; else frees the order.  Returns whether the
 * programs fit. */
bool mtlm_program_choice_note(struct mtlm_program_choice *s,
                              const struct mtlm_program_config *config,
                              struct mtlm_box_order order,
                              enum mtlm_follow follow);

/* Sets the choice in config and *found: the shortest of both kinds, or what the
 * search began with if nothing fits.  windows and found: as
 * mtlm_program_choice_begin() set them.  The caller owns *found; the other
 * candidates are freed. */
void mtlm_program_choice_choose(struct mtlm_program_choice *s,
                                struct mtlm_program_config *config,
                                struct mtlm_found_order *windows,
                                struct mtlm_found_order *found);

#endif /* MTLM_GRAPH_PROGRAM_CHOICE_H */
