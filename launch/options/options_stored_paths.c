/* Paths among the options that a checkpoint stores. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/option_value.h"
#include "launch/options/options_note.h"
#include "launch/options/options_stored_paths.h"
#include "models/text/blend_list.h"
#include "runtime/file/disk.h"

/* The files of a tokenizer. */
static const enum mtlm_option_id of_tokenizer[] = {
    MTLM_OPT_VOCAB_FILE, MTLM_OPT_MERGE_FILE, MTLM_OPT_TOKENIZER_MODEL};

enum { OF_TOKENIZER = sizeof(of_tokenizer) / sizeof(of_tokenizer[0]) };

static bool is_of_tokenizer(enum mtlm_option_id option)
{
    for (int i = 0; i < OF_TOKENIZER; i++)
        if (of_tokenizer[i] == option)
            return true;
    return false;
}

/* Whether the option's value names files. */
static bool names_files(enum mtlm_option_id option)
{
    return mtlm_option_table[option].type == MTLM_OPTION_WORDS
           || is_of_tokenizer(option);
}

/* The text with paths from the root; NULL: the option, read again, would not
 * have these paths.  The caller frees the text. */
static char *absolute_paths(enum mtlm_option_id option, const char *text)
{
    char *path = mtlm_option_table[option].type == MTLM_OPTION_WORDS
                     ? mtlm_blend_list_absolute(text)
                     : mtlm_disk_absolute(text);

    if (path && mtlm_option_value_fits(option, path))
        return path;
    free(path);
    return NULL;
}

char *mtlm_options_stored_path_text(const struct mtlm_options *options,
                                    enum mtlm_option_id option)
{
    char *text = mtlm_option_value_text(options, option);
    char *path = names_files(option) ? absolute_paths(option, text) : NULL;

    if (!path)
        return text;
    free(text);
    return path;
}

void mtlm_options_stored_path_note(struct mtlm_options *options,
                                   enum mtlm_option_id option)
{
    char *text, *path;

    if (!names_files(option))
        return;
    text = mtlm_option_value_text(options, option);
    path = absolute_paths(option, text);
    if (!path)
        mtlm_options_note(options,
                          "--save stores --%s as it is given, because an "
                          "option cannot hold the path of this directory; "
                          "--load finds the files from here only",
                          mtlm_option_name(option));
    free(path);
    free(text);
}

bool mtlm_options_stored_path_moved(const struct mtlm_options *o,
                                    enum mtlm_option_id option,
                                    const json_t *others)
{
    bool moved = false;

    if ((option != MTLM_OPT_TOKENIZER_TYPE && !is_of_tokenizer(option))
        || mtlm_options_source(o, option) > MTLM_SOURCE_CHECKPOINT
        || mtlm_options_source(o, MTLM_OPT_TOKENIZER_TYPE)
               > MTLM_SOURCE_CHECKPOINT)
        return false;
    for (int i = 0; i < OF_TOKENIZER; i++) {
        const bool given =
            mtlm_options_source(o, of_tokenizer[i]) > MTLM_SOURCE_CHECKPOINT;

        if (given
            && !json_object_get(others, mtlm_option_name(of_tokenizer[i])))
            return false; /* files of another tokenizer */
        moved = moved || given;
    }
    return moved;
}
