/* File systems that are no disk of this machine, by their type. */

#include "config.h"

#include <errno.h>
#include <stddef.h>
#include <sys/vfs.h>

#include "runtime/file/file_system.h"

/* Types as in statfs(2), and for file systems outside of Linux as their own
 * sources have them. */
static const struct {
    uint32_t type;
    struct mtlm_file_system system;
} known[] = {
    {0x00006969, {MTLM_FILE_SYSTEM_NETWORK, "NFS"}},
    {0x0000517b, {MTLM_FILE_SYSTEM_NETWORK, "SMB"}},
    {0xff534d42, {MTLM_FILE_SYSTEM_NETWORK, "SMB"}},
    {0xfe534d42, {MTLM_FILE_SYSTEM_NETWORK, "SMB"}},
    {0x01021997, {MTLM_FILE_SYSTEM_NETWORK, "9p"}},
    {0x00c36400, {MTLM_FILE_SYSTEM_NETWORK, "Ceph"}},
    {0x0bd00bd0, {MTLM_FILE_SYSTEM_NETWORK, "Lustre"}},
    {0x47504653, {MTLM_FILE_SYSTEM_NETWORK, "GPFS"}},
    {0x19830326, {MTLM_FILE_SYSTEM_NETWORK, "BeeGFS"}},
    {0x20030528, {MTLM_FILE_SYSTEM_NETWORK, "OrangeFS"}},
    {0xaad7aaea, {MTLM_FILE_SYSTEM_NETWORK, "PanFS"}},
    {0x5346414f, {MTLM_FILE_SYSTEM_NETWORK, "AFS"}},
    {0x6b414653, {MTLM_FILE_SYSTEM_NETWORK, "AFS"}},
    {0x73757245, {MTLM_FILE_SYSTEM_NETWORK, "Coda"}},
    {0x7461636f, {MTLM_FILE_SYSTEM_NETWORK, "OCFS2"}},
    {0x01161970, {MTLM_FILE_SYSTEM_NETWORK, "GFS2"}},
    {0x65735546, {MTLM_FILE_SYSTEM_PROGRAM, "FUSE"}},
    {0x01021994, {MTLM_FILE_SYSTEM_MEMORY, "tmpfs"}},
    {0x858458f6, {MTLM_FILE_SYSTEM_MEMORY, "ramfs"}},
    {0x958458f6, {MTLM_FILE_SYSTEM_MEMORY, "hugetlbfs"}},
};

struct mtlm_file_system mtlm_file_system_of_type(uint32_t type)
{
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
        if (known[i].type == type)
            return known[i].system;
    return (struct mtlm_file_system){MTLM_FILE_SYSTEM_DISK, NULL};
}

struct mtlm_file_system mtlm_file_system_of(const char *path)
{
    struct statfs at;
    int rc;

    do
        rc = statfs(path, &at);
    while (rc < 0 && errno == EINTR);
    return mtlm_file_system_of_type(rc < 0 ? 0 : (uint32_t) at.f_type);
}
