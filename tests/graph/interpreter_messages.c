#include "config.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/value16.h"
#include "tests/graph/interpreter_rank.h"

static bool in_group(const struct rank *rank, const struct rank *other,
                     enum mtlm_group group)
{
    return mtlm_layout_meet(&rank->program->config.layout,
                            &other->program->config.layout, group);
}

static double get(const void *p, enum mtlm_dtype dtype, int64_t i)
{
    float wide;

    if (mtlm_dtype_is_16_bit(dtype)) {
        mtlm_value16_widen(dtype, (const uint16_t *) p + i, 1, &wide);
        return wide;
    }
    return dtype == MTLM_F64 ? ((const double *) p)[i]
                             : ((const mtlm_real *) p)[i];
}

static void put(void *p, enum mtlm_dtype dtype, int64_t i, double value)
{
    const float single = value;

    if (mtlm_dtype_is_16_bit(dtype))
        mtlm_value16_round(dtype, &single, 1, (uint16_t *) p + i);
    else if (dtype == MTLM_F64)
        ((double *) p)[i] = value;
    else
        ((mtlm_real *) p)[i] = value;
}

/* Elements of the tensors that a node sends (or works on in place), or that it
 * only receives, as one message: to flat, or from it. */
static void move(struct interpreter *in, struct rank *rank, bool received,
                 double *flat, bool to_flat)
{
    const struct mtlm_item *item = interpreter_current(rank);
    const bool bucket = mtlm_ops[item->node->call.kind]->n_operands == 0;

    for (int i = 0; i < mtlm_node_n_uses(item->node); i++) {
        const struct mtlm_use use = mtlm_node_use(item->node, i);
        struct mtlm_tensor *t = use.tensor;
        const int64_t first = mtlm_node_use(item->node, 0).tensor->offset;
        double *at = flat
                     + (bucket ? (t->offset - first)
                                     / (int) mtlm_dtype_bytes(t->dtype)
                               : 0);
        void *p = interpreter_slot(rank, t, interpreter_use(in, item, t));

        if (use.control || (use.access == MTLM_W) != received)
            continue;
        for (int64_t e = 0; e < mtlm_shape_elems(&t->shape); e++)
            if (to_flat)
                at[e] = get(p, t->dtype, e);
            else
                put(p, t->dtype, e, at[e]);
    }
}

/* The ranks of a collective, in the order of their numbers in the group, and
 * what each of them sends [n]. */
struct meeting {
    struct rank *rank[16];
    int size;
    int64_t n;
    double *sent[16];
};

static void add_up(const struct meeting *m, const struct mtlm_node *node,
                   double *sum)
{
    const bool max = node->call.attr.collective.reduce == MTLM_REDUCE_MAX;
    const bool f64 = mtlm_node_use(node, 0).tensor->dtype == MTLM_F64;

    for (int64_t i = 0; i < m->n; i++) {
        sum[i] = m->sent[0][i];
        for (int r = 1; r < m->size; r++) {
            const double v = m->sent[r][i];

            if (max)
                sum[i] = v > sum[i] ? v : sum[i];
            else
                sum[i] = f64 ? sum[i] + v : (mtlm_real) (sum[i] + v);
        }
    }
}

/* The collective that all of the group have reached. */
static void meet(struct interpreter *in, struct meeting *m)
{
    const struct mtlm_node *node = interpreter_current(m->rank[0])->node;
    const enum mtlm_op_kind kind = node->call.kind;
    const bool in_place = kind == MTLM_OP_BUCKET_ALL_GATHER;
    const bool gather = in_place || kind == MTLM_OP_ALL_GATHER;
    const bool scatter =
        kind == MTLM_OP_REDUCE_SCATTER || kind == MTLM_OP_BUCKET_REDUCE_SCATTER;
    const int64_t count = mtlm_node_elems(node);
    double *result;

    m->n = in_place ? count * m->size : count;
    for (int r = 0; r < m->size; r++) {
        m->sent[r] = mtlm_calloc(m->n, sizeof(double));
        move(in, m->rank[r], false, m->sent[r], true);
    }
    result = mtlm_calloc(m->n * m->size, sizeof(*result));
    if (gather)
        for (int r = 0; r < m->size; r++)
            memcpy(result + r * count, m->sent[r] + (in_place ? r * count : 0),
                   count * sizeof(*result));
    else
        add_up(m, node, result);
    for (int r = 0; r < m->size; r++) {
        move(in, m->rank[r], scatter || kind == MTLM_OP_ALL_GATHER,
             result
                 + (kind == MTLM_OP_REDUCE_SCATTER ? r * (count / m->size) : 0),
             false);
        free(m->sent[r]);
        m->rank[r]->waiting = false;
        m->rank[r]->at++;
    }
    free(result);
}

bool interpreter_collective(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_node *node = interpreter_current(rank)->node;
    struct meeting meeting = {.size = 0};

    rank->waiting = true;
    for (int r = 0; r < in->n; r++) {
        struct rank *other = &in->rank[r];

        if (!in_group(rank, other, node->call.attr.collective.group))
            continue;
        if (!other->waiting
            || interpreter_current(other)->node->call.attr.collective.group
                   != node->call.attr.collective.group)
            return false;
        /* Their next one of this group must be the same. */
        assert(interpreter_current(other)->node->call.kind == node->call.kind
               && mtlm_node_elems(interpreter_current(other)->node)
                      == mtlm_node_elems(node));
        assert(meeting.size < 16);
        meeting.rank[meeting.size++] = other;
    }
    meet(in, &meeting);
    return true;
}

static int number(const struct interpreter *in, const struct rank *rank)
{
    return rank - in->rank;
}

bool interpreter_p2p(struct interpreter *in, struct rank *rank)
{
    const struct mtlm_item *item = interpreter_current(rank);
    const struct mtlm_node *node = item->node;
    const int peer = node->call.attr.p2p.peer;
    const int64_t tag =
        node->call.attr.p2p.tag + interpreter_use(in, item, NULL) * 1000;
    const size_t bytes = mtlm_tensor_bytes(node->operand[0]);
    void *p = interpreter_slot(rank, node->operand[0],
                               interpreter_use(in, item, NULL));

    if (node->call.kind == MTLM_OP_SEND) {
        struct mail *mail = mtlm_calloc(1, sizeof(*mail));

        *mail = (struct mail){number(in, rank), peer, tag,
                              mtlm_calloc(1, bytes), in->mail};
        memcpy(mail->data, p, bytes);
        in->mail = mail;
        rank->at++;
        return true;
    }
    for (struct mail **at = &in->mail; *at; at = &(*at)->next) {
        struct mail *mail = *at;

        if (mail->to == number(in, rank) && mail->from == peer
            && mail->tag == tag) {
            memcpy(p, mail->data, bytes);
            *at = mail->next;
            free(mail->data);
            free(mail);
            rank->at++;
            return true;
        }
    }
    return false;
}
