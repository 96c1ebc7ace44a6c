/* Limits of the control groups around this process, in a root of our own. */

#include "config.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/base/memory.h"
#include "runtime/file/disk.h"
#include "runtime/machine/cpu.h"

static char root[] = "/tmp/test_control_group.XXXXXX";

/* Writes a file of the root, and makes the directories on its path. */
static void write_text(const char *name, const char *text)
{
    char *path = mtlm_sprintf("%s/%s", root, name);
    char *slash = strrchr(path, '/');
    FILE *file;

    *slash = '\0';
    assert_true(mtlm_disk_make_path(path) >= 0);
    *slash = '/';
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    assert_int_equal(fclose(file), 0);
    free(path);
}

static void test_nothing_known_is_no_limit(void **state)
{
    (void) state;
    assert_int_equal(mtlm_cpu_groups_quota("/nowhere"), 0);
    assert_true(mtlm_memory_groups_allow("/nowhere") == LLONG_MAX);
}

/* systemd-run --scope -p CPUQuota=200%, say. */
static void test_the_least_quota_of_all_groups_counts(void **state)
{
    (void) state;
    write_text("proc/self/cgroup", "1:name=systemd:/other\n0::/outer/inner\n");
    write_text("sys/fs/cgroup/other/cpu.max", "100000 100000\n");
    write_text("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 0);
    write_text("sys/fs/cgroup/outer/cpu.max", "300000 100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 3);
    write_text("sys/fs/cgroup/outer/inner/cpu.max", "200000 100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 2);
    /* What a container sees: its own group is the root. */
    write_text("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 1);
}

/* docker run --cpus 3.5, say.  Both versions may be mounted. */
static void test_version_1_limits_cores(void **state)
{
    (void) state;
    write_text("proc/self/cgroup",
               "5:cpuset:/wrong\n4:cpu,cpuacct:/job/step\n0::/none\n");
    write_text("sys/fs/cgroup/cpu.max", "max 100000\n");
    write_text("sys/fs/cgroup/cpu/wrong/cpu.cfs_quota_us", "100000\n");
    write_text("sys/fs/cgroup/cpu/wrong/cpu.cfs_period_us", "100000\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
    write_text("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 0);
    write_text("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "350000\n");
    write_text("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 4);
    write_text("sys/fs/cgroup/cpu/job/step/cpu.cfs_quota_us", "100000\n");
    write_text("sys/fs/cgroup/cpu/job/step/cpu.cfs_period_us", "50000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 2);
    write_text("sys/fs/cgroup/cpu.max", "100000 100000\n");
    assert_int_equal(mtlm_cpu_groups_quota(root), 1);
}

static void test_cached_files_are_memory_to_use(void **state)
{
    (void) state;
    write_text("proc/self/cgroup", "0::/outer/inner\n");
    write_text("sys/fs/cgroup/outer/inner/memory.max", "max\n");
    write_text("sys/fs/cgroup/outer/inner/memory.current", "400\n");
    assert_true(mtlm_memory_groups_allow(root) == LLONG_MAX);
    write_text("sys/fs/cgroup/outer/memory.max", "1000\n");
    write_text("sys/fs/cgroup/outer/memory.current", "600\n");
    write_text("sys/fs/cgroup/outer/memory.stat", "anon 5\ninactive_file 50\n");
    assert_int_equal(mtlm_memory_groups_allow(root), 450);
}

/* Version 1 has a hierarchy for each controller. */
static void test_version_1_limits_memory(void **state)
{
    (void) state;
    write_text(
        "proc/self/cgroup",
        "5:cpuset,memory_other:/wrong\n4:cpuset,memory:/job/step\n0::/none\n");
    write_text("sys/fs/cgroup/memory/memory.limit_in_bytes",
               "9223372036854771712\n");
    write_text("sys/fs/cgroup/memory/memory.usage_in_bytes", "900\n");
    write_text("sys/fs/cgroup/memory/memory.stat",
               "total_inactive_file 9000\n");
    assert_true(mtlm_memory_groups_allow(root) == 9223372036854771712LL);
    write_text("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "800\n");
    write_text("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "500\n");
    write_text("sys/fs/cgroup/memory/job/memory.stat",
               "inactive_file 7\ntotal_inactive_file 30\n");
    assert_int_equal(mtlm_memory_groups_allow(root), 330);
    write_text("sys/fs/cgroup/memory/job/step/memory.limit_in_bytes", "400\n");
    write_text("sys/fs/cgroup/memory/job/step/memory.usage_in_bytes", "300\n");
    assert_int_equal(mtlm_memory_groups_allow(root), 100);
}

static int make_root(void **state)
{
    (void) state;
    return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
    char *proc = mtlm_sprintf("%s/proc", root);
    char *sys = mtlm_sprintf("%s/sys", root);
    const pid_t pid = fork();
    int status = -1;

    (void) state;
    if (pid == 0) {
        execlp("rm", "rm", "-rf", "--", proc, sys, (char *) NULL);
        _exit(1);
    }
    waitpid(pid, &status, 0);
    free(proc);
    free(sys);
    return status == 0 ? rmdir(root) : -1;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_known_is_no_limit),
        cmocka_unit_test(test_the_least_quota_of_all_groups_counts),
        cmocka_unit_test(test_version_1_limits_cores),
        cmocka_unit_test(test_cached_files_are_memory_to_use),
        cmocka_unit_test(test_version_1_limits_memory),
    };

    return cmocka_run_group_tests(tests, make_root, remove_root);
}
