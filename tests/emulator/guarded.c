#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "runtime/base/round_up.h"
#include "tests/emulator/guarded.h"

#if __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void) (p), (void) (n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void) (p), (void) (n))
#endif

struct guarded guarded_new(size_t bytes, size_t element_bytes, bool aligned)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    const size_t room = mtlm_round_up(bytes, aligned ? 16 : element_bytes);
    const size_t used = mtlm_round_up(room, page);
    char *map = mmap(NULL, used + page, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct guarded memory = {.map = map, .map_bytes = used + page};

    if (map == MAP_FAILED || mprotect(map + used, page, PROT_NONE))
        abort();
    memset(map, 0xff, used);
    memory.data = map + used - room;
    memory.bytes = bytes;
    ASAN_POISON_MEMORY_REGION(map, used - room);
    ASAN_POISON_MEMORY_REGION((char *) memory.data + bytes, room - bytes);
    return memory;
}

bool guarded_free(struct guarded *memory)
{
    const size_t page = sysconf(_SC_PAGESIZE);
    const char *end = (char *) memory->data + memory->bytes;
    bool whole = true;

    ASAN_UNPOISON_MEMORY_REGION(memory->map, memory->map_bytes - page);
    for (; end < memory->map + memory->map_bytes - page; end++)
        whole &= *end == (char) 0xff;
    for (end = memory->map; end < (char *) memory->data; end++)
        whole &= *end == (char) 0xff;
    munmap(memory->map, memory->map_bytes);
    return whole;
}
