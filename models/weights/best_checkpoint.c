/* Reads and writes best.json, and finds the checkpoint that it names. */

#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models/weights/best_checkpoint.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"
#include "runtime/file/output_file.h"

#define NAME "best.json"

static char *path_in(const char *dir)
{
    return mtlm_sprintf("%s/" NAME, dir);
}

/* ---- to JSON ---- */

/* A name with bytes that JSON cannot hold gets question marks: nobody reads the
 * name back. */
static json_t *name_json(const char *name)
{
    json_t *json = json_string(name);
    char *plain;

    if (json)
        return json;
    plain = mtlm_strdup(name);
    for (char *c = plain; *c; c++)
        if ((unsigned char) *c >= 0x80)
            *c = '?';
    json = json_string(plain);
    free(plain);
    return json;
}

static json_t *best_json(const struct mtlm_best_checkpoint *best,
                         const char *const *name)
{
    json_t *scores = json_array();
    char data[17];

    snprintf(data, sizeof(data), "%016" PRIx64, best->data);
    for (int i = 0; i < best->scores; i++)
        json_array_append_new(scores,
                              json_pack("{s:o,s:f}", "name", name_json(name[i]),
                                        "value", best->score[i]));
    return json_pack("{s:I,s:I,s:o,s:I,s:s}", "iteration",
                     (json_int_t) best->iteration, "epoch",
                     (json_int_t) best->epoch, "scores", scores, "scored",
                     (json_int_t) best->scored, "data", data);
}

int mtlm_best_checkpoint_write(const struct mtlm_best_checkpoint *best,
                               const char *const *name, const char *dir,
                               struct mtlm_error *err)
{
    json_t *json = best_json(best, name);
    char *text = json_dumps(json, JSON_INDENT(1));
    char *lines = mtlm_sprintf("%s\n", text), *path = path_in(dir);
    const int rc = mtlm_output_file_write_text(path, lines, err);

    free(path);
    free(lines);
    free(text);
    json_decref(json);
    return rc;
}

/* ---- from JSON ---- */

/* Returns whether json is as best_json() writes it. */
static bool parse(const json_t *json, struct mtlm_best_checkpoint *best)
{
    json_int_t iteration, epoch, scored;
    const json_t *value;
    json_t *scores, *entry;
    const char *data;
    size_t i;

    if (json_unpack((json_t *) json, "{s:I,s:I,s:o,s:I,s:s!}", "iteration",
                    &iteration, "epoch", &epoch, "scores", &scores, "scored",
                    &scored, "data", &data)
            < 0
        || iteration < 0 || iteration > scored || scored > 1000000000
        || epoch < 0)
        return false;
    *best = (struct mtlm_best_checkpoint){
        .iteration = iteration,
        .epoch = epoch,
        .scored = scored,
        .data = strtoull(data, NULL, 16),
        .score =
            mtlm_calloc(json_array_size(scores) + 1, sizeof(*best->score))};
    json_array_foreach(scores, i, entry)
    {
        value = json_object_get(entry, "value");
        if (!json_is_number(value))
            return false;
        best->score[best->scores++] = json_number_value(value);
    }
    return true;
}

int mtlm_best_checkpoint_read(struct mtlm_best_checkpoint *best,
                              const char *dir, struct mtlm_error *err)
{
    char *path = path_in(dir);
    json_t *json = NULL;
    int rc = 1;

    *best = (struct mtlm_best_checkpoint){0};
    if (access(path, F_OK) < 0 && errno == ENOENT) {
        rc = 0;
    } else if (!(json = mtlm_json_file_read(path, err))) {
        rc = -1;
    } else if (!parse(json, best)) {
        mtlm_best_checkpoint_free(best);
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: expected an iteration with its scores, found "
                            "something else",
                            path);
    }
    json_decref(json);
    free(path);
    return rc;
}

int mtlm_best_checkpoint_find(const char *dir, struct mtlm_checkpoint_id *found,
                              struct mtlm_error *err)
{
    struct mtlm_best_checkpoint best;
    struct mtlm_checkpoint_id after = {0};
    int rc = mtlm_best_checkpoint_read(&best, dir, err);

    if (rc == 0 || (rc > 0 && best.iteration == 0))
        rc = mtlm_error_set(err, MTLM_EXIT_INPUT,
                            "%s: there is no " NAME
                            ", which names the best checkpoint of a "
                            "fine-tuning",
                            dir);
    if (rc < 0)
        return -1;
    after.iteration = best.iteration + 1;
    mtlm_best_checkpoint_free(&best);
    rc = mtlm_checkpoint_dir_newest(dir, &after, found, err);
    if (rc < 0 || (rc > 0 && found->iteration == after.iteration - 1))
        return rc < 0 ? -1 : 0;
    return mtlm_error_set(err, MTLM_EXIT_INPUT,
                          "%s: the best checkpoint, of iteration %" PRId64
                          ", is not there",
                          dir, after.iteration - 1);
}

void mtlm_best_checkpoint_free(struct mtlm_best_checkpoint *best)
{
    free(best->score);
    *best = (struct mtlm_best_checkpoint){0};
}
