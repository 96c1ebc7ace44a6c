/* The prediction as JSON. */

#include "config.h"

#include <math.h>

#include "launch/simulate/prediction_json.h"

static json_t *number_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *exposed(const struct mtlm_exposure *e)
{
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "tensor_parallel",
                     e->message_s[MTLM_TRAFFIC_TP], "pipeline",
                     e->message_s[MTLM_TRAFFIC_PP], "data_parallel",
                     e->message_s[MTLM_TRAFFIC_DP], "embedding",
                     e->message_s[MTLM_TRAFFIC_EMBEDDING], "other",
                     e->message_s[MTLM_TRAFFIC_OTHER]);
}

static json_t *disk(const struct mtlm_prediction *p)
{
    const struct mtlm_exposure *e = &p->exposure;

    if (!mtlm_prediction_uses_disk(p))
        return json_null();
    return json_pack("{s:f, s:f, s:f, s:f, s:f}", "read_bytes", p->loaded_bytes,
                     "written_bytes", p->stored_bytes, "moving_s", e->moving_s,
                     "hidden_s", e->hidden_s, "exposed_s", e->disk_s);
}

json_t *mtlm_prediction_json(const struct mtlm_prediction *p,
                             json_t *assumptions)
{
    return json_pack(
        "{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o,"
        " s:f, s:i, s:f, s:o, s:f, s:o, s:o, s:f, s:o, s:I, s:I, s:i, s:i, "
        "s:i, s:s, "
        "s:s, s:f, s:o}",
        "iteration_s", p->iteration_s, "samples_per_s", p->samples_per_s,
        "tokens_per_s", p->tokens_per_s, "tflop_per_s_per_gpu",
        1e-12 * p->model_flop_per_s, "hardware_tflop_per_s_per_gpu",
        1e-12 * p->hardware_flop_per_s, "pflop_per_s",
        1e-15 * p->ranks * p->model_flop_per_s, "hardware_pflop_per_s",
        1e-15 * p->ranks * p->hardware_flop_per_s, "model_flops",
        p->model_flops, "hardware_flops", p->hardware_flops, "mfu",
        number_or_null(p->mfu), "hfu", number_or_null(p->hfu), "bubble",
        p->bubble, "busiest_pipeline_rank", p->busiest, "busiest_bubble",
        p->busiest_bubble, "exposed_s", exposed(&p->exposure), "waiting_s",
        p->exposure.waiting_s, "products_s", number_or_null(p->products_s),
        "disk", disk(p), "memory_bytes", p->memory_bytes, "memory_limit_bytes",
        number_or_null(p->limit_bytes > 0 ? p->limit_bytes : NAN),
        "micro_batch_size", (json_int_t) p->micro_batch, "microbatches",
        (json_int_t) p->microbatches, "virtual_stages",
        p->layout.virtual_stages, "evaluated_ranks", p->folded,
        "evaluated_nodes", p->nodes, "policy", p->policy, "engine",
        p->evaluated_s > 0 ? "starpu" : "evaluator", "evaluator_s",
        p->evaluated_s > 0 ? p->evaluated_s : p->iteration_s, "assumptions",
        assumptions);
}
