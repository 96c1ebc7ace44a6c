/* cuDNN recognises our graphs as its fused attention: it is asked how it would
 * compute them on GPUs that need not be there.  Whether it computes the right
 * thing only a GPU shows. */

#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if HAVE_CUDA && HAVE_CUDNN

#include <dlfcn.h>

#include "codelets/attention/attention_fused.h"
#include "codelets/attention/attention_graph.h"
#include "codelets/cudnn/cudnn_plan.h"

/* What the library wants to know of a GPU. */
#define GPU(name, version, sms, shared, per_sm, l2)                            \
    "{\"deviceName\":\"" name "\",\"deviceVer\":" version                      \
    ",\"driverVer\":13000,\"cudaDeviceId\":0,\"totalGlobalMem\":85899345920,"  \
    "\"maxGridSize\":[2147483647,65535,65535],"                                \
    "\"maxBlockSize\":[1024,1024,64],\"regsPerBlock\":65536,"                  \
    "\"multiProcessorCount\":" sms ",\"warpSize\":32,"                         \
    "\"maxSharedMemoryPerBlock\":49152,"                                       \
    "\"maxSharedMemoryPerBlockOptin\":" shared                                 \
    ",\"reservedSharedMemoryPerBlock\":1024,\"maxRegistersPerSM\":65536,"      \
    "\"maxCtasPerSM\":" per_sm ",\"maxThreadsPerBlock\":1024,"                 \
    "\"maxThreadsPerSM\":2048,\"pciDeviceId\":0,\"isTccDriver\":0,"            \
    "\"supportCoopLaunch\":1,\"smClockRateKHz\":1400000,"                      \
    "\"memClockRateKHz\":1500000,\"l2CacheSize\":" l2 "}"

static char h100[] =
    GPU("NVIDIA H100", "900", "132", "232448", "32", "52428800");
static char a100[] =
    GPU("NVIDIA A100", "800", "108", "166912", "32", "41943040");

static const struct mtlm_cudnn *lib;
static cudnnBackendDescriptor_t gpu;

static int set_up(void **state)
{
    const char *json = *state;

    assert_int_equal(
        lib->BackendCreateDescriptor(CUDNN_BACKEND_DEVICEPROP_DESCRIPTOR, &gpu),
        CUDNN_STATUS_SUCCESS);
    assert_int_equal(
        lib->BackendSetAttribute(gpu, CUDNN_ATTR_DEVICEPROP_JSON_REPRESENTATION,
                                 CUDNN_TYPE_CHAR, strlen(json) + 1, json),
        CUDNN_STATUS_SUCCESS);
    assert_int_equal(lib->BackendFinalize(gpu), CUDNN_STATUS_SUCCESS);
    return 0;
}

static int tear_down(void **state)
{
    (void) state;
    lib->BackendDestroyDescriptor(gpu);
    return 0;
}

static int ways(const struct mtlm_attention_graph *of, bool backward)
{
    cudnnBackendDescriptor_t config[MTLM_CUDNN_PROPOSALS];
    struct mtlm_cudnn_graph graph;
    int n;

    mtlm_cudnn_graph_start(&graph, lib);
    if (backward)
        mtlm_attention_graph_bwd(&graph, of);
    else
        mtlm_attention_graph_fwd(&graph, of);
    if (graph.status != CUDNN_STATUS_SUCCESS)
        fail_msg("%s: %s", graph.failed, lib->GetErrorString(graph.status));
    n = mtlm_cudnn_propose(&graph, gpu, config);
    mtlm_cudnn_graph_free(&graph);
    return n;
}

/* Of the best way of backward. */
static double workspace_bytes(const struct mtlm_attention_graph *of)
{
    cudnnBackendDescriptor_t config[MTLM_CUDNN_PROPOSALS];
    struct mtlm_cudnn_graph graph;
    int64_t bytes = -1, n = 0;

    mtlm_cudnn_graph_start(&graph, lib);
    mtlm_attention_graph_bwd(&graph, of);
    assert_true(mtlm_cudnn_propose(&graph, gpu, config) > 0);
    assert_int_equal(
        lib->BackendGetAttribute(config[0], CUDNN_ATTR_ENGINECFG_WORKSPACE_SIZE,
                                 CUDNN_TYPE_INT64, 1, &n, &bytes),
        CUDNN_STATUS_SUCCESS);
    mtlm_cudnn_graph_free(&graph);
    return bytes;
}

static struct mtlm_call call_of(const struct mtlm_attention_graph *of)
{
    struct mtlm_call call = {
        .kind = MTLM_OP_ATTENTION_BWD,
        .value = MTLM_BF16,
        .attr.attention = {.heads = of->heads, .seq_length = of->rows}};

    call.shape[0] = MTLM_SHAPE(of->rows, of->samples, 3 * of->heads * of->d);
    return call;
}

static void assert_taken(const struct mtlm_attention_graph *of, const char *on)
{
    for (int backward = 0; backward < 2; backward++)
        if (ways(of, backward) < 1)
            fail_msg("%s: no way for %s of %d rows, %d elements%s%s", on,
                     backward ? "backward" : "forward", (int) of->rows,
                     (int) of->d, of->causal ? ", causal" : "",
                     of->dropout > 0 ? ", dropout" : "");
}

/* BERT's and GPT's heads, also of lengths that no tile divides: in ways that
 * give the same bits each time. */
static void assert_usual_heads_are_taken(const char *on)
{
    const struct mtlm_attention_graph of[] = {
        {.rows = 512, .d = 64, .type = CUDNN_DATA_BFLOAT16},
        {.rows = 512, .d = 64, .type = CUDNN_DATA_HALF, .dropout = 0.1},
        {.rows = 1024, .d = 96, .type = CUDNN_DATA_BFLOAT16, .causal = true},
        {.rows = 2048,
         .d = 128,
         .type = CUDNN_DATA_HALF,
         .causal = true,
         .dropout = 0.1},
        {.rows = 333, .d = 80, .type = CUDNN_DATA_BFLOAT16, .causal = true},
    };

    for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
        struct mtlm_attention_graph one = of[i];

        one.samples = 4, one.heads = 16;
        assert_taken(&one, on);
    }
}

static void test_an_h100_takes_the_usual_heads(void **state)
{
    (void) state;
    assert_usual_heads_are_taken("H100");
}

static void test_an_a100_takes_the_usual_heads(void **state)
{
    (void) state;
    assert_usual_heads_are_taken("A100");
}

/* What memory plans count on: presets at their usual microbatches; a length
 * that no tile divides. */
static void test_the_workspace_is_as_planned(void **state)
{
    static const struct {
        struct mtlm_attention_graph of;
        double mib;
    } cases[] = {
        {{16, 12, 1024, 64, CUDNN_DATA_BFLOAT16, true, 0}, 384},
        {{8, 15, 1024, 128, CUDNN_DATA_BFLOAT16, true, 0}, 240},
        {{4, 20, 1024, 96, CUDNN_DATA_BFLOAT16, true, 0}, 160},
        {{16, 32, 512, 64, CUDNN_DATA_BFLOAT16, false, 0}, 256},
        {{8, 40, 512, 64, CUDNN_DATA_BFLOAT16, false, 0.1}, 160},
        {{3, 4, 333, 80, CUDNN_DATA_BFLOAT16, true, 0.1}, 3.375},
    };

    (void) state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct mtlm_call call = call_of(&cases[i].of);
        const double planned = mtlm_attention_fused_bytes(&call);
        const double taken = workspace_bytes(&cases[i].of);

        assert_true(planned == cases[i].mib * 1024 * 1024 + 256);
        if (taken > planned || taken < 0.9 * planned)
            fail_msg("case %d: takes %.0f bytes, %.0f are planned", (int) i,
                     taken, planned);
    }
}

/* Our own kernels are for these. */
static void test_what_it_cannot_is_seen(void **state)
{
    const struct mtlm_attention_graph wide = {.samples = 4,
                                              .heads = 16,
                                              .rows = 512,
                                              .d = 256,
                                              .type = CUDNN_DATA_BFLOAT16};

    (void) state;
    assert_int_equal(ways(&wide, true), 0);
}

/* Nothing runs: any libcuda will do, also the one that the toolkit has to link
 * with. */
static bool has_driver(void)
{
    return dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL)
           || dlopen(MTLM_CUDA_STUBS "/libcuda.so", RTLD_NOW | RTLD_GLOBAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate_setup_teardown(
            test_an_h100_takes_the_usual_heads, set_up, tear_down, h100),
        cmocka_unit_test_prestate_setup_teardown(
            test_an_a100_takes_the_usual_heads, set_up, tear_down, a100),
        cmocka_unit_test_prestate_setup_teardown(
            test_the_workspace_is_as_planned, set_up, tear_down, h100),
        cmocka_unit_test_prestate_setup_teardown(test_what_it_cannot_is_seen,
                                                 set_up, tear_down, a100),
    };

    lib = mtlm_cudnn();
    if (!lib || !has_driver())
        return puts("1..0 # SKIP no cuDNN 9.11, or no libcuda") == EOF;
    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    return puts("1..0 # SKIP built without cuDNN") == EOF;
}

#endif
