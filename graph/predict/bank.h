#ifndef MTLM_GRAPH_BANK_H
#define MTLM_GRAPH_BANK_H

#include <stdbool.h>

/* The memory of a rank whose virtual stages share it: who may take from it so
 * that every microbatch that has begun can come to its end (Dijkstra's banker's
 * algorithm; leaving room for the oldest one only can deadlock).  For
 * evaluation: programs have windows instead, which cannot deadlock. */
struct mtlm_bank {
    double used, peak;
    double *need, *held; /* [microbatches] still to be taken, and taken */
    int microbatches;
    int oldest, newest; /* not at its end; begun */
};

/* Each microbatch will take `each` in all.  Freed by mtlm_bank_destroy(). */
void mtlm_bank_create(struct mtlm_bank *bank, int microbatches, double each);
void mtlm_bank_destroy(struct mtlm_bank *bank);

void mtlm_bank_take(struct mtlm_bank *bank, int microbatch, double memory);
void mtlm_bank_give(struct mtlm_bank *bank, int microbatch, double memory);

/* Whether, with `most` in all, a microbatch may take that much: what is free
 * then lets all that have begun end one after the other, oldest first. */
bool mtlm_bank_admits(const struct mtlm_bank *bank, int microbatch,
                      double memory, double most);

#endif /* MTLM_GRAPH_BANK_H */
