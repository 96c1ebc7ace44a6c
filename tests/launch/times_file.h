#ifndef MTLM_TESTS_TIMES_FILE_H
#define MTLM_TESTS_TIMES_FILE_H

/* A file of times, for tests of --stage-times. */

/* Stage 2 has 0.8 of the others' speed. */
#define TIMES_SLOW                                                                   \
    "[stage 0-1]\nforward_ms = 1000\nbackward_ms = 1200\nweight_ms = 900\n"    \
    "[stage 2]\nforward_ms = 1250\nbackward_ms = 1500\nweight_ms = 1125\n"     \
    "[stage 3]\nforward_ms = 1000\nbackward_ms = 1200\nweight_ms = 900\n"

/* The name of the file. */
extern char times_file[];

/* Writes the file. */
void times_file_write(const char *text);

/* Make and remove the file, beside parse_setup() and parse_teardown(). */
int times_file_setup(void **state);
int times_file_teardown(void **state);

#endif /* MTLM_TESTS_TIMES_FILE_H */
