/* The files of a task: --train-data and --valid-data. */

#include "config.h"

#include <stdio.h>

#include "launch/options/option_table.h"
#include "launch/options/options_task_files.h"
#include "models/text/blend_list.h"

int mtlm_options_task_files_check(const struct mtlm_options *options,
                                  enum mtlm_option_id option,
                                  struct mtlm_error *err)
{
    const char *text = *(char *const *) mtlm_option_value(options, option);
    struct mtlm_blend_list list = {0};
    char label[32];
    int rc = 0;

    snprintf(label, sizeof(label), "--%s", mtlm_option_name(option));
    if (text)
        rc = mtlm_blend_list_parse(text, label, &list, err);
    if (rc == 0 && list.weight)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "%s takes files alone, without weights", label);
    mtlm_blend_list_free(&list);
    return rc;
}

int mtlm_options_task_files_check_one(const struct mtlm_options *options,
                                      struct mtlm_error *err)
{
    struct mtlm_blend_list list;
    int rc = 0;

    if (mtlm_options_task_files_check(options, MTLM_OPT_VALID_DATA, err) < 0
        || mtlm_blend_list_parse(options->valid_data, "--valid-data", &list,
                                 err)
               < 0)
        return -1;
    if (list.n > 1)
        rc = mtlm_error_set(err, MTLM_EXIT_USAGE,
                            "--task %s takes one file in --valid-data, found "
                            "%d",
                            options->task->name, list.n);
    mtlm_blend_list_free(&list);
    return rc;
}
