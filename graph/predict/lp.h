#ifndef MTLM_GRAPH_LP_H
#define MTLM_GRAPH_LP_H

/* A linear program: maximise column 0 so that each row is at most its limit.
 * No column is negative or above `most`.  GLPK solves the program. */

#include <stdbool.h>

/* Multipliers are whole multiples of 1 / MTLM_LP_SCALE. */
#define MTLM_LP_SCALE 1e12

struct mtlm_lp {
    double most;   /* of every column */
    int n_columns; /* >= 1 */
    int n_rows, n_entries;
    /* Row i has the entries begin[i] .. begin[i + 1] - 1. */
    int *begin;    /* [n_rows + 1] */
    double *limit; /* [n_rows] */
    int *column;   /* [n_entries] no column twice in a row */
    double *value; /* [n_entries] */
    int row_space, entry_space;
};

/* Whether this build has GLPK. */
bool mtlm_lp_available(void);

/* Returns a program of column 0 alone, without rows.  The caller frees the
 * program with mtlm_lp_free(). */
struct mtlm_lp mtlm_lp_create(double most);

/* Frees what the program holds. */
void mtlm_lp_free(struct mtlm_lp *lp);

/* Adds so many columns.  Returns the first one. */
int mtlm_lp_columns(struct mtlm_lp *lp, int n);

/* Adds a row without entries. */
void mtlm_lp_row(struct mtlm_lp *lp, double limit);

/* Adds the value to a column of the latest row. */
void mtlm_lp_entry(struct mtlm_lp *lp, int column, double value);

/* Solves the program: sets multiplier[n_rows], none negative.  Returns false if
 * GLPK finds no optimum. */
bool mtlm_lp_solve(const struct mtlm_lp *lp, double *multiplier);

/* Returns an upper bound of column 0.  Any multipliers that are not negative
 * give one: the sum of rows and of limits of columns, weak duality. */
double mtlm_lp_bound(const struct mtlm_lp *lp, const double *multiplier);

#endif /* MTLM_GRAPH_LP_H */
