/* A file that holds pieces of memory, with checksums. */

#include "config.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <xxhash.h>

#include "runtime/base/clock.h"
#include "runtime/base/memory.h"
#include "runtime/base/round_up.h"
#include "runtime/base/units.h"
#include "runtime/file/block_file.h"
#include "runtime/file/offload_file.h"

struct offload_piece {
    int64_t offset, bytes;
    bool written;
    XXH64_hash_t hash; /* of a written piece */
    void *kept;        /* its bytes, which the disk refused; else NULL */
};

struct mtlm_offload_file {
    char *dir;
    struct mtlm_block_file *file;
    int64_t bytes;
    struct offload_piece *piece; /* [n] */
    int n;
};

int64_t mtlm_offload_file_padded(int64_t bytes)
{
    return mtlm_round_up(bytes, MTLM_OFFLOAD_ALIGN);
}

/* ---- creation ---- */

static bool lacks_room(int reason)
{
    return reason == ENOSPC || reason == EDQUOT || reason == EFBIG;
}

static int open_file(struct mtlm_offload_file *file, struct mtlm_error *err)
{
    file->file = mtlm_block_file_create(file->dir, file->bytes);
    if (file->file)
        return 0;
    if (lacks_room(errno))
        return mtlm_error_set(err, MTLM_EXIT_USAGE,
                              "%s: no room for the %.3f GiB of a rank's "
                              "offloaded state: %s",
                              file->dir, file->bytes / MTLM_GIB,
                              strerror(errno));
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: no file for offloaded state: %s", file->dir,
                          strerror(errno));
}

struct mtlm_offload_file *mtlm_offload_file_create(const char *dir,
                                                   const int64_t *bytes, int n,
                                                   struct mtlm_error *err)
{
    struct mtlm_offload_file *file = mtlm_calloc(1, sizeof(*file));

    file->dir = mtlm_strdup(dir);
    file->piece = mtlm_calloc(n, sizeof(*file->piece));
    file->n = n;
    for (int i = 0; i < n; i++) {
        file->piece[i].offset = file->bytes;
        file->piece[i].bytes = bytes[i];
        file->bytes += mtlm_offload_file_padded(bytes[i]);
    }
    if (open_file(file, err) == 0)
        return file;
    mtlm_offload_file_destroy(file);
    return NULL;
}

void mtlm_offload_file_destroy(struct mtlm_offload_file *file)
{
    if (!file)
        return;
    mtlm_block_file_destroy(file->file);
    for (int i = 0; i < file->n; i++)
        free(file->piece[i].kept);
    free(file->piece);
    free(file->dir);
    free(file);
}

bool mtlm_offload_file_is_direct(const struct mtlm_offload_file *file)
{
    return mtlm_block_file_is_direct(file->file);
}

bool mtlm_offload_file_has_rings(const struct mtlm_offload_file *file)
{
    return mtlm_block_file_has_rings(file->file);
}

/* ---- speed ---- */

static void *get_aligned(int64_t bytes)
{
    void *memory = aligned_alloc(MTLM_OFFLOAD_ALIGN, bytes);

    if (!memory)
        mtlm_out_of_memory(bytes);
    return memory;
}

/* Bytes of a request, and of all requests of a measurement at least and at
 * most; seconds after which a measurement ends. */
enum {
    REQUEST = 16 << 20,
    LEAST_MEASURED = 4 << 20,
    MOST_MEASURED = 128 << 20,
    LONGEST = 2
};

/* Writes or reads the first bytes of the file, all in `bytes` or until the time
 * is over.  Sets *speed, in bytes per second; 0: a request failed.  Returns how
 * many bytes. */
static int64_t measure(struct mtlm_offload_file *file, bool writes,
                       void *memory, int64_t bytes, double *speed)
{
    const int64_t begin = mtlm_now_ns();
    int64_t done = 0, ns = 0;

    while (done < bytes && ns < INT64_C(1000000000) * LONGEST) {
        const int64_t n = bytes - done < REQUEST ? bytes - done : REQUEST;

        if (mtlm_block_file_transfer(file->file, writes, memory, n, done) < 0)
            return 0;
        if (writes)
            mtlm_block_file_drop_cache(file->file);
        done += n;
        ns = mtlm_now_ns() - begin;
    }
    *speed = 1e9 * (double) done / (double) (ns + 1);
    return done;
}

struct mtlm_offload_speed mtlm_offload_file_speed(
    struct mtlm_offload_file *file)
{
    const int64_t bytes =
        file->bytes < MOST_MEASURED ? file->bytes : MOST_MEASURED;
    struct mtlm_offload_speed speed = {0};
    int64_t written;
    char *memory;

    if (bytes < LEAST_MEASURED)
        return speed;
    memory = get_aligned(REQUEST);
    memset(memory, 1, REQUEST);
    written = measure(file, true, memory, bytes, &speed.written);
    measure(file, false, memory, written, &speed.read);
    free(memory);
    return speed;
}

static int64_t end_of(const struct offload_piece *piece)
{
    return piece->offset + mtlm_offload_file_padded(piece->bytes);
}

/* ---- pieces ---- */

/* Replaces what is kept of the piece; NULL: nothing. */
static void keep(struct offload_piece *piece, const void *memory)
{
    free(piece->kept);
    piece->kept = NULL;
    if (!memory)
        return;
    piece->kept = mtlm_calloc(1, piece->bytes);
    memcpy(piece->kept, memory, piece->bytes);
}

int mtlm_offload_file_write(struct mtlm_offload_file *file, int first, int n,
                            const void *memory, struct mtlm_error *err)
{
    const struct offload_piece *begin = &file->piece[first];
    const char *p = memory;
    int rc, reason;

    assert(first >= 0 && n > 0 && first + n <= file->n);
    rc = mtlm_block_file_transfer(file->file, true, (void *) p,
                                  end_of(begin + n - 1) - begin->offset,
                                  begin->offset);
    reason = errno;
    for (int i = first; i < first + n; i++) {
        struct offload_piece *piece = &file->piece[i];
        const char *at = p + (piece->offset - begin->offset);

        piece->hash = XXH3_64bits(at, piece->bytes);
        piece->written = true;
        keep(piece, rc < 0 ? at : NULL);
    }
    if (rc == 0)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: offloaded state cannot be written: %s",
                          file->dir, strerror(reason ? reason : EIO));
}

static int verify(const struct mtlm_offload_file *file,
                  const struct offload_piece *piece, const void *memory,
                  struct mtlm_error *err)
{
    if (XXH3_64bits(memory, piece->bytes) == piece->hash)
        return 0;
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: offloaded state came back changed: the disk "
                          "returned other bytes than were written there "
                          "(%" PRId64 " bytes at byte %" PRId64 ")",
                          file->dir, piece->bytes, piece->offset);
}

static int cannot_read(const struct mtlm_offload_file *file,
                       struct mtlm_error *err)
{
    return mtlm_error_set(err, MTLM_EXIT_IO,
                          "%s: offloaded state cannot be read: %s", file->dir,
                          errno ? strerror(errno) : "the file is cut short");
}

/* Returns the end of the pieces from i on, before `end`, that lie on the
 * disk. */
static int end_on_disk(const struct mtlm_offload_file *file, int i, int end)
{
    while (i < end && file->piece[i].written && !file->piece[i].kept)
        i++;
    return i;
}

/* Reads pieces [first, end), all on the disk. */
static int read_disk(struct mtlm_offload_file *file, int first, int end,
                     char *memory, struct mtlm_error *err)
{
    const struct offload_piece *begin = &file->piece[first];

    if (mtlm_block_file_transfer(file->file, false, memory,
                                 end_of(&file->piece[end - 1]) - begin->offset,
                                 begin->offset)
        < 0)
        return cannot_read(file, err);
    for (int i = first; i < end; i++)
        if (verify(file, &file->piece[i],
                   memory + (file->piece[i].offset - begin->offset), err)
            < 0)
            return -1;
    return 0;
}

int mtlm_offload_file_read(struct mtlm_offload_file *file, int first, int n,
                           void *memory, struct mtlm_error *err)
{
    const int64_t begin = file->piece[first].offset;
    const int end = first + n;

    assert(first >= 0 && n > 0 && end <= file->n);
    for (int i = first, next; i < end; i = next) {
        const struct offload_piece *piece = &file->piece[i];
        char *at = (char *) memory + (piece->offset - begin);

        next = end_on_disk(file, i, end);
        if (next > i) {
            if (read_disk(file, i, next, at, err) < 0)
                return -1;
            continue;
        }
        next = i + 1;
        if (piece->kept)
            memcpy(at, piece->kept, piece->bytes);
        else
            memset(at, 0, piece->bytes);
    }
    return 0;
}

void mtlm_offload_file_clear(struct mtlm_offload_file *file, int first, int n)
{
    assert(first >= 0 && n > 0 && first + n <= file->n);
    for (int i = first; i < first + n; i++) {
        file->piece[i].written = false;
        keep(&file->piece[i], NULL);
    }
}

/* ---- bytes of pieces, anywhere in memory ---- */

/* A part of a piece, and an aligned buffer for the whole piece. */
struct piece_part {
    int piece;
    int64_t offset, bytes;
    char *buffer;
};

/* Returns the part of the piece that a transfer of bytes at offset covers. */
static struct piece_part part_of(const struct mtlm_offload_file *file,
                                 int piece, int64_t offset, int64_t bytes)
{
    const int64_t all = file->piece[piece].bytes;

    return (struct piece_part){
        .piece = piece,
        .offset = offset,
        .bytes = bytes < all - offset ? bytes : all - offset,
        .buffer = get_aligned(mtlm_offload_file_padded(all))};
}

/* Bytes of the piece outside of the part stay. */
static int put_part(struct mtlm_offload_file *file,
                    const struct piece_part *part, const char *memory,
                    struct mtlm_error *err)
{
    const int64_t all = file->piece[part->piece].bytes;
    const int64_t padded = mtlm_offload_file_padded(all);

    memset(part->buffer + all, 0, padded - all);
    if (part->bytes < all
        && mtlm_offload_file_read(file, part->piece, 1, part->buffer, err) < 0)
        return -1;
    memcpy(part->buffer + part->offset, memory, part->bytes);
    return mtlm_offload_file_write(file, part->piece, 1, part->buffer, err);
}

static int get_part(struct mtlm_offload_file *file,
                    const struct piece_part *part, char *memory,
                    struct mtlm_error *err)
{
    if (mtlm_offload_file_read(file, part->piece, 1, part->buffer, err) < 0)
        return -1;
    memcpy(memory, part->buffer + part->offset, part->bytes);
    return 0;
}

int mtlm_offload_file_put(struct mtlm_offload_file *file, int piece,
                          int64_t offset, const void *memory, int64_t bytes,
                          struct mtlm_error *err)
{
    const char *at = memory;
    int rc = 0;

    for (; bytes > 0 && rc == 0; piece++, offset = 0) {
        const struct piece_part part = part_of(file, piece, offset, bytes);

        rc = put_part(file, &part, at, err);
        free(part.buffer);
        at += part.bytes;
        bytes -= part.bytes;
    }
    return rc;
}

int mtlm_offload_file_get(struct mtlm_offload_file *file, int piece,
                          int64_t offset, void *memory, int64_t bytes,
                          struct mtlm_error *err)
{
    char *at = memory;
    int rc = 0;

    for (; bytes > 0 && rc == 0; piece++, offset = 0) {
        const struct piece_part part = part_of(file, piece, offset, bytes);

        rc = get_part(file, &part, at, err);
        free(part.buffer);
        at += part.bytes;
        bytes -= part.bytes;
    }
    return rc;
}
