#ifndef MTLM_TESTS_MEMORY_FILE_H
#define MTLM_TESTS_MEMORY_FILE_H

#include <stddef.h>

/* In place of runtime/file/mapped_file.c, fopen(), access() and stat(): files
 * that are only in memory, each open one a block of its own and of exactly its
 * size, so that a read behind its end shows.  What is no file is a directory.
 */
enum { MEMORY_FILES = 4 };

/* The i-th file: all whose names end so are it.  Both texts are borrowed. */
void memory_file_put(int i, const char *end, const void *data, size_t bytes);
void memory_file_forget(void);

#endif /* MTLM_TESTS_MEMORY_FILE_H */
