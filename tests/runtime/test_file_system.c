/* File systems that are no disk of this machine are known by their type. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/vfs.h>

#include <cmocka.h>
#include <linux/magic.h>

#include "runtime/file/offload_dir.h"

static void assert_type(uint32_t type, enum mtlm_file_system_kind kind,
                        const char *name)
{
    const struct mtlm_file_system found = mtlm_file_system_of_type(type);

    assert_int_equal(found.kind, kind);
    assert_string_equal(found.name, name);
}

/* The types as the system's header has them. */
static void test_types_are_those_of_linux(void **state)
{
    (void) state;
    assert_type(NFS_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "NFS");
    assert_type(SMB_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "SMB");
    assert_type(CIFS_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "SMB");
    assert_type(SMB2_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "SMB");
    assert_type(V9FS_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "9p");
    assert_type(CEPH_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "Ceph");
    assert_type(AFS_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "AFS");
    assert_type(AFS_FS_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "AFS");
    assert_type(CODA_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "Coda");
    assert_type(OCFS2_SUPER_MAGIC, MTLM_FILE_SYSTEM_NETWORK, "OCFS2");
    assert_type(FUSE_SUPER_MAGIC, MTLM_FILE_SYSTEM_PROGRAM, "FUSE");
    assert_type(TMPFS_MAGIC, MTLM_FILE_SYSTEM_MEMORY, "tmpfs");
    assert_type(RAMFS_MAGIC, MTLM_FILE_SYSTEM_MEMORY, "ramfs");
    assert_type(HUGETLBFS_MAGIC, MTLM_FILE_SYSTEM_MEMORY, "hugetlbfs");
}

static void test_all_else_is_a_disk(void **state)
{
    const uint32_t disks[] = {EXT4_SUPER_MAGIC, XFS_SUPER_MAGIC,
                              BTRFS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, 0};

    (void) state;
    for (size_t i = 0; i < sizeof(disks) / sizeof(disks[0]); i++) {
        const struct mtlm_file_system found =
            mtlm_file_system_of_type(disks[i]);

        assert_int_equal(found.kind, MTLM_FILE_SYSTEM_DISK);
        assert_null(found.name);
    }
    assert_null(mtlm_file_system_of("/no/such/directory").name);
}

/* A directory that is missing lies where it will be made. */
static void test_the_nearest_directory_tells(void **state)
{
    struct statfs at;

    (void) state;
    if (statfs("/dev/shm", &at) < 0 || at.f_type != TMPFS_MAGIC)
        skip();
    assert_string_equal(mtlm_file_system_of("/dev/shm").name, "tmpfs");
    assert_string_equal(
        mtlm_offload_dir_file_system("/dev/shm/no/such/directory").name,
        "tmpfs");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_types_are_those_of_linux),
        cmocka_unit_test(test_all_else_is_a_disk),
        cmocka_unit_test(test_the_nearest_directory_tells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
