/* Submits lists of generation and reads their tokens.
 *
 * StarPU hands over a token between the list that writes the token and the next
 * list of the slot: a callback copies the token.  So the host submits the next
 * list before the token is known, and workers do not wait for the host. */

#include "config.h"

#include <assert.h>
#include <semaphore.h>
#include <stdlib.h>

#include "graph/run/constant.h"
#include "graph/run/decoder.h"
#include "graph/run/run_private.h"
#include "runtime/base/memory.h"
#include "runtime/machine/data.h"

struct token {
    starpu_data_handle_t handle;
    int32_t value;
    sem_t known;
};

/* The tokens of a slot: numbers below `taken` are with the caller, those below
 * `submitted` are pending. */
struct pending {
    struct token token[MTLM_RUN_TOKENS_AHEAD];
    int64_t submitted, taken;
};

struct mtlm_run_decode {
    struct mtlm_run *run;
    struct pending *slot; /* [n_slots] */
    int n_slots;
    int64_t tokens; /* submitted */
};

/* Lists of older tokens go first. */
static void submit(struct mtlm_run_decode *decode,
                   const struct mtlm_items *items,
                   const struct mtlm_run_decode_input *of)
{
    struct mtlm_run *run = decode->run;
    const struct mtlm_list_submission submission = {
        .iteration = decode->tokens,
        .first_microbatch = of->slot,
        .first_use = of->slot,
        .first_sample = of->sequence - run->program->config.layout.dp_rank,
        .microbatches = 1,
        .flops = 1,
        .position = of->position,
        .rows = of->rows};

    for (int i = 0; i < items->n; i++)
        mtlm_run_submit_item(run, &items->item[i], &submission);
    starpu_do_schedule();
}

static void copy_token(void *arg)
{
    struct token *token = arg;

    token->value = *(const int32_t *) starpu_data_handle_to_pointer(
        token->handle, STARPU_MAIN_RAM);
    starpu_data_release_on_node(token->handle, STARPU_MAIN_RAM);
    sem_post(&token->known);
}

/* Called between a token and the next one of a slot. */
static void ask_for_token(struct mtlm_run_decode *decode, int slot)
{
    struct pending *s = &decode->slot[slot];
    struct token *token = &s->token[s->submitted++ % MTLM_RUN_TOKENS_AHEAD];
    const struct mtlm_submission at = {.use = slot};

    assert(s->submitted - s->taken <= MTLM_RUN_TOKENS_AHEAD);
    mtlm_run_wait_for_cycle(decode->run, ++decode->tokens);
    token->handle = mtlm_run_data_handle(
        &decode->run->data, decode->run->program->decode.token, &at);
    MTLM_CHECK_STARPU(starpu_data_acquire_on_node_cb(
        token->handle, STARPU_MAIN_RAM, STARPU_R, copy_token, token));
}

struct mtlm_run_decode *mtlm_run_decode_create(struct mtlm_run *run)
{
    struct mtlm_run_decode *decode = mtlm_calloc(1, sizeof(*decode));
    const struct mtlm_decode *of = &run->program->decode;
    const struct mtlm_items *const lists[] = {&of->begin, &of->prompt,
                                              &of->prompt_end, &of->step};

    mtlm_run_wait(run);
    mtlm_run_fix_constants(run, lists, sizeof(lists) / sizeof(lists[0]));
    decode->run = run;
    decode->n_slots = run->program->config.decoding.sequences;
    decode->slot = mtlm_calloc(decode->n_slots, sizeof(*decode->slot));
    for (int i = 0; i < decode->n_slots; i++) {
        for (int k = 0; k < MTLM_RUN_TOKENS_AHEAD; k++)
            sem_init(&decode->slot[i].token[k].known, 0, 0);
        submit(decode, &run->program->decode.begin,
               &(struct mtlm_run_decode_input){.slot = i});
    }
    return decode;
}

void mtlm_run_decode_destroy(struct mtlm_run_decode *decode)
{
    for (int i = 0; i < decode->n_slots; i++) {
        while (decode->slot[i].taken < decode->slot[i].submitted)
            mtlm_run_decode_token(decode, i);
        for (int k = 0; k < MTLM_RUN_TOKENS_AHEAD; k++)
            sem_destroy(&decode->slot[i].token[k].known);
    }
    mtlm_run_wait(decode->run);
    free(decode->slot);
    free(decode);
}

void mtlm_run_decode_prompt(struct mtlm_run_decode *decode,
                            const struct mtlm_run_decode_input *input, bool end)
{
    const struct mtlm_decode *lists = &decode->run->program->decode;

    submit(decode, &lists->prompt, input);
    if (!end)
        return;
    submit(decode, &lists->prompt_end, input);
    ask_for_token(decode, input->slot);
}

void mtlm_run_decode_step(struct mtlm_run_decode *decode,
                          const struct mtlm_run_decode_input *input)
{
    submit(decode, &decode->run->program->decode.step, input);
    ask_for_token(decode, input->slot);
}

int32_t mtlm_run_decode_token(struct mtlm_run_decode *decode, int slot)
{
    struct pending *s = &decode->slot[slot];
    struct token *token = &s->token[s->taken % MTLM_RUN_TOKENS_AHEAD];

    assert(s->taken < s->submitted);
    while (sem_wait(&token->known) != 0)
        ; /* a signal */
    s->taken++;
    return token->value;
}
