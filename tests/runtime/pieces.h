#ifndef MTLM_TESTS_PIECES_H
#define MTLM_TESTS_PIECES_H

/* Pieces of offloaded state for tests of their file.  What fails ends the
 * test. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "runtime/file/offload_file.h"

/* Pieces that are smaller, larger and as large as a block. */
enum { PIECES_N = 5 };
extern const int64_t pieces_sizes[PIECES_N];

/* The directory of the files, from pieces_make_dir() to pieces_remove_dir(): a
 * group's setup and teardown. */
extern char pieces_dir[];
int pieces_make_dir(void **state);
int pieces_remove_dir(void **state);

/* Returns a file of all pieces, which mtlm_offload_file_destroy() frees. */
struct mtlm_offload_file *pieces_create(void);

/* Returns the place of piece i in memory. */
int64_t pieces_place(int i);

/* Returns memory of all pieces, which free() frees. */
char *pieces_memory(void);

/* Returns such memory with the bytes of pieces_byte(). */
char *pieces_filled(int seed);

/* Returns byte i of a piece. */
char pieces_byte(int piece, int64_t i, int seed);

/* Asserts that a piece has the bytes of pieces_byte(). */
void pieces_assert(const char *at, int piece, int seed);

/* Returns the number of names in pieces_dir. */
int pieces_names(void);

/* Opens the only file of this process in pieces_dir by another descriptor. */
int pieces_open_beside(void);

/* Returns whether this build and this system have io_uring. */
bool pieces_has_uring(void);

/* Sets both [2 n + 1] to tests [n] by io_uring, where there is one, and then
 * without. */
void pieces_both_ways(const struct CMUnitTest *tests, size_t n,
                      struct CMUnitTest *both);

#endif /* MTLM_TESTS_PIECES_H */
