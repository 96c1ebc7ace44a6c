#!/bin/bash
# What data-parallel ranks send hides under what they compute: gradients of the
# deeper layers while the others' are computed, weights while the next iteration
# begins.  With modelled durations (--synthetic), so that sums and weights take
# their time; weights one after the other.
set -u
. "${srcdir:-.}/tests/mpi/common.sh"

# 8 layers of 15 ms; 200 kB, a layer's gradients, take 20 ms and more.
cat >cluster.ini <<'END'
[stage]
forward_ms = 40
backward_ms = 40
weight_ms = 40
[host]
latency_us = 10
gb_per_s = 0.01
END

overlap() {
    "${PYTHON:-python3}" - "$1" <<'END'
import csv
import sys
from collections import defaultdict

rows = defaultdict(list)
with open("trace/schedule.csv") as file:
    for row in csv.DictReader(file):
        key = int(row["rank"]), int(row["iteration"])
        rows[key].append(row)
sends, gathers = "bucket_reduce_scatter", "bucket_all_gather"
if sys.argv[1] == "no":
    sends = "bucket_all_reduce"


def times(key, test, edge):
    return [float(row[edge]) for row in rows[key] if test(row)]


# On each rank, the best of the iterations: a busy machine may delay any of them.
bad, best = 0, defaultdict(int)
for rank, iteration in sorted(rows):
    key, after = (rank, iteration), (rank, iteration + 1)
    sums = times(key, lambda r: r["name"] == sends, "start_us")
    last_w = max(times(key, lambda r: r["op"] == "W", "end_us"))
    early = sum(start < last_w for start in sums)
    print(f"rank {rank}, iteration {iteration}: {early} of {len(sums)} sums "
          "begin before the last weight gradient is there")
    # Of eight layers, positions and the embedding's two sides.
    bad += len(sums) != 11
    best[rank, "sums"] = max(best[rank, "sums"], early)
    if sys.argv[1] == "no" or after not in rows:
        continue
    ends = times(key, lambda r: r["name"] == gathers, "end_us")
    first = min(times(after, lambda r: r["name"] == "linear_bias_fwd"
                      or r["name"] == "linear_fwd", "start_us"))
    late = sum(end > first for end in ends)
    print(f"  {late} of {len(ends)} gathers end after the next iteration's "
          "first product has begun")
    bad += len(ends) != 10
    best[rank, "gathers"] = max(best[rank, "gathers"], late)
few = any(n < (3 if what == "gathers" else 1) for (_, what), n in best.items())
sys.exit(bad or few or len(best) < 2)
END
}

layout 1 1 2
for way in no yes; do
    more=()
    rm -rf trace
    [ $way = no ] || more=(--use-distributed-optimizer --transport serial)
    well 2 "${small[@]}" "${parallel[@]}" --num-layers 8 --train-iters 5 \
        --synthetic cluster.ini --ddp-bucket-size 1 --trace trace \
        --trace-iterations 2:4 ${more[@]+"${more[@]}"}
    overlap $way || fail "distributed optimizer: $way"
done

finish
