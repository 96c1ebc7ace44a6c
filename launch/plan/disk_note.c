/* Says what an --offload-dir lies on. */

#include "config.h"

#include <stddef.h>

#include "launch/plan/disk_note.h"
#include "runtime/base/memory.h"
#include "runtime/file/offload_dir.h"

char *mtlm_disk_note(const char *dir)
{
    static const char *const note[] = {
        [MTLM_FILE_SYSTEM_NETWORK] =
            "a file system of the network: a disk of this machine may be "
            "faster",
        [MTLM_FILE_SYSTEM_PROGRAM] =
            "where a program serves each request: a disk of this machine may "
            "be faster",
        [MTLM_FILE_SYSTEM_MEMORY] =
            "which is memory: the file takes it beside all that the plan "
            "counts",
    };
    const struct mtlm_file_system on = mtlm_offload_dir_file_system(dir);

    return on.name
               ? mtlm_sprintf("%s is on %s, %s", dir, on.name, note[on.kind])
               : NULL;
}
