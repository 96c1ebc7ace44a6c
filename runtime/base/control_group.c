/* The control groups around this process, each a directory of limits. */

#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "runtime/base/control_group.h"

/* Returns the path in a line of /proc/self/cgroup that is the controller's,
 * else NULL.  Lines are "0::/outer/inner" and "4:cpuset,memory:/outer/inner".
 */
static const char *path_in(const char *line, const char *controller)
{
    const char *word = strchr(line, ':'), *path;
    const size_t length = strlen(controller);

    if (!word || !(path = strchr(word + 1, ':')) || path[1] != '/')
        return NULL;
    for (word++; word <= path; word += strcspn(word, ",:") + 1)
        if (strcspn(word, ",:") == length
            && strncmp(word, controller, length) == 0)
            return path + 1;
    return NULL;
}

/* Writes the path of this process's group below the hierarchy of the
 * controller to group [PATH_MAX]: "/outer/inner"; "" if unknown. */
static void find_group(const char *root, const char *controller, char *group)
{
    char path[PATH_MAX], line[PATH_MAX];
    FILE *file;

    *group = '\0';
    snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
    file = fopen(path, "re");
    while (file && !*group && fgets(line, sizeof(line), file)) {
        const char *found = path_in(line, controller);

        if (found)
            strcpy(group, found);
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
