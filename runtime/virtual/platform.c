/* Files of a simulated machine: hosts of equal speed, buses that take no time.
 * Durations come from tasks, so speeds do not matter. */

#include "config.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/file/disk.h"
#include "runtime/virtual/platform.h"

enum { PATH = 300 };

static void write_hosts(FILE *file, int workers)
{
    fputs("<?xml version='1.0'?>\n"
          "<!DOCTYPE platform SYSTEM "
          "\"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\"><AS id=\"AS0\" routing=\"None\">\n"
          "<host id=\"MAIN\" speed=\"1f\"/><host id=\"RAM\" speed=\"1f\"/>\n",
          file);
    for (int i = 0; i < workers; i++)
        fprintf(file, "<host id=\"CPU%d\" speed=\"1Gf\"/>\n", i);
    fputs("</AS></platform>\n", file);
}

/* Writes a matrix of one memory node. */
static void write_zero(FILE *file, int workers)
{
    (void) workers;
    fputs("0\n", file);
}

/* StarPU looks for this file only. */
static void write_nothing(FILE *file, int workers)
{
    (void) file;
    (void) workers;
}

static int write_file(const char *directory, const char *ending, int workers,
                      void (*write)(FILE *, int), struct mtlm_error *err)
{
    char path[PATH];
    FILE *file;
    bool well;

    snprintf(path, sizeof(path), "%s/bus/" MTLM_VIRTUAL_HOST ".%s", directory,
             ending);
    file = fopen(path, "w");
    if (file)
        write(file, workers);
    well = file && !ferror(file);
    if (file && fclose(file) != 0)
        well = false;
    if (!well)
        return mtlm_error_set(err, MTLM_EXIT_IO, "cannot write %s: %s", path,
                              strerror(errno));
    return 0;
}

int mtlm_virtual_platform_write(const char *directory, int workers,
                                struct mtlm_error *err)
{
    char bus[PATH];

    snprintf(bus, sizeof(bus), "%s/bus", directory);
    if (mkdir(bus, 0700) < 0)
        return mtlm_disk_cannot_make(bus, err);
    if (write_file(directory, "platform.v4.xml", workers, write_hosts, err) < 0
        || write_file(directory, "config", workers, write_nothing, err) < 0
        || write_file(directory, "latency", workers, write_zero, err) < 0
        || write_file(directory, "bandwidth", workers, write_zero, err) < 0)
        return -1;
    return 0;
}
