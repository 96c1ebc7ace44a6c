/* Finds the cores that this process may use, with hwloc and the quota of its
 * control group. */

#include "config.h"

#include <hwloc.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/base/control_group.h"
#include "runtime/base/least.h"
#include "runtime/base/memory.h"
#include "runtime/machine/cpu.h"

/* Returns the cores that set touches; two hardware threads of a core count
 * once. */
static int count_cores(hwloc_topology_t topology, hwloc_const_bitmap_t set)
{
    const int n = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
    int cores = 0;

    for (int i = 0; i < n; i++)
        cores += hwloc_bitmap_intersects(
            hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, i)->cpuset, set);
    /* Some virtual machines show processing units only. */
    return n > 0 ? cores : hwloc_bitmap_weight(set);
}

/* Returns the FNV-1a hash of text. */
static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(0xcbf29ce484222325);

    for (; *text; text++)
        value = (value ^ (unsigned char) *text) * UINT64_C(0x100000001b3);
    return value;
}

int mtlm_cpu_quota(const char *text)
{
    int64_t quota, period;

    if (sscanf(text, "%" SCNd64 " %" SCNd64, &quota, &period) != 2 || quota <= 0
        || period <= 0 || quota / period > 1 << 20)
        return 0;
    return (int) ((quota + period - 1) / period);
}

enum { LINE = 64 };

/* Reads the first line of a file of the directory; "" if there is none. */
static void read_line(const char *dir, const char *name, char line[LINE])
{
    char *path = mtlm_sprintf("%s/%s", dir, name);
    FILE *file = fopen(path, "re");

    free(path);
    if (!file || !fgets(line, LINE, file))
        line[0] = '\0';
    if (file)
        fclose(file);
}

/* Returns the cores of a quota as of mtlm_cpu_quota(); LLONG_MAX: no limit. */
static long long quota_allows(const char *text)
{
    const int cores = mtlm_cpu_quota(text);

    return cores ? cores : LLONG_MAX;
}

/* Returns the cores that a control group allows; LLONG_MAX: no limit. */
static long long group_2_allows(const char *dir)
{
    char line[LINE];

    read_line(dir, "cpu.max", line);
    return quota_allows(line);
}

/* As group_2_allows().  Version 1 has a file for each of the numbers; a quota
 * of -1 is none. */
static long long group_1_allows(const char *dir)
{
    char quota[LINE], period[LINE], both[2 * LINE];

    read_line(dir, "cpu.cfs_quota_us", quota);
    read_line(dir, "cpu.cfs_period_us", period);
    snprintf(both, sizeof(both), "%s %s", quota, period);
    return quota_allows(both);
}

int mtlm_cpu_groups_quota(const char *root)
{
    const long long cores =
        mtlm_least(mtlm_control_group_least(root, "cpu", group_1_allows),
                   mtlm_control_group_least(root, "", group_2_allows));

    return cores == LLONG_MAX ? 0 : (int) cores;
}

static void measure_cores(struct mtlm_cpu *cpu, hwloc_topology_t topology,
                          hwloc_bitmap_t set)
{
    hwloc_const_bitmap_t all = hwloc_topology_get_topology_cpuset(topology);
    const int quota = mtlm_cpu_groups_quota("");
    char *mask;

    if (hwloc_get_cpubind(topology, set, HWLOC_CPUBIND_PROCESS) < 0)
        hwloc_bitmap_copy(set, all);
    hwloc_bitmap_and(set, set, all);
    if (hwloc_bitmap_iszero(set))
        hwloc_bitmap_copy(set, all);
    cpu->machine_cores = count_cores(topology, all);
    cpu->allowed_cores = count_cores(topology, set);
    if (quota && quota < cpu->machine_cores)
        cpu->machine_cores = quota;
    if (cpu->allowed_cores > cpu->machine_cores)
        cpu->allowed_cores = cpu->machine_cores;
    if (hwloc_bitmap_asprintf(&mask, set) >= 0) {
        cpu->mask_hash = hash(mask);
        free(mask);
    }
}

int mtlm_cpu_detect(struct mtlm_cpu *cpu, struct mtlm_error *err)
{
    hwloc_topology_t topology;
    hwloc_bitmap_t set;

    *cpu = (struct mtlm_cpu){1, 1, 0};
    if (hwloc_topology_init(&topology) < 0)
        return mtlm_error_set(err, MTLM_EXIT_PEER, "hwloc does not start");
    if (hwloc_topology_load(topology) < 0) {
        hwloc_topology_destroy(topology);
        return mtlm_error_set(err, MTLM_EXIT_PEER,
                              "hwloc cannot read this machine's topology");
    }
    set = hwloc_bitmap_alloc();
    if (set)
        measure_cores(cpu, topology, set);
    hwloc_bitmap_free(set);
    hwloc_topology_destroy(topology);
    return 0;
}

int mtlm_cpu_processors(bool cores)
{
    hwloc_topology_t topology;
    int n = 0;

    if (hwloc_topology_init(&topology) < 0)
        return 1;
    if (hwloc_topology_load(topology) == 0)
        n = cores ? count_cores(topology,
                                hwloc_topology_get_topology_cpuset(topology))
                  : hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_PU);
    hwloc_topology_destroy(topology);
    return n > 0 ? n : 1;
}

int mtlm_cpu_share(const struct mtlm_cpu *cpu, int ranks_sharing, int rank)
{
    const int share = cpu->allowed_cores / ranks_sharing
                      + (rank < cpu->allowed_cores % ranks_sharing);

    return share > 0 ? share : 1;
}

const char *mtlm_cpu_hint(const struct mtlm_cpu *cpu, int used_cores,
                          char *text, size_t bytes)
{
    if (cpu->allowed_cores == cpu->machine_cores
        || used_cores >= cpu->machine_cores)
        return NULL;
    snprintf(text, bytes,
             "the job is bound to %d of this machine's %d cores; mpirun "
             "--bind-to none lets it use all of them",
             used_cores, cpu->machine_cores);
    return text;
}
