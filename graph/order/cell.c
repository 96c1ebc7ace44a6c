/* Reads the cells of a schedule. */

#include "config.h"

#include <ctype.h>
#include <string.h>

#include "graph/order/cell.h"

/* Longer names come before their beginnings. */
static const struct {
    const char *name;
    enum mtlm_cell_kind kind;
} kinds[] = {
    {"WAIT_REDUCE_GRAD", MTLM_CELL_SHARDING},
    {"WAIT_SEND_F", MTLM_CELL_WAIT_SEND},
    {"WAIT_SEND_B", MTLM_CELL_WAIT_SEND},
    {"REDUCE_GRAD", MTLM_CELL_SHARDING},
    {"UNSHARD", MTLM_CELL_SHARDING},
    {"RESHARD", MTLM_CELL_SHARDING},
    {"SEND_F", MTLM_CELL_SEND_F},
    {"RECV_F", MTLM_CELL_RECV_F},
    {"SEND_B", MTLM_CELL_SEND_B},
    {"RECV_B", MTLM_CELL_RECV_B},
    {"BW", MTLM_CELL_BOTH},
    {"F", MTLM_CELL_FORWARD},
    {"I", MTLM_CELL_INPUT},
    {"W", MTLM_CELL_WEIGHT},
    {"B", MTLM_CELL_BACKWARD},
};

enum { KINDS = sizeof(kinds) / sizeof(kinds[0]), MOST_DIGITS = 8 };

/* Reads digits.  Returns their number, or -1 if there are too many. */
static int read_number(const char **at, int *number)
{
    int n = 0;

    *number = 0;
    for (; isdigit((unsigned char) **at); n++, ++*at) {
        if (n == MOST_DIGITS)
            return -1;
        *number = 10 * *number + (**at - '0');
    }
    return n;
}

static void skip_space(const char **at)
{
    while (isspace((unsigned char) **at))
        ++*at;
}

/* Reads <stage><type><microbatch>.  Of sharding, the microbatch is absent. */
static bool read_action(const char **at, struct mtlm_cell *action)
{
    int i = 0, digits;

    skip_space(at);
    if (read_number(at, &action->stage) <= 0)
        return false;
    while (i < KINDS && strncmp(*at, kinds[i].name, strlen(kinds[i].name)) != 0)
        i++;
    if (i == KINDS)
        return false;
    action->kind = kinds[i].kind;
    action->type = kinds[i].name;
    *at += strlen(kinds[i].name);
    digits = read_number(at, &action->microbatch);
    if (digits == 0)
        action->microbatch = -1;
    skip_space(at);
    return digits > 0 || (digits == 0 && action->kind == MTLM_CELL_SHARDING);
}

/* Reads (<cell>;<cell>)OVERLAP_F_B behind its bracket. */
static int read_overlap(const char *at, struct mtlm_cell *action)
{
    static const char type[] = "OVERLAP_F_B";

    if (!read_action(&at, &action[0]) || *at++ != ';'
        || !read_action(&at, &action[1]) || *at++ != ')')
        return -1;
    if (strncmp(at, type, strlen(type)) != 0)
        return -1;
    at += strlen(type);
    skip_space(&at);
    return *at ? -1 : 2;
}

int mtlm_cell_read(const char *text, struct mtlm_cell action[MTLM_CELL_MOST])
{
    skip_space(&text);
    if (!*text)
        return 0;
    if (*text == '(')
        return read_overlap(text + 1, action);
    return read_action(&text, &action[0]) && !*text ? 1 : -1;
}
