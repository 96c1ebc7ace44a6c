/* Doubts about the description of a machine. */

#include "config.h"

#include "launch/options/options_note.h"
#include "launch/plan/cluster_notes.h"

/* Adds a note where ranks of a host exchange messages that take no time. */
static void note_host(struct mtlm_options *options,
                      const struct mtlm_cluster *cluster, const char *path)
{
    if (!cluster->host.given && cluster->devices != 1)
        mtlm_options_note(options,
                          "%s has no section [host]: messages between ranks%s "
                          "take no time",
                          path, cluster->devices > 0 ? " of a host" : "");
}

/* Adds notes about rates between hosts.  0 is no rate: such messages take their
 * latency only. */
static void note_network(struct mtlm_options *options,
                         const struct mtlm_cluster *cluster, const char *path)
{
    const double within = cluster->host.bytes_per_s;
    const double between = cluster->network.bytes_per_s;

    if (cluster->network.given && within > 0 && between == 0)
        mtlm_options_note(options,
                          "%s has no gb_per_s in section [network]: messages "
                          "between %s take their latency only",
                          path,
                          cluster->collective_bytes_per_s > 0
                              ? "stages on different hosts"
                              : "hosts");
    if (within > 0 && between > within)
        mtlm_options_note(options,
                          "%s: gb_per_s of section [network] is above that of "
                          "section [host]; is it of a device, not of a host?",
                          path);
    if (between > 0 && cluster->collective_bytes_per_s > between)
        mtlm_options_note(options,
                          "%s: collective_gb_per_s of section [network] is "
                          "above its gb_per_s, on which collectives run",
                          path);
}

void mtlm_cluster_notes(struct mtlm_options *options,
                        const struct mtlm_cluster *cluster, const char *path,
                        int ranks)
{
    if (ranks < 2)
        return;
    note_host(options, cluster, path);
    note_network(options, cluster, path);
}
