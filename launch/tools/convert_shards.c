/* The files that share the tensors of an export. */

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "launch/tools/convert_shards.h"
#include "runtime/base/memory.h"

int mtlm_shards_take(struct mtlm_shards *shards, int64_t bytes)
{
    const bool full = shards->most && shards->bytes > 0
                      && shards->bytes + bytes > shards->most;

    if (shards->n == 0 || full) {
        shards->n++;
        shards->bytes = 0;
    }
    shards->bytes += bytes;
    shards->total += bytes;
    return shards->n - 1;
}

char *mtlm_shards_name(const struct mtlm_shards *shards, int i)
{
    return shards->n > 1 ? mtlm_sprintf("model-%05d-of-%05d.safetensors", i + 1,
                                        shards->n)
                         : mtlm_strdup("model.safetensors");
}

json_t *mtlm_shards_index(const struct mtlm_shards *shards, json_t *map)
{
    return json_pack("{s:{s:I},s:o}", "metadata", "total_size",
                     (json_int_t) shards->total, "weight_map", map);
}

int64_t mtlm_shards_parse(const char *text)
{
    static const struct {
        const char *name;
        int64_t bytes;
    } units[] = {{"", 1}, {"KB", 1000}, {"MB", 1000000}, {"GB", 1000000000}};
    char *end;
    long long n;

    errno = 0;
    n = strtoll(text, &end, 10);
    for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
        if (errno == 0 && end != text && n > 0
            && strcmp(end, units[i].name) == 0
            && n <= INT64_MAX / units[i].bytes)
            return n * units[i].bytes;
    return 0;
}
