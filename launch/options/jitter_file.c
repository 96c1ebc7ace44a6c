/* The file of --jitter-file: factors of passes. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "launch/options/jitter_file.h"
#include "launch/trace/read/csv.h"
#include "runtime/base/memory.h"

enum { ITERATION, REPLICA, STAGE, MICROBATCH, PASS, FACTOR, COLUMNS };

static const char *const column_name[COLUMNS] = {
    "iteration", "replica", "stage", "microbatch", "pass", "factor"};

/* By phase. */
static const char pass_name[] = "FBW";

/* Largest number of a column, and most passes of a file. */
enum { MOST = 1 << 20, MOST_PASSES = 1 << 26 };

struct row {
    struct mtlm_noise_pass pass;
    double factor;
};

struct jitter_rows {
    struct mtlm_csv csv;
    int column[COLUMNS], columns;
    struct row *row;
    int n;
    size_t capacity;
};

static int read_number(const struct jitter_rows *f, int column, int64_t *value,
                       struct mtlm_error *err)
{
    return mtlm_csv_integer(&f->csv, f->csv.field[f->column[column]], 0, MOST,
                            value, err);
}

static int refuse_field(const struct jitter_rows *f, int column,
                        const char *what, struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s, line %" PRId64 ": %s is '%.40s', it must be %s",
                          f->csv.path, f->csv.number, column_name[column],
                          f->csv.field[f->column[column]], what);
}

/* Appends the line that was read last. */
static int add_row(struct jitter_rows *f, struct mtlm_error *err)
{
    const char *pass = f->csv.field[f->column[PASS]];
    int64_t number[PASS];
    double factor;

    for (int i = 0; i < PASS; i++)
        if (read_number(f, i, &number[i], err) < 0)
            return -1;
    if (strlen(pass) != 1 || !strchr(pass_name, *pass))
        return refuse_field(f, PASS, "F, B or W", err);
    if (mtlm_csv_real(&f->csv, f->csv.field[f->column[FACTOR]], &factor, err)
        < 0)
        return -1;
    if (!(factor >= 1e-6 && factor <= 1e6))
        return refuse_field(f, FACTOR, "from 1e-6 to 1e6", err);
    f->row = mtlm_make_room(f->row, &f->capacity, f->n + 1, sizeof(*f->row));
    f->row[f->n++] =
        (struct row){{.iteration = number[ITERATION],
                      .replica = (int) number[REPLICA],
                      .stage = (int) number[STAGE],
                      .microbatch = (int) number[MICROBATCH],
                      .phase = strchr(pass_name, *pass) - pass_name},
                     factor};
    return 0;
}

static int read_rows(struct jitter_rows *f, struct mtlm_error *err)
{
    int rc;

    f->columns = f->csv.n;
    for (int i = 0; i < COLUMNS; i++) {
        f->column[i] = mtlm_csv_column(&f->csv, column_name[i], err);
        if (f->column[i] < 0)
            return -1;
    }
    while ((rc = mtlm_csv_next(&f->csv, f->columns, err)) > 0)
        if (add_row(f, err) < 0)
            return -1;
    return rc;
}

static void widen(int *n, int64_t number)
{
    *n = number >= *n ? (int) number + 1 : *n;
}

/* Returns the size of the file's table; its factors are NULL. */
static struct mtlm_noise_table size_of(const struct jitter_rows *f)
{
    struct mtlm_noise_table size = {0};

    for (int i = 0; i < f->n; i++) {
        const struct mtlm_noise_pass *pass = &f->row[i].pass;

        widen(&size.iterations, pass->iteration);
        widen(&size.replicas, pass->replica);
        widen(&size.stages, pass->stage);
        widen(&size.microbatches, pass->microbatch);
    }
    return size;
}

static int refuse_pass(const struct jitter_rows *f,
                       const struct mtlm_noise_pass *pass, const char *lines,
                       struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_USAGE,
                          "%s has %s for %c of iteration %" PRId64
                          ", replica %d, stage %d, microbatch %d",
                          f->csv.path, lines, pass_name[pass->phase],
                          pass->iteration, pass->replica, pass->stage,
                          pass->microbatch);
}

/* Refuses a table in which a pass has no factor. */
static int check_all(const struct jitter_rows *f,
                     const struct mtlm_noise_table *t, struct mtlm_error *err)
{
    struct mtlm_noise_pass pass;

    for (pass.iteration = 0; pass.iteration < t->iterations; pass.iteration++)
        for (pass.replica = 0; pass.replica < t->replicas; pass.replica++)
            for (pass.stage = 0; pass.stage < t->stages; pass.stage++)
                for (pass.microbatch = 0; pass.microbatch < t->microbatches;
                     pass.microbatch++)
                    for (int k = 0; pass_name[k]; k++) {
                        pass.phase = k;
                        if (*mtlm_noise_table_at(t, &pass) == 0)
                            return refuse_pass(f, &pass, "no line", err);
                    }
    return 0;
}

/* Sets the factors of the table. */
static int fill(const struct jitter_rows *f, struct mtlm_noise_table *table,
                struct mtlm_error *err)
{
    for (int i = 0; i < f->n; i++) {
        double *factor = mtlm_noise_table_at(table, &f->row[i].pass);

        if (*factor > 0)
            return refuse_pass(f, &f->row[i].pass, "two lines", err);
        *factor = f->row[i].factor;
    }
    return check_all(f, table, err);
}

static struct mtlm_noise_table *table_of(const struct jitter_rows *f,
                                         struct mtlm_error *err)
{
    const struct mtlm_noise_table size = size_of(f);
    struct mtlm_noise_table *table;

    if (f->n == 0 || mtlm_noise_table_passes(&size) > (double) MOST_PASSES) {
        mtlm_error_set(err, MTLM_EXIT_USAGE,
                       "%s has %d lines; its numbers make %.0f passes, and "
                       "there can be 1 to %d",
                       f->csv.path, f->n, mtlm_noise_table_passes(&size),
                       MOST_PASSES);
        return NULL;
    }
    table = mtlm_noise_table_create(&size);
    if (fill(f, table, err) == 0)
        return table;
    mtlm_noise_table_free(table);
    return NULL;
}

struct mtlm_noise_table *mtlm_jitter_file_read(const char *path,
                                               struct mtlm_error *err)
{
    struct jitter_rows f = {0};
    struct mtlm_noise_table *table = NULL;

    if (mtlm_csv_open(&f.csv, path, err) == 0) {
        if (read_rows(&f, err) == 0)
            table = table_of(&f, err);
        mtlm_csv_close(&f.csv);
    }
    free(f.row);
    if (table)
        return table;
    err->code = MTLM_EXIT_USAGE;
    mtlm_error_prefix(err, "--jitter-file");
    return NULL;
}
