/* Forecasts an iteration with a disk at rates measured on this machine. */

#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codelets/speed.h"
#include "graph/predict/pipeline_programs.h"
#include "launch/options/options_offload.h"
#include "launch/plan/offload_forecast.h"
#include "runtime/base/memory.h"
#include "runtime/file/disk.h"

/* Iterations of more tasks are not evaluated: a start should not take long. */
enum { MOST_TASKS = 2000000 };

/* Bytes that a measurement writes, and reads again. */
enum { MEASURED = 128 << 20 };

/* ---- rates ---- */

/* Returns dir, or the nearest directory above that exists.  The caller frees
 * the text. */
static char *nearest_dir(const char *dir)
{
    char *path = mtlm_disk_absolute(dir), *end;
    struct stat about;

    while (stat(path, &about) < 0 && (end = strrchr(path, '/')) && end > path)
        *end = '\0';
    return path;
}

static struct mtlm_offload_speed measure_disk(const struct mtlm_options *o)
{
    const int64_t bytes = MEASURED;
    char *dir = mtlm_options_offload_dir(o);
    char *nearest = nearest_dir(dir);
    struct mtlm_offload_speed speed = {0};
    struct mtlm_error ignored;
    struct mtlm_offload_file *file =
        mtlm_offload_file_create(nearest, &bytes, 1, &ignored);

    if (file)
        speed = mtlm_offload_file_speed(file);
    mtlm_offload_file_destroy(file);
    free(nearest);
    free(dir);
    return speed;
}

double mtlm_offload_forecast_flops(const struct mtlm_options *options)
{
    const struct mtlm_model *model = &options->model;

    return mtlm_speed_flops(options->bf16,
                            options->micro_batch_size * model->seq_length,
                            model->hidden_size);
}

struct mtlm_offload_rates mtlm_offload_forecast_measure(
    const struct mtlm_options *options)
{
    return (struct mtlm_offload_rates){mtlm_offload_forecast_flops(options),
                                       measure_disk(options)};
}

/* ---- the iteration ---- */

static struct mtlm_cluster machine_of(const struct mtlm_offload_rates *rates,
                                      int per_host)
{
    struct mtlm_cluster machine = mtlm_cluster_usual;

    machine.flops_per_s = rates->flops_per_s;
    machine.devices = per_host;
    machine.disk = (struct mtlm_disk){rates->speed.read, rates->speed.written};
    return machine;
}

/* Returns the rank whose workers compute longest. */
static int busiest_of(const struct mtlm_execution *run, int ranks)
{
    double *busy = mtlm_exposure_busy(run, ranks);
    const int most = mtlm_exposure_busiest(busy, ranks);

    free(busy);
    return most;
}

bool mtlm_offload_forecast_make(const struct mtlm_program_config *config,
                                const struct mtlm_offload_rates *rates,
                                int per_host, double tasks,
                                struct mtlm_offload_forecast *forecast)
{
    const struct mtlm_cluster machine = machine_of(rates, per_host);
    struct mtlm_pipeline_programs programs;
    struct mtlm_evaluate_program job;
    struct mtlm_execution run;
    int rank;

    if (config->eval_only || tasks > MOST_TASKS || rates->speed.read <= 0
        || rates->speed.written <= 0)
        return false;
    programs = mtlm_pipeline_programs_create(config, &machine);
    job = mtlm_pipeline_programs_job(&programs, 0);
    run = mtlm_evaluate_program(&job);
    rank = busiest_of(&run, programs.n);
    *forecast = (struct mtlm_offload_forecast){
        .iteration_s = 1e-9 * run.makespan_ns,
        .products_s = mtlm_cost_product_flops(programs.program[rank])
                      / (rates->flops_per_s * config->layout.workers),
        .exposure = mtlm_exposure_find(&run, rank)};
    mtlm_execution_free(&run);
    mtlm_pipeline_programs_free(&programs);
    return true;
}

void mtlm_offload_forecast_print(const struct mtlm_offload_forecast *forecast,
                                 const struct mtlm_offload_rates *rates,
                                 int workers, const char *begin, FILE *out)
{
    const struct mtlm_exposure *e = &forecast->exposure;

    fprintf(out,
            "%san iteration takes about %.3g s: matrix products %.3g s at %.3g "
            "GFLOP/s (%.0f %%, the share of the GEMM floor); the disk %.3g s "
            "at %.0f MB/s read, %.0f MB/s written, of which %.0f %% beside "
            "computation\n",
            begin, forecast->iteration_s, forecast->products_s,
            rates->flops_per_s * workers / 1e9,
            100 * forecast->products_s / forecast->iteration_s, e->moving_s,
            rates->speed.read / 1e6, rates->speed.written / 1e6,
            e->moving_s > 0 ? 100 * e->hidden_s / e->moving_s : 100);
}
