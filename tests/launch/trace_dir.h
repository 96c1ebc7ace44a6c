#ifndef MTLM_TESTS_TRACE_DIR_H
#define MTLM_TESTS_TRACE_DIR_H

#include "launch/trace/trace.h"
#include "runtime/base/error.h"

/* What tests of trace files share: an empty directory for each test, where a
 * trace goes to the folder trace_dir. */
extern char trace_dir_parent[64], trace_dir[80];

#define DIR_TEST(f)                                                            \
    cmocka_unit_test_setup_teardown(f, trace_dir_make, trace_dir_remove)

int trace_dir_make(void **state);
int trace_dir_remove(void **state);

/* Path and content of a file of the trace; the caller frees them. */
char *trace_dir_path(const char *name);
char *trace_dir_read(const char *name);

/* How often word stands in text. */
int count_words(const char *text, const char *word);

/* Summarizes the records and writes them to dir, as the program does. */
int trace_dir_export(const char *dir, const struct mtlm_record *record,
                     size_t n, const struct mtlm_trace_info *info,
                     struct mtlm_error *err);

/* Writes the trace of a pipeline of p stages and m microbatches; of records. */
void trace_dir_write_pipeline(int p, int m, int iterations, bool fused);
void trace_dir_write(const struct mtlm_record *record, size_t n,
                     const struct mtlm_trace_info *info);

/* A node of rank 0 between two times. */
struct mtlm_record trace_node(int op, int start, int end);

/* A run of one rank, stage and microbatch. */
extern const struct mtlm_trace_info trace_one_rank;

#endif /* MTLM_TESTS_TRACE_DIR_H */
