/* Chains the boxes of each lane of a rank by a slot of an ordering tensor. */

#include "config.h"

#include "graph/build/turn.h"

static bool computes(const struct mtlm_node *node)
{
    const enum mtlm_op_class class = mtlm_ops[node->call.kind]->op_class;

    return class == MTLM_CLASS_COMPUTE || class == MTLM_CLASS_HOST;
}

static void take_turns(const struct mtlm_list *list, struct mtlm_tensor *turn)
{
    bool first = true;

    for (int i = 0; i < list->n; i++)
        if (computes(list->node[i])) {
            mtlm_node_add_use(list->node[i], turn, first ? MTLM_RW : MTLM_R,
                              true);
            first = false;
        }
}

void mtlm_turn_apply(struct mtlm_program *program)
{
    const struct mtlm_box_order *order = program->config.order;
    struct mtlm_graph *graph = program->graph;
    struct mtlm_tensor *turn;

    graph->stage = -1;
    turn = mtlm_graph_tensor(graph, MTLM_STORE_CONTROL, "turn", MTLM_SHAPE(1),
                             MTLM_F64);
    turn->by_lane = order->lane;
    turn->slots = mtlm_order_lanes(order, program->config.layout.pp_rank);
    for (int c = 0; c < program->config.layout.virtual_stages; c++) {
        const struct mtlm_stage *stage = &program->stage[c];

        take_turns(&stage->forward, turn);
        take_turns(&stage->backward, turn);
        take_turns(&stage->weight, turn);
    }
}
