/* Copies past the caches: memory that is written is not read first. */
#ifndef MTLM_STREAM_H
#define MTLM_STREAM_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/* Copies bytes.  Only a copy to a multiple of 16 bytes goes past the caches. */
static inline void mtlm_stream_copy(void *to, const void *from, size_t bytes)
{
    size_t done = 0;

#ifdef __SSE2__
    if ((uintptr_t) to % sizeof(__m128i) == 0)
        for (; done + sizeof(__m128i) <= bytes; done += sizeof(__m128i))
            _mm_stream_si128(
                (__m128i *) ((char *) to + done),
                _mm_loadu_si128((const void *) ((const char *) from + done)));
#endif
    memcpy((char *) to + done, (const char *) from + done, bytes - done);
}

/* Ends copies: other threads see them before what this thread writes next. */
static inline void mtlm_stream_end(void)
{
#ifdef __SSE2__
    _mm_sfence();
#endif
}

#endif /* MTLM_STREAM_H */
