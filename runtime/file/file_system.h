#ifndef MTLM_FILE_SYSTEM_H
#define MTLM_FILE_SYSTEM_H

#include <stdint.h>

/* What a directory lies on. */

enum mtlm_file_system_kind {
    MTLM_FILE_SYSTEM_DISK, /* a disk of this machine, as far as is known */
    MTLM_FILE_SYSTEM_NETWORK,
    MTLM_FILE_SYSTEM_PROGRAM, /* a program serves each request */
    MTLM_FILE_SYSTEM_MEMORY,
};

struct mtlm_file_system {
    enum mtlm_file_system_kind kind;
    const char *name; /* static; NULL: a disk */
};

/* Returns the file system that a type of statfs() means. */
struct mtlm_file_system mtlm_file_system_of_type(uint32_t type);

/* Returns the file system of an existing path; unknown: a disk. */
struct mtlm_file_system mtlm_file_system_of(const char *path);

#endif /* MTLM_FILE_SYSTEM_H */
