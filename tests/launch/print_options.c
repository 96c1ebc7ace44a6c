/* Prints the option table and the exit codes for man_page.sh: "option", name,
 * argument, default or "exit", code, separated by tabs. */

#include "config.h"

#include <stdio.h>

#include "launch/options/option_table.h"

int main(void)
{
    for (int i = 0; i < MTLM_OPTION_COUNT; i++) {
        const struct mtlm_option *o = &mtlm_option_table[i];
        const bool value = o->arg && *o->fallback && !mtlm_option_needed(i);

        printf("option\t%s\t%s\t%s\n", o->name, o->arg ? o->arg : "",
               value ? o->fallback : "");
    }
#define EXIT(name, code, meaning) printf("exit\t%d\n", code);
    MTLM_EXIT_LIST(EXIT)
#undef EXIT
    return 0;
}
