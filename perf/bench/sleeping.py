"""Runs of mtlm-dag --synthetic, whose tasks sleep for given times and whose rest is
real; and plans."""

import os
import tempfile

from bench import machine, programs
from bench.ours import Failure, mpirun, prediction_of

TRIES = 3
QUIET = 0.2  # processors that other programs may take


def describe(path, times, hop_ms):
    """A cluster file.  times: milliseconds of F, B and W of a rank's stages."""
    with open(path, "w") as file:
        file.write(
            "[stage]\nforward_ms = {}\nbackward_ms = {}\nweight_ms = {}\n"
            "[host]\nlatency_us = {}\n".format(*times, 1000 * hop_ms)
        )


def options(layers, microbatches, ranks):
    """Of a model of that many layers, as small as it may be."""
    return [
        *("--model", "gpt-tiny", "--num-layers", str(layers)),
        *("--hidden-size", "64", "--seq-length", "64"),
        *("--micro-batch-size", "1", "--global-batch-size", str(microbatches)),
        *("--pipeline-model-parallel-size", str(ranks), "--workers", "1"),
    ]


def environment(policy):
    """policy: of StarPU; None: what the caller's environment says."""
    return dict(os.environ, STARPU_SCHED=policy) if policy else None


def plan(ours, job, policy=None):
    """What mtlm-dag --dry-run prints of the job.  policy: as in environment()."""
    done = programs.run([ours.path("mtlm-dag"), *job, "--dry-run"],
                        environment(policy))
    if done.returncode:
        raise Failure(done.stderr.strip())
    return done.stdout


def once(ours, ranks, job, times, hop_ms, iterations, read, policy=None):
    """Figures of one run of that many iterations, traced from the second on:
    those of read(directory of the trace); evaluated_ms, hop_ms, more and late
    (bench.ours.prediction_of); others, the cores that other programs took."""
    with tempfile.TemporaryDirectory() as work:
        cluster = os.path.join(work, "cluster.ini")
        trace = os.path.join(work, "trace")
        describe(cluster, times, hop_ms)
        others, before = machine.Others(), machine.own_seconds()
        done = programs.run(
            [
                *mpirun(ranks),
                ours.path("mtlm-dag"),
                *(*job, "--synthetic", cluster),
                *("--train-iters", str(iterations)),
                *("--trace-iterations", f"2:{iterations}", "--trace", trace),
            ],
            environment(policy),
        )
        others = others.cores(machine.own_seconds() - before)
        if done.returncode:
            raise Failure(done.stderr.strip())
        said = prediction_of(done.stdout)
        if said["hop_ms"] is None:
            raise Failure(f"mtlm-dag did not say a hop:\n{done.stdout}")
        return {**said, **read(trace), "others": others}


def others_share(found):
    """Of what other programs may take; from 1 on the times say little."""
    return found["others"] / QUIET


def quietest(run, noise=others_share):
    """The first result of run() whose noise is below 1, or that of the least."""
    best = None
    for _ in range(TRIES):
        found = run()
        if best is None or noise(found) < noise(best):
            best = found
        if noise(best) < 1:
            break
    return best
