#ifndef MTLM_TESTS_MODELS_FILES_H
#define MTLM_TESTS_MODELS_FILES_H

#include <stddef.h>
#include <stdint.h>

/* Files in a directory that lasts as long as the test program: fixtures for
 * cmocka_run_group_tests(). */
int files_setup(void **state);
int files_teardown(void **state);

/* "DIRECTORY/name", valid until the fourth call from now. */
const char *files_path(const char *name);

void files_write(const char *name, const void *data, size_t bytes);

/* The content, which the caller frees; NULL: there is no such file. */
unsigned char *files_read(const char *name, size_t *bytes);

/* How many files the directory holds. */
int files_count(void);

/* Writes documents of these lengths as "name.bin" and "name.idx": the tokens
 * are 0, 1, 2, ... through all of them. */
void files_write_numbered(const char *name, const int64_t length[],
                          int64_t documents, int64_t vocab_size);

/* The same with sequences inside the documents, whose lengths end with -1 for
 * each document. */
void files_write_sentences(const char *name, const int64_t length[],
                           int64_t documents, int64_t vocab_size);

/* Documents of text by bytes, each with an end of document if eod. */
void files_write_text(const char *name, const char *const text[],
                      int64_t documents, int eod);

#endif /* MTLM_TESTS_MODELS_FILES_H */
