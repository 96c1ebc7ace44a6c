/* A ring of batches: the caller fills, threads encode, the caller writes. */
#include "config.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "launch/tools/encode_pool.h"
#include "launch/tools/tool.h"
#include "runtime/base/memory.h"

enum { BATCH_BYTES = 256 << 10 }; /* bytes of text in a batch, about */

struct piece {
    size_t bytes;
    int64_t tokens;
    enum mtlm_encode_end end;
};

/* Text and tokens that one thread encodes at once. */
struct batch {
    char *text;
    size_t bytes, room;
    size_t ended; /* bytes in pieces; the rest is the current text */
    struct piece *piece;
    size_t pieces, piece_room;
    int32_t *token; /* room for one per byte */
    size_t token_room;
    bool done; /* under the pool's lock */
};

/* Batch i mod ring is filled, encoded and written in turn. */
struct mtlm_encode_pool {
    const struct mtlm_tokenizer *tokenizer;
    struct mtlm_indexed_writer *writer;
    bool append_eod, sequence_ended;
    int64_t tokens;
    int workers, started;
    pthread_t *thread;
    struct batch *batch;   /* [ring] */
    int64_t ring, written; /* the caller's */
    pthread_mutex_t lock;  /* guards the fields that follow */
    pthread_cond_t filled_one, done_one;
    int64_t filled, taken;
    bool stop;
};

static void encode_batch(const struct mtlm_encode_pool *pool,
                         struct mtlm_word_cache *cache, struct batch *b)
{
    const char *text = b->text;
    int32_t *token = b->token;

    for (size_t i = 0; i < b->pieces; i++) {
        struct piece *p = &b->piece[i];

        p->tokens = pool->tokenizer->encode(pool->tokenizer, cache, text,
                                            (int64_t) p->bytes,
                                            p->end == MTLM_ENCODE_PART, token);
        text += p->bytes;
        token += p->tokens;
    }
}

static void *encode_batches(void *arg)
{
    struct mtlm_encode_pool *pool = arg;
    struct mtlm_word_cache *cache = mtlm_word_cache_create();

    pthread_mutex_lock(&pool->lock);
    for (;;) {
        struct batch *b;

        while (pool->taken == pool->filled && !pool->stop)
            pthread_cond_wait(&pool->filled_one, &pool->lock);
        if (pool->stop)
            break;
        b = &pool->batch[pool->taken++ % pool->ring];
        pthread_mutex_unlock(&pool->lock);
        encode_batch(pool, cache, b);
        pthread_mutex_lock(&pool->lock);
        b->done = true;
        pthread_cond_signal(&pool->done_one);
    }
    pthread_mutex_unlock(&pool->lock);
    mtlm_word_cache_destroy(cache);
    return NULL;
}

struct mtlm_encode_pool *mtlm_encode_pool_create(
    const struct mtlm_tokenizer *tokenizer, struct mtlm_indexed_writer *writer,
    int workers, bool append_eod)
{
    struct mtlm_encode_pool *pool = mtlm_calloc(1, sizeof(*pool));

    assert(workers >= 1 && workers <= MTLM_ENCODE_MOST_WORKERS);
    pool->tokenizer = tokenizer;
    pool->writer = writer;
    pool->append_eod = append_eod;
    pool->workers = workers;
    pool->ring = 2 * workers + 1;
    pool->batch = mtlm_calloc((size_t) pool->ring, sizeof(*pool->batch));
    pool->thread = mtlm_calloc((size_t) workers, sizeof(*pool->thread));
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->filled_one, NULL);
    pthread_cond_init(&pool->done_one, NULL);
    return pool;
}

/* Starts one more thread per batch up to the number of workers.  Fewer threads
 * are fine; none is an error. */
static int start_one(struct mtlm_encode_pool *pool, struct mtlm_error *err)
{
    int rc;

    if (pool->started == pool->workers)
        return 0;
    rc = pthread_create(&pool->thread[pool->started], NULL, encode_batches,
                        pool);
    if (rc == 0)
        pool->started++;
    else if (pool->started == 0)
        return mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                              "cannot start a thread: %s", strerror(rc));
    return 0;
}

/* As mtlm_grow(), with an error. */
static void *make_room(void *array, size_t *room, size_t n, size_t size,
                       struct mtlm_error *err)
{
    void *more = mtlm_grow(array, room, n, size);

    if (!more)
        mtlm_error_set(err, MTLM_EXIT_RESOURCE,
                       "no memory for the tokens of %zu bytes", n);
    return more;
}

static int write_piece(struct mtlm_encode_pool *pool, const struct piece *p,
                       const int32_t *token, struct mtlm_error *err)
{
    struct mtlm_indexed_writer *writer = pool->writer;

    if (p->tokens > 0) {
        /* The writer's last sequence stays open until the end of the
         * document. */
        if (pool->sequence_ended && mtlm_indexed_writer_pending(writer) > 0)
            mtlm_indexed_writer_end_sequence(writer);
        pool->sequence_ended = false;
        pool->tokens += p->tokens;
        if (mtlm_indexed_writer_add(writer, token, p->tokens, err) < 0)
            return -1;
    }
    pool->sequence_ended |= p->end == MTLM_ENCODE_SEQUENCE;
    if (p->end != MTLM_ENCODE_DOCUMENT)
        return 0;
    pool->sequence_ended = false;
    if (mtlm_indexed_writer_pending(writer) == 0)
        return 0;
    if (pool->append_eod) {
        pool->tokens++;
        if (mtlm_indexed_writer_add(writer, &pool->tokenizer->eod, 1, err) < 0)
            return -1;
    }
    mtlm_indexed_writer_end_document(writer);
    return 0;
}

/* Waits for the oldest batch, writes and empties it. */
static int write_oldest(struct mtlm_encode_pool *pool, struct mtlm_error *err)
{
    struct batch *b = &pool->batch[pool->written % pool->ring];
    const int32_t *token = b->token;

    pthread_mutex_lock(&pool->lock);
    while (!b->done)
        pthread_cond_wait(&pool->done_one, &pool->lock);
    b->done = false;
    pthread_mutex_unlock(&pool->lock);
    pool->written++;
    for (size_t i = 0; i < b->pieces; i++) {
        if (write_piece(pool, &b->piece[i], token, err) < 0)
            return -1;
        token += b->piece[i].tokens;
    }
    b->bytes = b->ended = b->pieces = 0;
    return 0;
}

/* The batch that the caller fills. */
static struct batch *current_batch(struct mtlm_encode_pool *pool)
{
    return &pool->batch[pool->filled % pool->ring];
}

/* Hands the current batch to the workers and empties the next one. */
static int hand_over(struct mtlm_encode_pool *pool, struct mtlm_error *err)
{
    struct batch *b = current_batch(pool);
    int32_t *token =
        make_room(b->token, &b->token_room, b->bytes, sizeof(*token), err);

    if (!token)
        return -1;
    b->token = token;
    if (start_one(pool, err) < 0)
        return -1;
    pthread_mutex_lock(&pool->lock);
    pool->filled++;
    pthread_cond_signal(&pool->filled_one);
    pthread_mutex_unlock(&pool->lock);
    return pool->filled - pool->written == pool->ring ? write_oldest(pool, err)
                                                      : 0;
}

int mtlm_encode_pool_add(struct mtlm_encode_pool *pool, const char *text,
                         size_t bytes, struct mtlm_error *err)
{
    struct batch *b = current_batch(pool);
    char *room = make_room(b->text, &b->room, b->bytes + bytes, 1, err);

    if (!room)
        return -1;
    b->text = room;
    memcpy(b->text + b->bytes, text, bytes);
    b->bytes += bytes;
    return 0;
}

int mtlm_encode_pool_end(struct mtlm_encode_pool *pool,
                         enum mtlm_encode_end end, struct mtlm_error *err)
{
    struct batch *b = current_batch(pool);
    struct piece *piece =
        make_room(b->piece, &b->piece_room, b->pieces + 1, sizeof(*piece), err);

    if (!piece)
        return -1;
    b->piece = piece;
    b->piece[b->pieces++] =
        (struct piece){.bytes = b->bytes - b->ended, .end = end};
    b->ended = b->bytes;
    return b->bytes >= BATCH_BYTES ? hand_over(pool, err) : 0;
}

int mtlm_encode_pool_finish(struct mtlm_encode_pool *pool,
                            struct mtlm_error *err)
{
    if (current_batch(pool)->pieces > 0 && hand_over(pool, err) < 0)
        return -1;
    while (pool->written < pool->filled)
        if (write_oldest(pool, err) < 0 || mtlm_tool_stopped(err) < 0)
            return -1;
    return 0;
}

int64_t mtlm_encode_pool_tokens(const struct mtlm_encode_pool *pool)
{
    return pool->tokens;
}

void mtlm_encode_pool_destroy(struct mtlm_encode_pool *pool)
{
    if (!pool)
        return;
    pthread_mutex_lock(&pool->lock);
    pool->stop = true;
    pthread_cond_broadcast(&pool->filled_one);
    pthread_mutex_unlock(&pool->lock);
    for (int i = 0; i < pool->started; i++)
        pthread_join(pool->thread[i], NULL);
    for (int64_t i = 0; i < pool->ring; i++) {
        free(pool->batch[i].text);
        free(pool->batch[i].piece);
        free(pool->batch[i].token);
    }
    pthread_cond_destroy(&pool->done_one);
    pthread_cond_destroy(&pool->filled_one);
    pthread_mutex_destroy(&pool->lock);
    free(pool->thread);
    free(pool->batch);
    free(pool);
}
