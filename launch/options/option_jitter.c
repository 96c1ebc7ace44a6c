/* The value of --jitter, from text and to text. */

#include "config.h"

#include <inttypes.h>
#include <string.h>

#include "launch/options/option_jitter.h"
#include "launch/options/option_number.h"

/* Bytes of a number's text. */
enum { NUMBER = 24 };

static bool parse_times(const char *text, double *times)
{
    return mtlm_option_number_real(text, 0.01, 1000, times);
}

/* Copies the text before `mark` to first[NUMBER].  Returns the text behind the
 * mark; NULL: there is no mark, or the text before is too long. */
static const char *cut(const char *text, char mark, char *first)
{
    const char *at = strchr(text, mark);

    if (!at || at - text >= NUMBER)
        return NULL;
    memcpy(first, text, at - text);
    first[at - text] = '\0';
    return at + 1;
}

/* CHANCExTIMES. */
static bool parse_transient(const char *text, struct mtlm_noise *noise)
{
    char chance[NUMBER];
    const char *times = cut(text, 'x', chance);

    return times && noise->times == 0
           && mtlm_option_number_real(chance, 0, 1, &noise->chance)
           && parse_times(times, &noise->times);
}

/* RANK:TIMES. */
static bool parse_rank(const char *text, struct mtlm_noise *noise)
{
    struct mtlm_noise_rank *r = &noise->rank[noise->ranks];
    char rank[NUMBER];
    const char *times = cut(text, ':', rank);

    if (!times || noise->ranks == MTLM_NOISE_RANKS
        || !mtlm_option_number_int(rank, 0, INT32_MAX, &r->rank)
        || !parse_times(times, &r->times))
        return false;
    for (int i = 0; i < noise->ranks; i++)
        if (noise->rank[i].rank == r->rank)
            return false;
    noise->ranks++;
    return true;
}

/* Parses a part behind the first one. */
static bool parse_part(const char *part, struct mtlm_noise *noise)
{
    static const char transient[] = "transient=", rank[] = "rank=";

    if (strncmp(part, transient, strlen(transient)) == 0)
        return parse_transient(part + strlen(transient), noise);
    if (strncmp(part, rank, strlen(rank)) == 0)
        return parse_rank(part + strlen(rank), noise);
    return false;
}

bool mtlm_option_jitter_parse(const char *text, struct mtlm_noise *noise)
{
    struct mtlm_noise found = {0};

    for (bool first = true;; first = false) {
        const size_t n = strcspn(text, ",");
        char part[3 * NUMBER];

        if (n >= sizeof(part))
            return false;
        memcpy(part, text, n);
        part[n] = '\0';
        if (first ? !mtlm_option_number_real(part, 0, 1, &found.sigma)
                  : !parse_part(part, &found))
            return false;
        if (!text[n])
            break;
        text += n + 1;
    }
    *noise = found;
    return true;
}

void mtlm_option_jitter_write(const struct mtlm_noise *noise, FILE *out)
{
    mtlm_option_number_write(noise->sigma, out);
    if (noise->times > 0) {
        fputs(",transient=", out);
        mtlm_option_number_write(noise->chance, out);
        fputc('x', out);
        mtlm_option_number_write(noise->times, out);
    }
    for (int i = 0; i < noise->ranks; i++) {
        fprintf(out, ",rank=%" PRId64 ":", noise->rank[i].rank);
        mtlm_option_number_write(noise->rank[i].times, out);
    }
}
