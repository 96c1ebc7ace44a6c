/* Paths in the user's cache directory. */

#include "config.h"

#include <stdlib.h>

#include "runtime/base/memory.h"
#include "runtime/file/cache_path.h"

char *mtlm_cache_path(const char *name)
{
    const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

    if (cache && *cache)
        return mtlm_sprintf("%s/mtlm-dag/%s", cache, name);
    return home && *home ? mtlm_sprintf("%s/.cache/mtlm-dag/%s", home, name)
                         : NULL;
}
