#ifndef TESTS_STORED_H
#define TESTS_STORED_H

/* A directory of --load with one checkpoint, of which the options matter. */

/* The directory, and its checkpoint of iteration 7. */
extern char stored_dir[], stored_checkpoint[64];

/* Writes the manifest with these objects of JSON; others: NULL: as an old
 * program. */
void stored_write(const char *settings, const char *others);

/* accepts() "--load DIR" and the rest of the line. */
void accepts_load(const char *rest);

/* refuses() "--load DIR" and the rest with "CHECKPOINT sentence". */
void refuses_load(const char *rest, const char *sentence);

/* Group fixtures; these call those of parse.h. */
int stored_setup(void **state);
int stored_teardown(void **state);

#endif /* TESTS_STORED_H */
