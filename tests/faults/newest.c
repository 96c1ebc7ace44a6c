/* For each line of its input, a directory: the iteration of the newest
 * checkpoint there that is whole, 0 if there is none.  What mtlm-dag --load
 * does, without the training. */

#include "config.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/weights/checkpoint_dir.h"
#include "models/weights/manifest.h"

static bool is_whole(const char *dir, const struct mtlm_checkpoint_id *id)
{
    char *path = mtlm_checkpoint_dir_path(dir, id);
    struct mtlm_manifest manifest;
    int rc = mtlm_manifest_read(&manifest, path, NULL);

    for (int64_t i = 0; i < manifest.files && rc == 0; i++)
        rc = mtlm_manifest_verify(&manifest.file[i], path, NULL);
    mtlm_manifest_free(&manifest);
    free(path);
    return rc == 0;
}

static int64_t newest(const char *dir)
{
    struct mtlm_checkpoint_id id, older;
    int found = mtlm_checkpoint_dir_newest(dir, NULL, &id, NULL);

    while (found > 0 && !is_whole(dir, &id)) {
        found = mtlm_checkpoint_dir_newest(dir, &id, &older, NULL);
        id = older;
    }
    return found > 0 ? id.iteration : 0;
}

int main(void)
{
    char dir[4096];

    while (fgets(dir, sizeof(dir), stdin)) {
        dir[strcspn(dir, "\n")] = '\0';
        printf("%" PRId64 "\n", newest(dir));
        fflush(stdout);
    }
    return 0;
}
