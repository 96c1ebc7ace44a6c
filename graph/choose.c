#include "config.h"

#include <math.h>

#include "graph/choose.h"

/* Plans and machines are not known more exactly. */
#define TO_SPARE 1.05

/* What is not worked out: models that many times too large, and descriptions
 * that are large themselves. */
enum { TIMES_TOO_LARGE = 64, MANY_LAYERS = 4096 };

struct mtlm_program_config mtlm_wish_config(const struct mtlm_wish *wish,
                                            int tp, int pp, int64_t micro_batch)
{
    struct mtlm_program_config config = wish->config;

    config.layout.tp = tp;
    config.layout.pp = pp;
    config.layout.dp = 1;
    config.layout.virtual_stages =
        mtlm_stage_wish_chunks(&wish->stages, config.model.num_layers, pp);
    config.layout.stage_layers = wish->stages.layers;
    config.micro_batch = micro_batch;
    config.microbatches = wish->global_batch / micro_batch;
    config.eval_microbatches = wish->eval_iters * config.microbatches;
    return config;
}

/* What the first rank alone takes: much less to find out than all. */
static double first_rank(const struct mtlm_program_config *config,
                         const struct mtlm_hosts *hosts)
{
    const struct mtlm_plan plan =
        mtlm_outline_stage(config, 0, hosts->process_bytes);

    return mtlm_plan_more_bytes(&plan);
}

static struct mtlm_choice weigh(const struct mtlm_wish *wish,
                                const struct mtlm_hosts *hosts, int tp, int pp,
                                int64_t micro_batch)
{
    const struct mtlm_program_config config =
        mtlm_wish_config(wish, tp, pp, micro_batch);
    struct mtlm_choice choice = {
        .tp = tp, .pp = pp, .micro_batch = micro_batch, .least = true};
    const double hopeless =
        (wish->hurry ? 1 : TIMES_TOO_LARGE) * hosts->available;
    struct mtlm_outline outline;

    choice.need =
        mtlm_plan_lower_bound(&config)
        * (hosts->per_host < hosts->ranks ? hosts->per_host : hosts->ranks);
    if (choice.need > hopeless
        || (choice.need > hosts->available
            && config.model.num_layers / pp > MANY_LAYERS))
        return choice;
    if (wish->hurry) {
        choice.need = first_rank(&config, hosts);
        if (choice.need > hosts->available)
            return choice;
    }
    outline = mtlm_outline_create(&config, hosts->process_bytes);
    choice.need = mtlm_outline_host_bytes(&outline, hosts->per_host);
    choice.least = false;
    choice.fits = TO_SPARE * choice.need <= hosts->available;
    for (int i = 0; i < pp; i++)
        if (mtlm_plan_check_counts(&outline.plan[i], NULL) < 0)
            choice.fits = false;
    mtlm_outline_destroy(&outline);
    return choice;
}

/* The largest micro batch that fits, or the smallest. */
static struct mtlm_choice choose_micro_batch(const struct mtlm_wish *wish,
                                             const struct mtlm_hosts *hosts,
                                             int tp, int pp)
{
    const int64_t wanted = wish->config.micro_batch;
    struct mtlm_choice choice = weigh(wish, hosts, tp, pp, wanted);

    if (wish->micro_batch_free)
        for (int64_t b = wanted - 1; b >= 1 && !choice.fits; b--)
            if (wanted % b == 0) {
                const struct mtlm_choice smaller =
                    weigh(wish, hosts, tp, pp, b);

                if (smaller.fits || smaller.need < choice.need)
                    choice = smaller;
            }
    return choice;
}

bool mtlm_choose_possible(const struct mtlm_wish *wish, int ranks, int t)
{
    const struct mtlm_model *model = &wish->config.model;

    return ranks % t == 0 && model->num_heads % t == 0
           && model->ffn_hidden_size % t == 0
           && mtlm_stage_wish_chunks(&wish->stages, model->num_layers,
                                     ranks / t)
                  > 0;
}

int mtlm_choose(const struct mtlm_wish *wish, const struct mtlm_hosts *hosts,
                struct mtlm_choice *choice)
{
    const struct mtlm_layout *given = &wish->config.layout;
    const int64_t most = wish->config.model.num_heads;

    if (!wish->layout_free) {
        *choice = choose_micro_batch(wish, hosts, given->tp, given->pp);
        return 0;
    }
    *choice = (struct mtlm_choice){.need = INFINITY, .least = true};
    for (int across = 0; across < 2; across++)
        for (int t = 1; t <= most && !choice->fits; t++)
            if (mtlm_choose_possible(wish, hosts->ranks, t)
                && across == (hosts->per_host % t != 0)) {
                const struct mtlm_choice other =
                    choose_micro_batch(wish, hosts, t, hosts->ranks / t);

                if (other.fits || choice->tp == 0 || other.need < choice->need)
                    *choice = other;
            }
    return choice->tp ? 0 : -1;
}
