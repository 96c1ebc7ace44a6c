/* A background thread that does one piece of work at a time. */

#include "config.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/machine/background.h"

struct mtlm_background {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards what follows */
    pthread_cond_t changed;
    void (*work)(void *arg); /* NULL: none */
    void *arg;
    bool quit;
};

static void *run_thread(void *arg)
{
    struct mtlm_background *b = arg;

    pthread_mutex_lock(&b->mutex);
    while (b->work || !b->quit) {
        if (!b->work) {
            pthread_cond_wait(&b->changed, &b->mutex);
            continue;
        }
        pthread_mutex_unlock(&b->mutex);
        b->work(b->arg);
        pthread_mutex_lock(&b->mutex);
        b->work = NULL;
        pthread_cond_broadcast(&b->changed);
    }
    pthread_mutex_unlock(&b->mutex);
    return NULL;
}

struct mtlm_background *mtlm_background_create(void)
{
    struct mtlm_background *b = mtlm_calloc(1, sizeof(*b));
    sigset_t all, before;
    int rc;

    pthread_mutex_init(&b->mutex, NULL);
    pthread_cond_init(&b->changed, NULL);
    sigfillset(&all);
    /* The reader of a mapped file that shrinks must get the signal. */
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGSEGV);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    rc = pthread_create(&b->thread, NULL, run_thread, b);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        mtlm_fatal(__FILE__, __LINE__, "cannot start a thread");
    return b;
}

void mtlm_background_wait(struct mtlm_background *b)
{
    pthread_mutex_lock(&b->mutex);
    while (b->work)
        pthread_cond_wait(&b->changed, &b->mutex);
    pthread_mutex_unlock(&b->mutex);
}

void mtlm_background_start(struct mtlm_background *b, void (*work)(void *arg),
                           void *arg)
{
    mtlm_background_wait(b);
    pthread_mutex_lock(&b->mutex);
    b->work = work;
    b->arg = arg;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
}

bool mtlm_background_done(struct mtlm_background *b)
{
    bool done;

    pthread_mutex_lock(&b->mutex);
    done = !b->work;
    pthread_mutex_unlock(&b->mutex);
    return done;
}

void mtlm_background_destroy(struct mtlm_background *b)
{
    if (!b)
        return;
    mtlm_background_wait(b);
    pthread_mutex_lock(&b->mutex);
    b->quit = true;
    pthread_cond_broadcast(&b->changed);
    pthread_mutex_unlock(&b->mutex);
    pthread_join(b->thread, NULL);
    pthread_cond_destroy(&b->changed);
    pthread_mutex_destroy(&b->mutex);
    free(b);
}
