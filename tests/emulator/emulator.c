/* Threads of a block are fibers: contexts with a stack of their own, between
 * which the compiler's own longjmp changes (the library's takes a system call
 * under AddressSanitizer).  A fiber whose thread ends takes the next thread
 * that has not started, so that a kernel without barriers never changes. */

#define _GNU_SOURCE

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "tests/emulator/emulator.h"

#if __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif

/* What every GPU since sm_80 takes. */
enum { MAX_THREADS = 1024, WARP = 32, MAX_SHARED = 163 << 10 };
enum { SHARED_ALIGN = 16, SHARED_MAP = 164 << 10 };

enum { STACK_BYTES = 256 << 10, GUARD_BYTES = 4096 };

struct fiber {
    void *here[5]; /* for __builtin_longjmp */
    ucontext_t start;
    bool started;
    char *stack; /* lowest address */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
};

enum state { NEW, READY, AT_BARRIER, AT_WARP, ENDED };

struct thread {
    uint3 index;
    enum state state;
    struct fiber *fiber;
    /* Where it waits, and for what: */
    const char *file;
    int line;
    enum mtlm_warp_operation operation;
    unsigned mask, from;
    uint64_t value, result;
};

bool mtlm_emulator_backwards;
__thread uint3 threadIdx, blockIdx, blockDim, gridDim;

static __thread struct {
    struct thread thread[MAX_THREADS];
    struct fiber fiber[MAX_THREADS], scheduler;
    struct fiber *idle[MAX_THREADS];
    int n_fibers, n_idle;
    int n_threads, started, ended, current;
    char *shared_map, *shared; /* all there is; the kernel's, at its end */
    size_t shared_bytes;
    void (*function)(void *arg);
    void *arg;
} * e;

void mtlm_emulator_stream(void *stream)
{
    static void (*kernel)(void *stream);
    static bool looked;

    if (!looked)
        kernel = (void (*)(void *)) dlsym(RTLD_DEFAULT, "mtlm_double_kernel");
    looked = true;
    if (kernel)
        kernel(stream);
}

/* Ends the program. */
static void __attribute__((noreturn, format(printf, 1, 2)))
fail(const char *format, ...)
{
    va_list args;

    fprintf(stderr, "emulator: block (%u, %u, %u): ", blockIdx.x, blockIdx.y,
            blockIdx.z);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    abort();
}

static void *map(size_t bytes)
{
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (p == MAP_FAILED)
        fail("no memory for %zu bytes", bytes);
    return p;
}

#define SWITCHES noinline, no_sanitize("address")

static void __attribute__((SWITCHES)) resume(struct fiber *fiber)
{
    if (fiber->started)
        __builtin_longjmp(fiber->here, 1);
    fiber->started = true;
    setcontext(&fiber->start);
}

static void __attribute__((SWITCHES))
change(struct fiber *from, struct fiber *to)
{
#if __SANITIZE_ADDRESS__
    __sanitizer_start_switch_fiber(&from->fake_stack, to->stack,
                                   to->stack_bytes);
#endif
    if (__builtin_setjmp(from->here) == 0)
        resume(to);
#if __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake_stack, NULL, NULL);
#endif
}

/* The thread that is number i in the order of running. */
static int in_order(int i)
{
    return mtlm_emulator_backwards ? e->n_threads - 1 - i : i;
}

static void enter(int number)
{
    e->current = number;
    threadIdx = e->thread[number].index;
}

static void start_next(struct fiber *fiber)
{
    const int number = in_order(e->started++);

    e->thread[number].fiber = fiber;
    e->thread[number].state = READY;
    enter(number);
}

static void fiber_main(void)
{
#if __SANITIZE_ADDRESS__
    const void *stack;

    __sanitizer_finish_switch_fiber(NULL, &stack, &e->scheduler.stack_bytes);
    e->scheduler.stack = (char *) stack;
#endif
    for (;;) {
        struct fiber *self;

        e->function(e->arg);
        self = e->thread[e->current].fiber;
        e->thread[e->current].state = ENDED;
        e->ended++;
        if (e->started < e->n_threads) {
            start_next(self);
            continue;
        }
        e->idle[e->n_idle++] = self;
        change(self, &e->scheduler);
    }
}

static struct fiber *new_fiber(void)
{
    struct fiber *fiber = &e->fiber[e->n_fibers++];
    char *bottom = map(GUARD_BYTES + STACK_BYTES);

    if (mprotect(bottom, GUARD_BYTES, PROT_NONE))
        fail("cannot guard a stack");
    fiber->stack = bottom + GUARD_BYTES;
    fiber->stack_bytes = STACK_BYTES;
    getcontext(&fiber->start);
    fiber->start.uc_stack.ss_sp = fiber->stack;
    fiber->start.uc_stack.ss_size = STACK_BYTES;
    makecontext(&fiber->start, fiber_main, 0);
    return fiber;
}

/* The thread that runs now waits until the scheduler comes back to it. */
static void wait_in(enum state state)
{
    struct thread *self = &e->thread[e->current];

    self->state = state;
    change(self->fiber, &e->scheduler);
}

static const char *name_of(enum mtlm_warp_operation operation)
{
    return operation == MTLM_WARP_SYNC      ? "__syncwarp"
           : operation == MTLM_WARP_SHUFFLE ? "a shuffle"
                                            : "a vote";
}

static bool same_place(const struct thread *a, const struct thread *b)
{
    return a->state == b->state
           && (a->state == ENDED
               || (a->line == b->line && a->mask == b->mask
                   && (a->file == b->file || strcmp(a->file, b->file) == 0)));
}

/* Nobody can go on. */
static void __attribute__((noreturn)) report(void)
{
    for (int i = 0, first = 0; i < e->n_threads; i++) {
        const struct thread *t = &e->thread[i];

        if (i + 1 < e->n_threads && same_place(t, t + 1))
            continue;
        fprintf(stderr, "emulator: threads %d to %d: ", first, i);
        if (t->state == ENDED)
            fprintf(stderr, "ended\n");
        else if (t->state == AT_BARRIER)
            fprintf(stderr, "in __syncthreads at %s:%d\n", t->file, t->line);
        else
            fprintf(stderr, "in %s of mask %#x at %s:%d\n",
                    name_of(t->operation), t->mask, t->file, t->line);
        first = i + 1;
    }
    fail("its threads wait for each other in different places");
}

static unsigned lanes_of(int number)
{
    const int first = number / WARP * WARP, n = e->n_threads - first;

    return n < WARP ? (1u << n) - 1 : ~0u;
}

/* Does what the group of this waiting thread has come for, if all are there:
 * lanes that have ended need not come. */
static bool complete(int number)
{
    const struct thread *self = &e->thread[number];
    struct thread *warp = &e->thread[number / WARP * WARP];
    const unsigned lanes = self->mask & lanes_of(number);
    unsigned here = 0, votes = 0;

    for (unsigned n = 0; n < WARP; n++) {
        /* Those that run last first. */
        const unsigned i = mtlm_emulator_backwards ? n : WARP - 1 - n;
        const struct thread *t = &warp[i];

        if (lanes >> i & 1) {

            if (t->state == ENDED)
                continue;
            if (t->operation != self->operation || !same_place(t, self))
                return false;
            here |= 1u << i;
            votes |= (unsigned) (t->value != 0) << i;
        }
    }
    for (unsigned i = 0; i < WARP; i++)
        if (here >> i & 1) {
            struct thread *t = &warp[i];

            if (t->operation == MTLM_WARP_SHUFFLE && !(here >> t->from & 1))
                fail("lane %u takes a value from lane %u, which gives none, "
                     "at %s:%d",
                     i, t->from, t->file, t->line);
            t->result =
                t->operation == MTLM_WARP_SHUFFLE ? warp[t->from].value : votes;
            t->state = READY;
        }
    return true;
}

/* Nobody is ready: whose wait is over? */
static void release(void)
{
    bool together = true, any = false;

    for (int i = 0; i < e->n_threads; i++)
        together &= e->thread[i].state == AT_BARRIER
                    && same_place(&e->thread[i], &e->thread[0]);
    for (int i = 0; i < e->n_threads; i++)
        if (together)
            e->thread[i].state = READY;
        else if (e->thread[i].state == AT_WARP)
            any |= complete(i);
    if (!together && !any)
        report();
}

static void run_block(void)
{
    memset(e->shared, 0xff, e->shared_bytes);
    e->started = e->ended = 0;
    for (int i = 0; i < e->n_threads; i++)
        e->thread[i].state = NEW;
    while (e->ended < e->n_threads) {
        int ran = 0;

        for (int i = 0; i < e->n_threads; i++) {
            struct thread *t = &e->thread[in_order(i)];

            if (t->state == READY)
                enter(in_order(i));
            else if (t->state == NEW)
                start_next(e->n_idle ? e->idle[--e->n_idle] : new_fiber());
            else
                continue;
            change(&e->scheduler, t->fiber);
            ran++;
        }
        if (ran == 0)
            release();
    }
}

void mtlm_emulator_run(uint3 blocks, uint3 threads, size_t shared_bytes,
                       void (*thread)(void *arg), void *arg)
{
    const uint64_t n_threads = (uint64_t) threads.x * threads.y * threads.z;
    const uint64_t n = (uint64_t) blocks.x * blocks.y * blocks.z;

    if (n == 0 || blocks.x > INT32_MAX || blocks.y > 65535 || blocks.z > 65535)
        fail("no GPU takes a grid of %u x %u x %u", blocks.x, blocks.y,
             blocks.z);
    if (n_threads == 0 || n_threads > MAX_THREADS || threads.z > 64)
        fail("no GPU takes a block of %u x %u x %u", threads.x, threads.y,
             threads.z);
    if (shared_bytes > MAX_SHARED)
        fail("%zu bytes of shared memory: at most %d", shared_bytes,
             MAX_SHARED);
    if (!e) {
        e = map(sizeof(*e));
        e->shared_map = map(SHARED_MAP + GUARD_BYTES);
        if (mprotect(e->shared_map + SHARED_MAP, GUARD_BYTES, PROT_NONE))
            fail("cannot guard the shared memory");
        e->scheduler.started = true;
    }
    e->n_threads = (int) n_threads;
    e->shared_bytes =
        (shared_bytes + SHARED_ALIGN - 1) / SHARED_ALIGN * SHARED_ALIGN;
    e->shared = e->shared_map + SHARED_MAP - e->shared_bytes;
    e->function = thread;
    e->arg = arg;
    gridDim = blocks;
    blockDim = threads;
    for (unsigned i = 0; i < n_threads; i++)
        e->thread[i].index = (uint3){i % threads.x, i / threads.x % threads.y,
                                     i / (threads.x * threads.y)};
    for (uint64_t i = 0; i < n; i++) {
        const uint64_t b = mtlm_emulator_backwards ? n - 1 - i : i;

        blockIdx = (uint3){(unsigned) (b % blocks.x),
                           (unsigned) (b / blocks.x % blocks.y),
                           (unsigned) (b / blocks.x / blocks.y)};
        run_block();
    }
}

void *mtlm_emulator_shared(void)
{
    return e->shared;
}

void mtlm_emulator_barrier(const char *file, int line)
{
    struct thread *self = &e->thread[e->current];

    self->file = file;
    self->line = line;
    self->mask = 0;
    wait_in(AT_BARRIER);
}

unsigned mtlm_emulator_lane(void)
{
    return e->current % WARP;
}

unsigned mtlm_emulator_lanes(void)
{
    return lanes_of(e->current);
}

uint64_t mtlm_emulator_warp(enum mtlm_warp_operation operation, unsigned mask,
                            uint64_t value, unsigned from, const char *file,
                            int line)
{
    struct thread *self = &e->thread[e->current];

    if (!(mask >> mtlm_emulator_lane() & 1))
        fail("lane %u is not in its mask %#x at %s:%d", mtlm_emulator_lane(),
             mask, file, line);
    self->operation = operation;
    self->mask = mask;
    self->value = value;
    self->from = from;
    self->file = file;
    self->line = line;
    self->state = AT_WARP;
    if (!complete(e->current))
        wait_in(AT_WARP);
    return self->result;
}
