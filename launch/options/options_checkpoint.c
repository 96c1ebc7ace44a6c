/* Takes options from the newest checkpoint of --load. */

#include "config.h"

#include <stdio.h>
#include <stdlib.h>

#include "launch/options/option_table.h"
#include "launch/options/options_checkpoint.h"
#include "launch/options/options_finetune.h"
#include "launch/options/options_stored.h"
#include "models/weights/best_checkpoint.h"
#include "models/weights/checkpoint_dir.h"
#include "runtime/base/memory.h"
#include "runtime/file/json_file.h"

/* Finds the best checkpoint; -1: there is none, or its manifest is damaged. */
static int find_best(const char *dir, struct mtlm_options_checkpoint *found,
                     struct mtlm_error *err)
{
    struct mtlm_checkpoint_id id;

    if (mtlm_best_checkpoint_find(dir, &id, err) < 0)
        return mtlm_error_prefix(err, "--load-best");
    found->path = mtlm_checkpoint_dir_path(dir, &id);
    return mtlm_manifest_read_of(&found->manifest, found->path, id.iteration,
                                 err);
}

/* Finds the newest checkpoint whose manifest is whole.  Damaged ones are
 * reported later, when their weights are verified, too. */
static int find_newest(const char *dir, struct mtlm_options_checkpoint *found,
                       struct mtlm_error *err)
{
    struct mtlm_checkpoint_id id, before;
    int rc = mtlm_checkpoint_dir_newest(dir, NULL, &id, err);

    while (rc > 0) {
        found->path = mtlm_checkpoint_dir_path(dir, &id);
        if (mtlm_manifest_read_of(&found->manifest, found->path, id.iteration,
                                  err)
            == 0)
            return 0;
        free(found->path);
        found->path = NULL;
        if (err->code != MTLM_EXIT_INPUT)
            return -1;
        before = id;
        rc = mtlm_checkpoint_dir_newest(dir, &before, &id, err);
    }
    return rc;
}

int mtlm_options_checkpoint_take(struct mtlm_options *options,
                                 struct mtlm_options_checkpoint *found,
                                 struct mtlm_error *err)
{
    const struct mtlm_manifest *m = &found->manifest;
    const char *tokenizer;

    *found = (struct mtlm_options_checkpoint){0};
    if (!options->load_dir)
        return 0;
    if ((options->load_best ? find_best : find_newest)(options->load_dir, found,
                                                       err)
        < 0)
        return -1;
    if (!found->path)
        return 0;
    options->options_path = mtlm_strdup(found->path);
    options->ends = mtlm_ends_stored(m->settings);
    tokenizer = mtlm_json_file_text(m->settings, "tokenizer");
    if (tokenizer)
        options->tokenizer_text = mtlm_strdup(tokenizer);
    if (mtlm_options_stored_compare_given(options, m->settings, found->path,
                                          err)
            < 0
        || mtlm_options_finetune_compare(
               options,
               json_string_value(json_object_get(
                   m->options, mtlm_option_name(MTLM_OPT_TASK))),
               found->path, err)
               < 0)
        return -1;
    return mtlm_options_stored_take(options, m->settings, m->options,
                                    found->path, err);
}

int mtlm_options_checkpoint_compare(const struct mtlm_options *options,
                                    const struct mtlm_options_checkpoint *found,
                                    struct mtlm_error *err)
{
    return found->path ? mtlm_options_stored_compare(
               options, found->manifest.settings, found->path, err)
                       : 0;
}

void mtlm_options_checkpoint_free(struct mtlm_options_checkpoint *found)
{
    mtlm_manifest_free(&found->manifest);
    free(found->path);
    *found = (struct mtlm_options_checkpoint){0};
}

const char *mtlm_options_checkpoint_why(const struct mtlm_options *options,
                                        enum mtlm_option_id option,
                                        char text[MTLM_OPTIONS_CHECKPOINT_WHY])
{
    text[0] = '\0';
    if (options->options_path && !mtlm_options_stored_takes(options, option))
        snprintf(text, MTLM_OPTIONS_CHECKPOINT_WHY,
                 ", and a fine-tuning takes none from a pretraining");
    else if (options->options_path && option == MTLM_OPT_LR && options->preset
             && mtlm_options_finetunes(options))
        /* The rate of the preset kept out that of the checkpoint. */
        snprintf(text, MTLM_OPTIONS_CHECKPOINT_WHY,
                 ", and a fine-tuning takes none from a preset");
    else if (options->options_path)
        snprintf(text, MTLM_OPTIONS_CHECKPOINT_WHY,
                 ", and %.200s does not hold it", options->options_path);
    else if (options->load_dir)
        snprintf(text, MTLM_OPTIONS_CHECKPOINT_WHY,
                 ", and --load %.200s has no checkpoint that holds it",
                 options->load_dir);
    return text;
}
