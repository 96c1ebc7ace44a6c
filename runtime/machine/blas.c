/* Products of matrices by a library that is chosen at run time.
 *
 * The library is opened with RTLD_DEEPBIND: every BLAS has the same names, and
 * without that flag a second BLAS would call the first. */

#include "config.h"

#include <cblas.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/amx/amx_fp32.h"
#include "runtime/amx/amx_kernel.h"
#include "runtime/base/memory.h"
#include "runtime/machine/blas.h"
#include "runtime/machine/blas_core.h"

#ifndef HAVE_AMX
#define HAVE_AMX 0
#endif

/* A sanitizer's functions must stay in front of the library's. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)              \
    || !defined(RTLD_DEEPBIND)
#define OWN_NAMES 0
#else
#define OWN_NAMES RTLD_DEEPBIND
#endif

const char *const mtlm_blas_name[MTLM_BLAS_NAMES] = {
    "default", "amx", "openblas", "blis", "onednn", "mkl", "aocl"};

/* The file names under which a library is looked for. */
static const char *const files[MTLM_BLAS_NAMES][4] = {
    {NULL},
    {NULL},
    {"libopenblas.so.0", "libopenblas.so"},
    {"libblis.so.4", "libblis.so.5", "libblis.so"},
    {"libdnnl.so.3", "libdnnl.so.2"},
    {"libmkl_rt.so.2", "libmkl_rt.so.3", "libmkl_rt.so"},
    {"libblis-mt.so.5", "libblis-mt.so.4", "libblis-mt.so"}};

/* The calling conventions of 64-bit Linux pass a size of 64 bits in the place
 * of one of 32, lower half first: a library may take either. */
typedef void cblas_gemm(int order, int trans_a, int trans_b, int64_t m,
                        int64_t n, int64_t k, float alpha, const float *a,
                        int64_t lda, const float *b, int64_t ldb, float beta,
                        float *c, int64_t ldc);
typedef void cblas_gemv(int order, int trans, int64_t m, int64_t n, float alpha,
                        const float *a, int64_t lda, const float *x,
                        int64_t by_x, float beta, float *y, int64_t by_y);
typedef int dnnl_gemm(char trans_a, char trans_b, int64_t m, int64_t n,
                      int64_t k, float alpha, const float *a, int64_t lda,
                      const float *b, int64_t ldb, float beta, float *c,
                      int64_t ldc);

/* What is in use.  All NULL: the library that the program is linked with. */
static struct {
    bool amx;
    void *handle;
    cblas_gemm *gemm;
    cblas_gemv *gemv;
    dnnl_gemm *dnnl;
} used;

/* oneDNN allocates memory in each product; what fails leaves C as it was. */
static void check(int status)
{
    enum { OUT_OF_MEMORY = 1 }; /* dnnl_types.h */

    if (status == OUT_OF_MEMORY)
        mtlm_end_job(MTLM_EXIT_RESOURCE,
                     "not enough memory for oneDNN's copies of matrices");
    if (status != 0)
        mtlm_fatal(__FILE__, __LINE__, "oneDNN: status %d of dnnl_sgemm",
                   status);
}

/* oneDNN asks OpenMP for the number of threads, a setting of each thread. */
static void run_one_thread(void)
{
    static _Thread_local bool set;
    void (*set_threads)(int);

    if (set)
        return;
    *(void **) &set_threads = dlsym(used.handle, "omp_set_num_threads");
    if (set_threads)
        set_threads(1);
    set = true;
}

static CBLAS_TRANSPOSE transposed(bool trans)
{
    return trans ? CblasTrans : CblasNoTrans;
}

void mtlm_blas_sgemm(bool trans_a, bool trans_b, int64_t m, int64_t n,
                     int64_t k, const float *a, int64_t lda, const float *b,
                     int64_t ldb, bool add, float *c, int64_t ldc)
{
    const float beta = add;

    if (used.amx) {
        mtlm_amx_fp32(trans_a, trans_b, m, n, k, a, lda, b, ldb, add, c, ldc);
    } else if (used.gemm) {
        used.gemm(CblasRowMajor, transposed(trans_a), transposed(trans_b), m, n,
                  k, 1, a, lda, b, ldb, beta, c, ldc);
    } else if (used.dnnl) {
        run_one_thread();
        check(used.dnnl(trans_a ? 'T' : 'N', trans_b ? 'T' : 'N', m, n, k, 1, a,
                        lda, b, ldb, beta, c, ldc));
    } else {
        cblas_sgemm(CblasRowMajor, transposed(trans_a), transposed(trans_b), m,
                    n, k, 1, a, lda, b, ldb, beta, c, ldc);
    }
}

/* oneDNN has no product of a matrix and a vector. */
void mtlm_blas_sgemv_add(int64_t m, int64_t n, const float *a, const float *x,
                         float *y)
{
    if (used.gemv)
        used.gemv(CblasRowMajor, CblasNoTrans, m, n, 1, a, n, x, 1, 1, y, 1);
    else
        cblas_sgemv(CblasRowMajor, CblasNoTrans, m, n, 1, a, n, x, 1, 1, y, 1);
}

bool mtlm_blas_is_default(const char *name)
{
    return strcmp(name, mtlm_blas_name[MTLM_BLAS_DEFAULT]) == 0
           || (strcmp(name, "openblas") == 0
               && dlsym(RTLD_DEFAULT, "openblas_get_config"));
}

/* Sets what libraries read when they are opened: one thread, and the same
 * result for the same product.  The user's settings stay. */
static void prepare_environment(void)
{
    setenv("BLIS_NUM_THREADS", "1", 0);
    setenv("MKL_NUM_THREADS", "1", 0);
    setenv("MKL_THREADING_LAYER", "SEQUENTIAL", 0);
    setenv("MKL_INTERFACE_LAYER", "LP64", 0);
    setenv("MKL_CBWR", "AUTO,STRICT", 0);
}

/* Opens the library of a name, or a file. */
static void *open_library(const char *library, struct mtlm_error *err)
{
    const char *const *file = NULL;
    void *handle = NULL;

    prepare_environment();
    for (int i = 1; i < MTLM_BLAS_NAMES; i++)
        if (strcmp(library, mtlm_blas_name[i]) == 0)
            file = files[i];
    for (int i = 0; file && file[i] && !handle; i++)
        handle = dlopen(file[i], RTLD_NOW | RTLD_LOCAL | OWN_NAMES);
    if (!file)
        handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | OWN_NAMES);
    if (!handle && file)
        mtlm_error_set(err, MTLM_EXIT_USAGE,
                       "--blas %s: this machine has no %s", library, file[0]);
    else if (!handle)
        mtlm_error_set(err, MTLM_EXIT_USAGE, "--blas: cannot load %s",
                       dlerror());
    return handle;
}

/* Makes the library run one thread for each caller. */
static void set_one_thread(void *handle)
{
    static const char *const names[] = {"openblas_set_num_threads",
                                        "MKL_Set_Num_Threads"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        void (*set)(int);

        *(void **) &set = dlsym(handle, names[i]);
        if (set)
            set(1);
    }
}

/* Computes a small product of each kind.  A library that compiles its kernels
 * at the first call, as oneDNN does, then has its memory before the plan counts
 * that of the process. */
static void compute_once(void)
{
    enum { N = 64 };
    float *a = mtlm_calloc(3 * N * N, sizeof(*a)), *b = a + N * N;

    for (int i = 0; i < 8; i++)
        mtlm_blas_sgemm(i & 1, i & 2, N, N, N, a, N, b, N, i & 4, b + N * N, N);
    free(a);
}

/* Returns the variable of oneDNN that forbids AMX, or NULL.  The first of the
 * two counts.  Ours must forbid AMX wherever oneDNN's products, --bf16, do. */
static const char *find_amx_limit(void)
{
    const char *name = "ONEDNN_MAX_CPU_ISA", *limit = getenv(name);

    if (!limit || !*limit) {
        name = "DNNL_MAX_CPU_ISA";
        limit = getenv(name);
    }
    return limit && *limit && !strcasestr(limit, "amx")
                   && strcasecmp(limit, "all") && strcasecmp(limit, "default")
               ? name
               : NULL;
}

static int use_amx(struct mtlm_error *err)
{
    const char *limit = find_amx_limit();

    if (!HAVE_AMX)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas amx: this program was built by a "
                              "compiler without AMX");
    if (limit)
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas amx: the environment variable "
                              "%s=%.40s forbids AMX",
                              limit, getenv(limit));
    if (!mtlm_amx_allowed())
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas amx: this machine has no AMX, or its "
                              "system forbids AMX");
    used.amx = true;
    return 0;
}

int mtlm_blas_use(const char *library, struct mtlm_error *err)
{
    void *handle;

    memset(&used, 0, sizeof(used));
    if (mtlm_blas_is_default(library))
        return 0;
    if (strcmp(library, mtlm_blas_name[MTLM_BLAS_AMX]) == 0)
        return use_amx(err);
    handle = open_library(library, err);
    if (!handle)
        return -1;
    *(void **) &used.gemm = dlsym(handle, "cblas_sgemm");
    *(void **) &used.gemv = dlsym(handle, "cblas_sgemv");
    *(void **) &used.dnnl = dlsym(handle, "dnnl_sgemm");
    if (!used.gemm && !used.dnnl) {
        dlclose(handle);
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "--blas %s: the library has no cblas_sgemm",
                              library);
    }
    set_one_thread(handle);
    used.handle = handle;
    compute_once();
    return 0;
}

/* Writes the version that a library tells; an empty text: none. */
static void describe_version(char *text, size_t bytes)
{
    const struct {
        int major, minor, patch;
    } * (*dnnl)(void);
    char *(*openblas)(void), *(*blis)(void);
    void (*mkl)(char *, int);
    char long_text[200] = "";

    *(void **) &dnnl = dlsym(used.handle, "dnnl_version");
    *(void **) &openblas = dlsym(used.handle, "openblas_get_config");
    *(void **) &blis = dlsym(used.handle, "bli_info_get_version_str");
    *(void **) &mkl = dlsym(used.handle, "MKL_Get_Version_String");
    *text = '\0';
    if (openblas) { /* "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..." */
        sscanf(openblas(), "OpenBLAS %150s", long_text);
        snprintf(text, bytes, "OpenBLAS %s", long_text);
    } else if (blis) {
        snprintf(text, bytes, "BLIS %s", blis());
    } else if (mkl) { /* "Intel(R) ... Version 2024.2-Product Build ..." */
        const char *version;

        mkl(long_text, sizeof(long_text) - 1);
        version = strstr(long_text, "Version ");
        snprintf(text, bytes, "MKL %.*s",
                 version ? (int) strcspn(version + 8, "- ") : 0,
                 version ? version + 8 : "");
    } else if (dnnl) {
        snprintf(text, bytes, "oneDNN %d.%d.%d", dnnl()->major, dnnl()->minor,
                 dnnl()->patch);
    }
}

bool mtlm_blas_by_amx(void)
{
    return used.amx;
}

const char *mtlm_blas_describe(char *text, size_t bytes)
{
    struct link_map *map;

    if (used.amx) {
        snprintf(text, bytes, "AMX, each number in three bf16 parts");
        return text;
    }
    if (!used.handle)
        return mtlm_blas_core_describe(text, bytes);
    describe_version(text, bytes);
    if (!*text && dlinfo(used.handle, RTLD_DI_LINKMAP, &map) == 0)
        snprintf(text, bytes, "%s", map->l_name);
    return text;
}
