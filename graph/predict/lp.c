/* Rows of a linear program, GLPK's multipliers, and what multipliers prove. */

#include "config.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#ifdef HAVE_GLPK
#include <glpk.h>
#endif

#include "graph/predict/lp.h"
#include "runtime/base/memory.h"

struct mtlm_lp mtlm_lp_create(double most)
{
    struct mtlm_lp lp = {.most = most, .n_columns = 1};

    lp.begin = mtlm_calloc(1, sizeof(*lp.begin));
    return lp;
}

void mtlm_lp_free(struct mtlm_lp *lp)
{
    free(lp->begin);
    free(lp->limit);
    free(lp->column);
    free(lp->value);
}

int mtlm_lp_columns(struct mtlm_lp *lp, int n)
{
    const int first = lp->n_columns;

    lp->n_columns += n;
    return first;
}

void mtlm_lp_row(struct mtlm_lp *lp, double limit)
{
    if (lp->n_rows == lp->row_space) {
        lp->row_space = 2 * lp->row_space + 256;
        lp->begin =
            mtlm_realloc(lp->begin, lp->row_space + 1, sizeof(*lp->begin));
        lp->limit = mtlm_realloc(lp->limit, lp->row_space, sizeof(*lp->limit));
    }
    lp->limit[lp->n_rows++] = limit;
    lp->begin[lp->n_rows] = lp->n_entries;
}

void mtlm_lp_entry(struct mtlm_lp *lp, int column, double value)
{
    assert(lp->n_rows > 0 && column < lp->n_columns);
    for (int e = lp->begin[lp->n_rows - 1]; e < lp->n_entries; e++)
        if (lp->column[e] == column) {
            lp->value[e] += value;
            return;
        }
    if (lp->n_entries == lp->entry_space) {
        lp->entry_space = 2 * lp->entry_space + 1024;
        lp->column =
            mtlm_realloc(lp->column, lp->entry_space, sizeof(*lp->column));
        lp->value =
            mtlm_realloc(lp->value, lp->entry_space, sizeof(*lp->value));
    }
    lp->column[lp->n_entries] = column;
    lp->value[lp->n_entries++] = value;
    lp->begin[lp->n_rows] = lp->n_entries;
}

double mtlm_lp_bound(const struct mtlm_lp *lp, const double *multiplier)
{
    double *price = mtlm_calloc(lp->n_columns, sizeof(*price));
    double bound = 0;

    price[0] = 1;
    for (int i = 0; i < lp->n_rows; i++) {
        bound += multiplier[i] * lp->limit[i];
        for (int e = lp->begin[i]; e < lp->begin[i + 1]; e++)
            price[lp->column[e]] -= multiplier[i] * lp->value[e];
    }
    for (int j = 0; j < lp->n_columns; j++)
        bound += lp->most * fmax(0, price[j]);
    free(price);
    return bound;
}

#ifdef HAVE_GLPK

bool mtlm_lp_available(void)
{
    return true;
}

static glp_prob *create_problem(const struct mtlm_lp *lp)
{
    glp_prob *problem = glp_create_prob();
    int *column = mtlm_calloc(lp->n_columns + 1, sizeof(*column));

    glp_set_obj_dir(problem, GLP_MAX);
    glp_add_rows(problem, lp->n_rows);
    glp_add_cols(problem, lp->n_columns);
    glp_set_obj_coef(problem, 1, 1);
    for (int j = 1; j <= lp->n_columns; j++)
        glp_set_col_bnds(problem, j, GLP_LO, 0, 0);
    for (int i = 0; i < lp->n_rows; i++) {
        const int n = lp->begin[i + 1] - lp->begin[i];

        for (int e = 0; e < n; e++)
            column[e + 1] = lp->column[lp->begin[i] + e] + 1;
        glp_set_row_bnds(problem, i + 1, GLP_UP, 0, lp->limit[i]);
        /* GLPK counts from 1. */
        glp_set_mat_row(problem, i + 1, n, column,
                        &lp->value[lp->begin[i]] - 1);
    }
    free(column);
    return problem;
}

bool mtlm_lp_solve(const struct mtlm_lp *lp, double *multiplier)
{
    glp_prob *problem = create_problem(lp);
    glp_smcp how;
    bool solved;

    glp_init_smcp(&how);
    how.msg_lev = GLP_MSG_OFF;
    how.presolve = GLP_ON;
    solved =
        glp_simplex(problem, &how) == 0 && glp_get_status(problem) == GLP_OPT;
    for (int i = 0; i < lp->n_rows; i++)
        multiplier[i] = solved
                            ? fmax(0, round(MTLM_LP_SCALE
                                            * glp_get_row_dual(problem, i + 1)))
                                  / MTLM_LP_SCALE
                            : 0;
    glp_delete_prob(problem);
    glp_free_env();
    return solved;
}

#else

bool mtlm_lp_available(void)
{
    return false;
}

bool mtlm_lp_solve(const struct mtlm_lp *lp, double *multiplier)
{
    (void) lp;
    (void) multiplier;
    return false;
}

#endif
