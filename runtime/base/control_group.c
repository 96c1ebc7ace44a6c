/* The control groups around this process, each a directory of limits. */

#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/control_group.h"

/* Writes the path of this process's group below the hierarchy of the
 * controller to group [PATH_MAX]: "/outer/inner"; "" if unknown. */
static void find_group(const char *root, const char *controller, char *group)
{
    char path[PATH_MAX], key[64], line[PATH_MAX];
    FILE *file;

    *group = '\0';
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    snprintf(key, sizeof(key), ":%s:/", controller);
    file = fopen(path, "re");
    /* Lines are "0::/outer/inner" and "4:memory:/outer/inner". */
    while (file && !*group && fgets(line, sizeof(line), file)) {
        const char *colon = strchr(line, ':');

        if (colon && strncmp(colon, key, strlen(key)) == 0)
            strcpy(group, colon + strlen(key) - 1);
    }
    if (file)
        fclose(file);
    group[strcspn(group, "\n")] = '\0';
}

long long mtlm_control_group_least(const char *root, const char *controller,
                                   long long (*allows)(const char *dir))
{
    char group[PATH_MAX], dir[2 * PATH_MAX];
    long long least = LLONG_MAX;
    size_t top;

    find_group(root, controller, group);
    top = (size_t) snprintf(dir, PATH_MAX, "%s/sys/fs/cgroup%s%s", root,
                            *controller ? "/" : "", controller);
    if (top >= PATH_MAX)
        return LLONG_MAX;
    strcpy(dir + top, group);
    for (;;) {
        const long long here = allows(dir);

        least = here < least ? here : least;
        if (strlen(dir) <= top)
            return least;
        *strrchr(dir, '/') = '\0';
    }
}
