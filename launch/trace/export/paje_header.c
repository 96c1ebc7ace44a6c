/* Writes the header of paje.trace. */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "launch/trace/export/paje_header.h"

/* Fields of an event: "NAME\tTYPE", ended by NULL. */
#define TIME "Time\tdate"
#define CONTAINER "Container\tstring"
#define TYPE "Type\tstring"
#define VALUE "Value\tstring"
#define ALIAS "Alias\tstring"
#define NAME "Name\tstring"

static const struct {
    enum mtlm_paje_event event;
    const char *name;
    const char *field[17];
} events[] = {
    {MTLM_PAJE_CONTAINER_TYPE, "PajeDefineContainerType", {ALIAS, TYPE, NAME}},
    {MTLM_PAJE_EVENT_TYPE, "PajeDefineEventType", {ALIAS, TYPE, NAME}},
    {MTLM_PAJE_STATE_TYPE, "PajeDefineStateType", {ALIAS, TYPE, NAME}},
    {MTLM_PAJE_VARIABLE_TYPE, "PajeDefineVariableType", {ALIAS, TYPE, NAME}},
    {MTLM_PAJE_VALUE,
     "PajeDefineEntityValue",
     {ALIAS, TYPE, NAME, "Color\tcolor"}},
    {MTLM_PAJE_CREATE,
     "PajeCreateContainer",
     {TIME, ALIAS, TYPE, CONTAINER, NAME}},
    {MTLM_PAJE_DESTROY, "PajeDestroyContainer", {TIME, NAME, TYPE}},
    {MTLM_PAJE_STATE, "PajeSetState", {TIME, TYPE, CONTAINER, VALUE}},
    {MTLM_PAJE_VARIABLE,
     "PajeSetVariable",
     {TIME, TYPE, CONTAINER, "Value\tdouble"}},
    {MTLM_PAJE_TASK,
     "PajeSetState",
     {TIME, TYPE, CONTAINER, VALUE, "Size\tstring", "Params\tstring",
      "Footprint\tstring", "Tag\tstring", "JobId\tstring",
      "SubmitOrder\tstring", "GFlop\tstring", "X\tstring", "Y\tstring",
      "Iteration\tstring", "Subiteration\tstring", "NumaNodes\tstring"}},
    {MTLM_PAJE_MESSAGE,
     "PajeNewEvent",
     {TIME, TYPE, CONTAINER, VALUE, "JobId\tstring", "Peer\tstring",
      "Bytes\tstring", "Wait\tstring", "Transfer\tstring"}},
};

/* Types: alias, parent, name. */
static const char types[] = "1\tMPIP\t0\t\"MPI Program\"\n"
                            "1\tP\tMPIP\t\"Program\"\n"
                            "1\tW\tP\t\"Worker\"\n"
                            "1\tMPICt\tP\t\"MPI Communication Thread\"\n"
                            "1\tSc\tP\t\"Scheduler\"\n"
                            "2\tM\tMPICt\t\"Message\"\n"
                            "3\tS\tW\t\"Worker State\"\n"
                            "3\tCtS\tMPICt\t\"Communication Thread State\"\n"
                            "4\tnsub\tSc\t\"Number of Submitted Uncompleted "
                            "Tasks\"\n"
                            "4\tnready\tSc\t\"Number of Ready Tasks\"\n"
                            "4\tgf\tW\t\"GFlops\"\n"
                            "6\tI\tS\tIdle\t\"0.93 0.93 0.93\"\n"
                            "6\tCI\tCtS\tIdle\t\"0.93 0.93 0.93\"\n";

static void put_color(FILE *f, uint32_t color)
{
    fprintf(f, "\"%.3f %.3f %.3f\"", (color >> 16) / 255.0,
            (color >> 8 & 0xff) / 255.0, (color & 0xff) / 255.0);
}

static bool computes(const struct mtlm_trace_track *track)
{
    return track->lane == MTLM_LANE_COMPUTE;
}

void mtlm_paje_header_put(FILE *f, const struct mtlm_trace_records *records,
                          const uint32_t color[MTLM_OP_COUNT])
{
    bool seen[MTLM_OP_COUNT] = {0};

    for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
        fprintf(f, "%%EventDef\t%s\t%d\n", events[i].name, events[i].event);
        for (const char *const *field = events[i].field; *field; field++)
            fprintf(f, "%%\t%s\n", *field);
        fputs("%EndEventDef\n", f);
    }
    fputs(types, f);
    for (size_t i = 0; i < records->n; i++) {
        const struct mtlm_record *r = &records->record[i];
        const char *name = mtlm_trace_op_name(r);

        if (seen[r->op])
            continue;
        seen[r->op] = true;
        fprintf(f, "%d\t%s\t%s\t%s\t", MTLM_PAJE_VALUE, name,
                r->lane == MTLM_LANE_COMPUTE ? "S" : "CtS", name);
        put_color(f, color[r->op]);
        putc('\n', f);
    }
}

void mtlm_paje_header_put_program(FILE *f, int rank)
{
    fprintf(f, "%d_program", rank);
}

void mtlm_paje_header_put_scheduler(FILE *f, int rank)
{
    fprintf(f, "%d_scheduler", rank);
}

/* Writes "CPU0" for "CPU 0" and "CUDA0" for "GPU 0": after the rank, StarVZ
 * expects CPU or CUDA. */
static void put_worker(FILE *f, const struct mtlm_trace_info *info,
                       const struct mtlm_trace_track *track)
{
    const char *device = mtlm_trace_device(info, track->rank, track->worker);
    const bool gpu = device && strncmp(device, "GPU", 3) == 0;

    if (!device
        || (!gpu && strncmp(device, "CPU", 3) && strncmp(device, "CUDA", 4))) {
        fprintf(f, "CPU%d", track->worker);
        return;
    }
    if (gpu)
        fputs("CUDA", f);
    for (const char *c = device + (gpu ? 3 : 0); *c; c++)
        if (isalnum((unsigned char) *c))
            putc(*c, f);
}

void mtlm_paje_header_put_track(FILE *f, const struct mtlm_trace_info *info,
                                const struct mtlm_trace_track *track)
{
    fprintf(f, "%d_", track->rank);
    if (computes(track))
        put_worker(f, info, track);
    else
        fputs(mtlm_trace_lane_name(track->lane), f);
    if (track->number > 0)
        fprintf(f, computes(track) ? "_%d" : "%d", track->number + 1);
    if (!computes(track))
        fputs("mpict", f);
}

const char *mtlm_paje_header_type(const struct mtlm_trace_track *track)
{
    return computes(track) ? "W" : "MPICt";
}

const char *mtlm_paje_header_state_type(const struct mtlm_trace_track *track)
{
    return computes(track) ? "S" : "CtS";
}
