/* Decides whether a job packs its weights. */

#include "config.h"

#include "graph/build/packing.h"
#include "launch/plan/pack_choice.h"

/* Returns why the job cannot pack weights; NULL: it can.  What the user chose
 * comes before what the machine lacks. */
static const char *hindrance(const struct mtlm_options *options,
                             const struct mtlm_program_config *config,
                             const struct mtlm_hosts *hosts, bool here)
{
    const char *why = mtlm_packing_hindrance(config);

    if (options->cluster_file)
        return "tasks of a synthetic run multiply nothing";
    if (hosts->gpus)
        return "GPUs multiply weights as they are";
    return why || here ? why : "bf16 products are in fp32 on this machine";
}

int mtlm_pack_choice_make(const struct mtlm_options *options,
                          struct mtlm_wish *wish,
                          const struct mtlm_hosts *hosts,
                          struct mtlm_choice *choice, bool here,
                          struct mtlm_error *err)
{
    const bool asked = options->pack_weights == MTLM_PACKING_YES;
    struct mtlm_program_config config = mtlm_choice_config(wish, choice);
    const char *why = hindrance(options, &config, hosts, here);
    double need;

    if (options->pack_weights == MTLM_PACKING_NO || (why && !asked))
        return 0;
    if (why)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--pack-weights yes cannot pack weights: %s; "
                              "leave the option out",
                              why);
    config.packing = options->pack_weights;
    need = mtlm_choose_need_of(hosts, &config);
    if (!asked && !mtlm_choose_fits(hosts, need))
        return 0;
    wish->config.packing = config.packing;
    choice->need = need;
    return 0;
}
