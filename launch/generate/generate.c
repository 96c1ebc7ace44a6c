/* Generation of text: which sequence is in which slot, and when it ends.
 *
 * Every rank of a replica makes the same decisions, because each reads the same
 * tokens in the same order.  The step behind the awaited token is submitted
 * already, so workers do not wait for the host. */

#include "config.h"

#include <inttypes.h>
#include <stdlib.h>

#include "graph/run/decoder.h"
#include "launch/checkpoint/checkpoint.h"
#include "launch/generate/generate.h"
#include "launch/generate/generate_text.h"
#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/plural.h"
#include "runtime/machine/signals.h"

/* A slot, and the sequence in it. */
struct active {
    int64_t sequence;         /* -1: none */
    int64_t length;           /* tokens of its prompt */
    int64_t submitted, taken; /* new tokens */
};

struct generation {
    struct mtlm_job *job;
    struct mtlm_run_decode *decode;
    struct mtlm_generate_text *text; /* NULL on most ranks */
    struct active *slot;             /* [job->decoding.sequences] */
    int64_t next;                    /* sequence to begin; n: none is left */
    int64_t tokens;                  /* taken, of all sequences */
};

/* Begins the next sequence of this replica in the slot, if any is left. */
static void begin_sequence(struct generation *g, int i)
{
    const struct mtlm_prompts *prompts = g->job->prompts;
    const int64_t most = g->job->decoding.prompt_rows;
    struct active *slot = &g->slot[i];
    struct mtlm_run_decode_input input = {.slot = i, .sequence = g->next};

    *slot = (struct active){.sequence = -1};
    if (g->next >= prompts->sequences)
        return;
    slot->sequence = g->next;
    mtlm_prompts_tokens(prompts, g->next, &slot->length);
    g->next += g->job->layout.dp;
    for (; input.position < slot->length; input.position += input.rows) {
        const int64_t left = slot->length - input.position;

        input.rows = left < most ? left : most;
        mtlm_run_decode_prompt(g->decode, &input, left <= most);
    }
    slot->submitted = 1;
}

/* Drops the tokens that were submitted beyond the end. */
static void end_sequence(struct generation *g, int i)
{
    struct active *slot = &g->slot[i];

    for (; slot->taken < slot->submitted; slot->taken++)
        mtlm_run_decode_token(g->decode, i);
    mtlm_generate_text_end(g->text, slot->sequence);
    begin_sequence(g, i);
}

/* Submits the step after the awaited token, then takes a token. */
static void advance(struct generation *g, int i)
{
    struct active *slot = &g->slot[i];
    const struct mtlm_options *o = &g->job->options;
    int32_t token;
    bool ends;

    if (slot->submitted < o->max_new_tokens) {
        mtlm_run_decode_step(g->decode,
                             &(struct mtlm_run_decode_input){
                                 .slot = i,
                                 .sequence = slot->sequence,
                                 .position = slot->length + slot->submitted - 1,
                                 .rows = 1});
        slot->submitted++;
    }
    token = mtlm_run_decode_token(g->decode, i);
    if (token < 0)
        mtlm_end_job(MTLM_EXIT_NUMERIC,
                     "a logit of new token %" PRId64 " is NaN: weights of the "
                     "checkpoint %s are NaN or too large",
                     slot->taken, o->load_dir);
    slot->taken++;
    g->tokens++;
    ends = mtlm_ends_has(&o->ends, token, o->tokenizer->eod);
    if (!ends)
        mtlm_generate_text_add(g->text, slot->sequence, token);
    if (ends || slot->taken == o->max_new_tokens)
        end_sequence(g, i);
}

static void generate_all(struct generation *g)
{
    const int n = g->job->decoding.sequences;
    bool any = true;

    for (int i = 0; i < n; i++)
        begin_sequence(g, i);
    while (any) {
        any = false;
        for (int i = 0; i < n; i++)
            if (g->slot[i].sequence >= 0) {
                advance(g, i);
                any = true;
            }
    }
}

/* Collective.  tokens: of this rank's replica. */
static void print_speed(struct mtlm_job *job, int64_t tokens, double seconds)
{
    const struct mtlm_layout *l = &job->layout;
    const bool counts = l->tp_rank == 0 && l->pp_rank == 0;
    const double all = mtlm_ranks_sum(job->ranks, counts ? tokens : 0);

    if (mtlm_ranks_rank(job->ranks) == 0)
        mtlm_warn("%.0f new token%s in %.2f s, %.1f tokens/s", all,
                  mtlm_plural((int64_t) all), seconds, all / seconds);
}

int mtlm_generate(struct mtlm_job *job)
{
    struct generation g = {.job = job, .next = job->layout.dp_rank};
    int64_t start;

    mtlm_signals_end_at_once();
    mtlm_run_init(job->run);
    mtlm_checkpoint_load(job);
    start = mtlm_now_ns();
    g.text = mtlm_generate_text_create(job);
    g.slot = mtlm_calloc(job->decoding.sequences, sizeof(*g.slot));
    g.decode = mtlm_run_decode_create(job->run);
    generate_all(&g);
    mtlm_run_decode_destroy(g.decode);
    mtlm_job_stop_engine(job);
    mtlm_generate_text_gather(g.text, job);
    print_speed(job, g.tokens, (mtlm_now_ns() - start) * 1e-9);
    mtlm_generate_text_destroy(g.text);
    free(g.slot);
    return MTLM_EXIT_OK;
}
