/* --help: first steps, then every option in the order of the table. */

#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "launch/options/help_text.h"
#include "launch/options/option_table.h"
#include "runtime/base/exit_code.h"
#include "runtime/base/memory.h"

enum { WIDTH = 79, NAMES = 2, CODES = 7, TEXTS = 30 };

static const char begin[] =
    "Usage: mtlm-dag [OPTION...]\n"
    "       mtlm-run -n RANKS mtlm-dag [OPTION...]\n"
    "\n"
    "Trains GPT and BERT language models as Megatron-LM does. An iteration\n"
    "is a graph of tasks. StarPU runs each task as soon as its data is ready;\n"
    "the pipeline schedule arises from dependencies, windows and priorities.\n"
    "\n"
    "Examples:\n"
    "  mtlm-dag --model gpt-tiny\n"
    "      a small model on mock data, as a first test\n"
    "  mtlm-dag --list-models\n"
    "      prints the names of all presets\n"
    "  mtlm-dag --model bert-3.9b --dry-run\n"
    "      parameters, memory, messages and layout; nothing runs\n"
    "  mtlm-preprocess --input TEXT --output-prefix P --tokenizer-type byte\n"
    "  mtlm-dag --model gpt-tiny --data-path P_text_document --train-iters "
    "500\n"
    "      on your own text\n"
    "  mtlm-run -n 4 mtlm-dag --model gpt-tiny\n"
    "          --tensor-model-parallel-size 2 --pipeline-model-parallel-size "
    "2\n"
    "      on four ranks: two pipeline stages of two ranks each\n"
    "  mtlm-dag --model gpt-tiny --num-layers 12 --trace DIR\n"
    "      12 layers, with a picture of the schedule in DIR\n"
    "  mtlm-dag --model gpt-tiny --lr 0.0005 --print-config >slow.conf\n"
    "  mtlm-dag --config slow.conf\n"
    "      writes all values to a file, and reads them\n"
    "\n"
    "A value comes from the command line, else from the file of --config, "
    "else\n"
    "from the preset of --model, else from the checkpoint of --load, else from "
    "the\n"
    "defaults below. Options have the names of Megatron-LM. Command lines of\n"
    "Megatron-LM work as far as they go: an option that differs here brings\n"
    "a note or a refusal.\n";

static const char end[] =
    "\n"
    "STARPU_SCHED=POLICY chooses the scheduling policy. The first Ctrl-C ends\n"
    "the run after a whole iteration, the second at once. man mtlm-dag has "
    "the\n"
    "details.\n";

/* Wraps text into lines that begin at column indent; the first line continues
 * at column. */
static void wrap(const char *text, int column, int indent, FILE *out)
{
    while (*text) {
        const int n = (int) strcspn(text, " ");

        if (column > indent && column + 1 + n > WIDTH) {
            fputc('\n', out);
            column = 0;
        } else if (column > indent) {
            column += fprintf(out, " ");
        }
        if (column < indent)
            column += fprintf(out, "%*s", indent - column, "");
        column += fprintf(out, "%.*s", n, text);
        text += n;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

static void print_option(const struct mtlm_option *o, FILE *out)
{
    const bool value = o->arg && *o->fallback
                       && !mtlm_option_needed(o - mtlm_option_table)
                       && !strstr(o->help, "(default: "); /* in words */
    char *text = value ? mtlm_sprintf("%s (default: %s)", o->help, o->fallback)
                       : mtlm_strdup(o->help);
    int column = fprintf(out, "%*s--%s%s%s", NAMES, "", o->name,
                         o->arg ? " " : "", o->arg ? o->arg : "");

    if (column + 2 > TEXTS) {
        fputc('\n', out);
        column = 0;
    }
    wrap(text, column, TEXTS, out);
    free(text);
}

void mtlm_help_text_print(FILE *out)
{
    int group = -1;

    fputs(begin, out);
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];

        if ((int) o->group != group) {
            group = o->group;
            fprintf(out, "\n%s\n", mtlm_option_group_title[group]);
            if (*mtlm_option_group_about[group])
                wrap(mtlm_option_group_about[group], 0, NAMES, out);
        }
        print_option(o, out);
    }
    fputs("\nExit status:\n", out);
#define EXIT(name, code, meaning)                                              \
    wrap(meaning, fprintf(out, "  %-4d ", code), CODES, out);
    MTLM_EXIT_LIST(EXIT)
#undef EXIT
    fputs(end, out);
}
