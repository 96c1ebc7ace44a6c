"""What every comparison with PyTorch needs: a BLAS for it that is fast, and
the same weights and samples for both."""

import json
import os

from bench import figures, machine, theirs
from bench.ours import Failure, Ours


class Comparison:
    """Of options.build and options.python, with files in a directory."""

    def __init__(self, options, directory, processes, threads, say):
        self.options, self.directory, self.say = options, directory, say
        self.ours, self.weights = Ours(options.build), {}
        # What is missing, before PyTorch is looked for.
        self.ours.path("mtlm-dag")
        self.ours.path("perf", "samples")
        self.blas_dirs = theirs.find_blas(options.openblas)
        if not self.blas_dirs:
            raise Failure("no OpenBLAS for PyTorch: install libopenblas0")
        self.setting = theirs.Setting(
            self.blas_dirs[0], processes=processes, threads=threads
        )
        self.version = theirs.about(options.python, self.setting)

    def measure_products(self, case, cores):
        """Ours and theirs, {product: GF/s}; refuses a peer that is slow by
        mistake.  Neighbours make both slower by chance: the best of some
        attempts counts."""
        names = figures.product_names(case)
        ours, peers = {}, {}
        for core in (None, None, None, *machine.blas_cores()):
            self.blas, rates = self.ours.rates(cores, names)
            ours = figures.best_rates(ours, rates)
            setting = theirs.dataclasses.replace(self.setting, core=core)
            rates = theirs.rates(self.options.python, setting, names)
            peers[core] = figures.best_rates(peers.get(core, {}), rates)
            share = figures.gemm_share(case, ours, peers[core])
            if share >= figures.PEER_GEMM:
                self.setting = setting
                return ours, share
            self.say(f"  PyTorch's sgemm has {share:.2f} of our speed")
        raise Failure(
            "PyTorch's sgemm is too slow for a fair comparison: not one core of"
            f" OpenBLAS gives {figures.PEER_GEMM} of our speed"
        )

    def files(self, case):
        """For both: our initial weights, and samples for all iterations."""
        model = case.model.name
        if model not in self.weights:
            self.weights[model] = os.path.join(
                self.directory, f"weights-{len(self.weights)}"
            )
            os.mkdir(self.weights[model])
            self.ours.weights(case, self.weights[model])
        samples = os.path.join(self.directory, "samples.safetensors")
        total = max(
            self.options.warm_up + self.options.iterations,
            theirs.WARM_UP + theirs.ITERATIONS,
        )
        self.ours.samples(case, total, samples)
        return {"weights": self.weights[model], "samples": samples}

    def tell(self, number, who, run):
        self.say(
            f"  round {number + 1}: "
            f"{figures.summary(run['seconds'])['median']:.3f} s {who}; others "
            f"took {run['others']:.2f} cores"
        )

    def write(self, directory, name, result, page):
        path = os.path.join(directory, name)
        with open(path + ".json", "w") as file:
            json.dump(result, file, indent=1)
            file.write("\n")
        with open(path + ".md", "w") as file:
            file.write(page)
        self.say(f"written: {path}.md and .json")


def must_agree(name, ours, peer):
    """The same training, else a Failure."""
    why = figures.disagreement(ours["losses"], peer["losses"])
    if why:
        raise Failure(
            f"{name}: not the same training, {why}: ours {ours['losses']}, "
            f"theirs {peer['losses']}"
        )
