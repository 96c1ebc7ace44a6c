/* Products of tiles. */

#include "config.h"

#include "runtime/amx/amx_kernel.h"

#if HAVE_AMX

#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#pragma GCC target("amx-tile,amx-bf16")

/* Bit 22 of EDX of CPUID's leaf 7. */
enum { LEAF = 7, AMX_BF16 = 1 << 22 };

/* Of Linux: arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILE_DATA). */
enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };

bool mtlm_amx_allowed(void)
{
    unsigned a = 0, b = 0, c = 0, d = 0;

    if (!__get_cpuid_count(LEAF, 0, &a, &b, &c, &d) || !(d & AMX_BF16))
        return false;
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

void mtlm_amx_begin(void)
{
    /* The layout is the processor's. */
    static const struct {
        uint8_t palette, unused[15];
        uint16_t bytes_of_row[16];
        uint8_t rows[16];
    } all = {.palette = 1,
             .bytes_of_row = {64, 64, 64, 64, 64, 64, 64, 64},
             .rows = {16, 16, 16, 16, 16, 16, 16, 16}};

    _tile_loadconfig(&all);
}

void mtlm_amx_end(void)
{
    _tile_release();
    _mm_sfence();
}

/* Fetches lines that will be read, to the second cache. */
static inline void fetch_to_read(const struct mtlm_amx_ahead *ahead, int64_t s)
{
    const char *at = ahead->at + s * ahead->step;

    for (int64_t i = 0; i < ahead->rows; i++, at += ahead->stride)
        for (int64_t line = 0; line < ahead->lines; line++)
            __builtin_prefetch(at + line * 64, 0, 2);
}

/* Fetches lines that will be written, to the nearest cache. */
static inline void fetch_to_write(const struct mtlm_amx_ahead *ahead, int64_t s)
{
    const char *at = ahead->at + s * ahead->step;

    for (int64_t i = 0; i < ahead->rows; i++, at += ahead->stride) {
        __builtin_prefetch(at, 1, 3);
        if (ahead->lines == 2)
            __builtin_prefetch(at + 64, 1, 3);
    }
}

/* Load the two tiles of a step. */
static inline void load_first(const uint16_t *a)
{
    _tile_loadd(4, a, 64);
    _tile_loadd(5, a + MTLM_AMX_TILE, 64);
}

static inline void load_second(const uint16_t *b)
{
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + MTLM_AMX_TILE, 64);
}

/* Adds the product of the loaded tiles. */
static inline void add_product(void)
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

static inline void clear_sums(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

static inline void store_sums(float *sums)
{
    const int64_t bytes = MTLM_AMX_SIDE * sizeof(*sums);
    float *low = sums + MTLM_AMX_ROWS * MTLM_AMX_SIDE;

    _tile_stored(0, sums, bytes);
    _tile_stored(1, sums + MTLM_AMX_ROWS, bytes);
    _tile_stored(2, low, bytes);
    _tile_stored(3, low + MTLM_AMX_ROWS, bytes);
}

void mtlm_amx_multiply(const uint16_t *a, int64_t ld, const uint16_t *b,
                       int64_t steps, bool add, float *sums,
                       const struct mtlm_amx_ahead *to_read,
                       const struct mtlm_amx_ahead *to_write)
{
    const int64_t bytes = MTLM_AMX_SIDE * sizeof(*sums);
    const int64_t stride = ld * sizeof(*a), half = ld * MTLM_AMX_ROWS;
    const int64_t step = ld == MTLM_AMX_TERMS ? MTLM_AMX_STEP : MTLM_AMX_TERMS;
    float *low = sums + MTLM_AMX_ROWS * MTLM_AMX_SIDE;

    /* The intrinsics do not tell the compiler that they read memory. */
    __asm__ volatile("" ::: "memory");
    if (add) {
        _tile_loadd(0, sums, bytes);
        _tile_loadd(1, sums + MTLM_AMX_ROWS, bytes);
        _tile_loadd(2, low, bytes);
        _tile_loadd(3, low + MTLM_AMX_ROWS, bytes);
    } else {
        clear_sums();
    }
    for (int64_t s = 0; s < steps; s++) {
        if (to_read->rows > 0)
            fetch_to_read(to_read, s);
        if (to_write->rows > 0)
            fetch_to_write(to_write, s);
        _tile_loadd(4, a, stride);
        _tile_loadd(6, b, 64);
        _tile_loadd(7, b + MTLM_AMX_TILE, 64);
        _tile_loadd(5, a + half, stride);
        add_product();
        a += step;
        b += MTLM_AMX_STEP;
    }
    store_sums(sums);
}

void mtlm_amx_multiply_split(const uint16_t *a, const uint16_t *b,
                             int64_t steps, float *sums,
                             const struct mtlm_amx_ahead *to_read,
                             const struct mtlm_amx_ahead *to_write)
{
    const int64_t part = steps * MTLM_AMX_STEP;

    __asm__ volatile("" ::: "memory"); /* as above */
    clear_sums();
    for (int64_t s = 0, at = 0; s < steps; s++, at += MTLM_AMX_STEP) {
        if (to_read->rows > 0)
            fetch_to_read(to_read, s);
        if (to_write->rows > 0)
            fetch_to_write(to_write, s);
        load_first(a + 2 * part + at);
        load_second(b + at);
        add_product();
        load_first(a + part + at);
        add_product();
        load_second(b + part + at);
        add_product();
        load_first(a + at);
        add_product();
        load_second(b + 2 * part + at);
        add_product();
        load_second(b + at);
        add_product();
    }
    store_sums(sums);
}

#else

bool mtlm_amx_allowed(void)
{
    return false;
}

/* Never called. */
void mtlm_amx_begin(void)
{
}

/* Never called. */
void mtlm_amx_end(void)
{
}

/* Never called. */
void mtlm_amx_multiply(const uint16_t *a, int64_t ld, const uint16_t *b,
                       int64_t steps, bool add, float *sums,
                       const struct mtlm_amx_ahead *to_read,
                       const struct mtlm_amx_ahead *to_write)
{
    (void) a, (void) ld, (void) b, (void) steps, (void) add, (void) sums;
    (void) to_read, (void) to_write;
}

/* Never called. */
void mtlm_amx_multiply_split(const uint16_t *a, const uint16_t *b,
                             int64_t steps, float *sums,
                             const struct mtlm_amx_ahead *to_read,
                             const struct mtlm_amx_ahead *to_write)
{
    (void) a, (void) b, (void) steps, (void) sums;
    (void) to_read, (void) to_write;
}

#endif
