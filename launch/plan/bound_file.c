/* Writes stages and multipliers as JSON. */

#include "config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/predict/lp.h"
#include "launch/plan/bound_file.h"
#include "runtime/base/memory.h"
#include "runtime/file/output_file.h"

struct writer {
    struct mtlm_output_file *file;
    struct mtlm_error *err;
    uint32_t crc; /* CRC-32 of the text so far, inverted */
    int rc;
};

/* Source: ISO 3309, as in zlib. */
static uint32_t crc_after(uint32_t crc, const char *text)
{
    for (; *text; text++) {
        crc ^= (unsigned char) *text;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return crc;
}

static void write_text(struct writer *w, const char *text)
{
    w->crc = crc_after(w->crc, text);
    if (w->rc == 0)
        w->rc = mtlm_output_file_write(w->file, text, strlen(text), w->err);
}

/* Writes the text before a number, then the number. */
static void write_number(struct writer *w, const char *before, int64_t number)
{
    char *text = mtlm_sprintf("%s%lld", before, (long long) number);

    write_text(w, text);
    free(text);
}

/* A line for each stage: rank; ns of F, B and W; memory until B, until W. */
static void write_stages(struct writer *w, const struct mtlm_evaluate *c,
                         const struct mtlm_rank_memory *memory)
{
    for (int k = 0; k < mtlm_layout_stages(c->layout); k++) {
        int64_t until_backward, until_weight;

        mtlm_rank_memory_units(memory, k, &until_backward, &until_weight);
        write_number(w, k > 0 ? ",\n  [" : "\n  [",
                     mtlm_layout_pp_rank(c->layout, k));
        write_number(w, ", ", mtlm_rank_passes_ns(c->forward[k]));
        write_number(w, ", ", mtlm_rank_passes_ns(c->backward[k]));
        write_number(w, ", ", mtlm_rank_passes_ns(c->weight[k]));
        write_number(w, ", ", until_backward);
        write_number(w, ", ", until_weight);
        write_text(w, "]");
    }
}

/* Pairs: number of the row, multiplier. */
static void write_multipliers(struct writer *w,
                              const struct mtlm_lp_bound *bound)
{
    const char *before = "\n  [";

    for (int i = 0; i < bound->n; i++) {
        if (bound->multiplier[i] == 0)
            continue;
        write_number(w, before, i);
        write_number(w, ", ", llround(MTLM_LP_SCALE * bound->multiplier[i]));
        write_text(w, "]");
        before = ",\n  [";
    }
}

static void write_proof(struct writer *w, const struct mtlm_evaluate *c,
                        const struct mtlm_rank_memory *memory,
                        const struct mtlm_lp_bound *bound)
{
    write_number(w, "{\"mtlm_dag_bound\": ", 2);
    write_number(w, ", \"makespan_ns\": ", bound->makespan_ns);
    write_number(w, ", \"microbatches\": ", c->microbatches);
    write_number(w, ",\n \"hop_ns\": ", mtlm_rank_passes_ns(c->hop));
    write_number(w, ", \"fused\": ", c->schedule->fused);
    write_number(w, ", \"memory\": ", bound->passes.most_memory);
    write_number(w, ", \"rank\": ", bound->passes.rank);
    write_number(w, ", \"points\": ", bound->points);
    write_text(w, ",\n \"stages\": [");
    write_stages(w, c, memory);
    write_text(w, "],\n \"multipliers\": [");
    write_multipliers(w, bound);
    write_text(w, "],\n \"crc32\":");
    write_number(w, " ", (uint32_t) ~w->crc);
    write_text(w, "}\n");
}

int mtlm_bound_file_write(const char *path,
                          const struct mtlm_evaluate *pipeline,
                          const struct mtlm_rank_memory *memory,
                          const struct mtlm_lp_bound *bound,
                          struct mtlm_error *err)
{
    struct writer w = {.file = mtlm_output_file_create_in_place(path, err),
                       .err = err,
                       .crc = UINT32_MAX};

    if (!w.file)
        return -1;
    write_proof(&w, pipeline, memory, bound);
    return mtlm_output_file_end(w.file, w.rc, err);
}
