/* A rank that waits in vain says so; one that computes for long does not. */

#include "config.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/machine/data.h"
#include "support.h"
#include "tests/time_scale.h"

enum { RECEIVER = 1 };

static int patience_us;

static double value;
static starpu_data_handle_t handle;
static char path[64];

static void compute_for_long(void *buffers[], void *arg)
{
    (void) buffers, (void) arg;
    usleep(5 * patience_us);
}

static struct starpu_codelet codelet = {.cpu_funcs = {compute_for_long},
                                        .cpu_funcs_name = {"compute_for_long"},
                                        .name = "compute_for_long"};

/* Lines on stderr that tell of silence. */
static int complaints(void)
{
    FILE *f = fopen(path, "r");
    char line[400];
    int n = 0;

    fflush(stderr);
    while (f && fgets(line, sizeof(line), f))
        n += strstr(line, "no message for") != NULL;
    if (f)
        fclose(f);
    return n;
}

/* The report names the number that a plan waits for, on all ranks, and none
 * where nothing is waited for. */
static void describe_a_plan(void)
{
    static const int order[] = {1, 0};
    char text[256];

    start_engine(MTLM_ORDER_PLANNED, 0, NULL);
    mtlm_engine_describe(engine, text, sizeof(text));
    expect(!strstr(text, "number"), "nothing is waited for: %s", text);
    mtlm_engine_order(engine, order, 2);
    mtlm_engine_describe(engine, text, sizeof(text));
    expect(strstr(text, "waiting for number 1"), "number 1: %s", text);
    stop_engine();
}

int main(int argc, char **argv)
{
    setup(&argc, &argv, 2, 1, 60);
    patience_us = 400000 / 3 * time_scale();
    describe_a_plan();
    snprintf(path, sizeof(path), "silence.%d.%ld", rank, (long) getpid());
    expect(freopen(path, "w", stderr) != NULL, "cannot write %s", path);
    handle = mtlm_data_register(&value, 1, MTLM_F64, "value");
    engine = mtlm_engine_start(&(struct mtlm_engine_config){
        .ranks = ranks, .stall_s = patience_us * 1e-6});
    if (rank == RECEIVER) {
        MTLM_CHECK_STARPU(starpu_task_insert(&codelet, 0));
        post_number(MTLM_RECV, handle);
        MTLM_CHECK_STARPU(starpu_task_wait_for_all());
        expect(complaints() == 0, "%d complaints while computing",
               complaints());
        usleep(5 * patience_us);
        expect(complaints() > 0, "no complaint about silence");
    } else {
        usleep(15 * patience_us);
        post_number(MTLM_SEND, handle);
    }
    settle(handle);
    stop_engine();
    starpu_data_unregister(handle);
    unlink(path);
    return finish();
}
