/* Sums of two ranks in pieces: each element is the sum of both ranks' values,
 * whatever the number of elements and their type, also of two sums at a time
 * that the ranks test in different orders. */

#include "config.h"

#include <mpi.h>
#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/comm/mpi_turn.h"
#include "runtime/comm/pair_sum.h"
#include "support.h"

/* Of pair_sum.c: a piece has a MiB. */
enum { PIECE = 1 << 18, MANY = 5 * PIECE + 7 };

/* Sums of such numbers are exact. */
static int value(int of, int number, int i)
{
    return (i % 1000 + 1) * (of ? 3 : 1) + number;
}

static float *new_floats(int number, int n)
{
    float *x = mtlm_calloc(n, sizeof(*x));

    for (int i = 0; i < n; i++)
        x[i] = value(rank, number, i);
    return x;
}

static void check_floats(const float *x, int number, int n)
{
    int wrong = 0;

    for (int i = 0; i < n; i++)
        wrong += x[i] != value(0, number, i) + value(1, number, i);
    expect(wrong == 0, "%d of %d floats are wrong", wrong, n);
}

static struct mtlm_pair_sum *start(MPI_Comm comm, int tag, void *x, int n,
                                   MPI_Datatype type)
{
    return mtlm_pair_sum_start(&(struct mtlm_pair_sum_config){.comm = comm,
                                                              .tag = tag,
                                                              .send = x,
                                                              .sum = x,
                                                              .n = n,
                                                              .type = type,
                                                              .op = MPI_SUM});
}

static void wait_for(struct mtlm_pair_sum *sum)
{
    while (mtlm_pair_sum_test(sum) != MTLM_PAIR_SUM_ENDS)
        continue;
}

static void sum_floats(MPI_Comm comm, int n)
{
    float *x = new_floats(0, n);

    wait_for(start(comm, 1, x, n, MPI_FLOAT));
    check_floats(x, 0, n);
    free(x);
}

static void sum_doubles(MPI_Comm comm)
{
    double *x = mtlm_calloc(MANY, sizeof(*x));
    int wrong = 0;

    for (int i = 0; i < MANY; i++)
        x[i] = value(rank, 0, i) / 7.0;
    wait_for(start(comm, 0, x, MANY, MPI_DOUBLE));
    for (int i = 0; i < MANY; i++)
        wrong += x[i] != value(0, 0, i) / 7.0 + value(1, 0, i) / 7.0;
    expect(wrong == 0, "%d doubles are wrong", wrong);
    free(x);
}

/* Rank 0 looks at the first sum first, rank 1 at the second. */
static void sum_two(MPI_Comm comm)
{
    float *x[2] = {new_floats(0, MANY), new_floats(5000, MANY)};
    struct mtlm_pair_sum *sum[2];
    int left = 2;

    for (int k = 0; k < 2; k++)
        sum[k] = start(comm, k, x[k], MANY, MPI_FLOAT);
    for (int i = rank; left > 0; i = 1 - i)
        if (sum[i] && mtlm_pair_sum_test(sum[i]) == MTLM_PAIR_SUM_ENDS) {
            sum[i] = NULL;
            left--;
        }
    check_floats(x[0], 0, MANY);
    check_floats(x[1], 5000, MANY);
    free(x[0]);
    free(x[1]);
}

/* A reduce-scatter: the other rank's block goes, this rank's is added to. */
static void sum_blocks(MPI_Comm comm)
{
    float *x = new_floats(0, 2 * MANY);
    int wrong = 0;

    wait_for(mtlm_pair_sum_start(
        &(struct mtlm_pair_sum_config){.comm = comm,
                                       .send = x + (1 - rank) * MANY,
                                       .sum = x + rank * MANY,
                                       .n = MANY,
                                       .type = MPI_FLOAT,
                                       .op = MPI_SUM}));
    for (int i = 0; i < 2 * MANY; i++)
        wrong += x[i]
                 != value(rank, 0, i)
                        + (i / MANY == rank ? value(1 - rank, 0, i) : 0);
    expect(wrong == 0, "%d values of two blocks are wrong", wrong);
    free(x);
}

int main(int argc, char **argv)
{
    static const int n[] = {1,         2,         PIECE - 1,     PIECE,
                            PIECE + 1, 2 * PIECE, 2 * PIECE + 1, MANY};
    MPI_Comm comm;

    setup(&argc, &argv, 2, 1, 100);
    mtlm_mpi_turn_take();
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
        sum_floats(comm, n[i]);
    sum_doubles(comm);
    sum_two(comm);
    sum_blocks(comm);
    MPI_Comm_free(&comm);
    mtlm_mpi_turn_end();
    return finish();
}
