/* Prints the disk of a plan: files, bytes of an iteration, free room, time. */

#include "config.h"

#include <stdlib.h>

#include "launch/options/options_offload.h"
#include "launch/plan/disk_note.h"
#include "launch/plan/offload_forecast.h"
#include "launch/plan/plan_disk.h"
#include "runtime/base/units.h"
#include "runtime/file/offload_dir.h"

/* Prints the time of an iteration, if this machine's rates can be measured. */
static void print_forecast(const struct mtlm_options *options,
                           const struct mtlm_program_config *config,
                           const struct mtlm_outline *outline, int per_host,
                           FILE *out)
{
    const struct mtlm_offload_rates rates =
        mtlm_offload_forecast_measure(options);
    struct mtlm_offload_forecast forecast;
    double tasks = 0;

    for (int i = 0; i < outline->layout.pp; i++)
        tasks += (double) outline->plan[i].tasks;
    if (mtlm_offload_forecast_make(config, &rates, per_host, tasks, &forecast))
        mtlm_offload_forecast_print(&forecast, &rates, config->layout.workers,
                                    "At the rates of this machine ", out);
}

void mtlm_plan_disk(const struct mtlm_options *options,
                    const struct mtlm_program_config *config,
                    const struct mtlm_outline *outline, int per_host, FILE *out)
{
    const struct mtlm_layout *l = &outline->layout;
    const int ranks = l->tp * l->dp; /* of a stage */
    double all = 0, busiest = 0, room;
    char *dir, *note;

    for (int i = 0; i < l->pp; i++) {
        const struct mtlm_plan *p = &outline->plan[i];
        const double moved = p->loaded_bytes + p->stored_bytes;

        all += ranks * p->file_bytes;
        busiest = moved > busiest ? moved : busiest;
    }
    if (all == 0)
        return;
    dir = mtlm_options_offload_dir(options);
    room = mtlm_offload_dir_room(dir);
    fprintf(out,
            "\nDisk of a rank in MiB: the file, and per iteration read and "
            "written\n%-9s %10s %10s %10s\n",
            "stage", "file", "read", "written");
    for (int i = 0; i < l->pp; i++) {
        const struct mtlm_plan *p = &outline->plan[i];

        fprintf(out, "%-9d %10.1f %10.1f %10.1f\n", i, p->file_bytes / MTLM_MIB,
                p->loaded_bytes / MTLM_MIB, p->stored_bytes / MTLM_MIB);
    }
    fprintf(out,
            "%d rank%s: %.2f GiB in %s, where %.2f GiB are free; a disk of "
            "1 GB/s moves the fullest rank's bytes of an iteration in %.3g s\n",
            mtlm_layout_ranks(l), mtlm_layout_ranks(l) > 1 ? "s" : "",
            all / MTLM_GIB, dir, room > 0 ? room / MTLM_GIB : 0, busiest / 1e9);
    note = mtlm_disk_note(dir);
    if (note)
        fprintf(out, "%s\n", note);
    free(note);
    free(dir);
    print_forecast(options, config, outline, per_host, out);
}
