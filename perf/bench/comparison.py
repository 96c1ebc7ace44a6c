"""What every comparison with PyTorch needs: versions of it, a BLAS for each that
is fast, and the same weights and samples for both."""

import dataclasses
import math
import os

from bench import figures, machine, page_files, report, theirs
from bench.ours import Failure, Ours
from bench.peers import pythons


# To find PyTorch's products as fast as they are.
ATTEMPTS = 3


@dataclasses.dataclass
class Peer:
    """A PyTorch.  about: what it says of itself; share: the speed of its
    products as a share of ours, in the numbers that are compared."""

    setting: theirs.Setting
    about: dict
    share: float = 0

    def blas(self):
        """In words."""
        if self.about["own_blas"]:
            return "its own BLAS"
        return f"OpenBLAS core {self.setting.core or self.about['core']}"


class Comparison:
    """Of options.build and each of options.python, with files in a
    directory."""

    def __init__(self, options, directory, processes, threads, say):
        self.options, self.directory, self.say = options, directory, say
        self.ours, self.weights = Ours(options.build), {}
        # What is missing, before PyTorch is looked for.
        self.ours.path("mtlm-dag")
        self.ours.path("perf", "samples")
        self.blas_dirs = theirs.find_blas(options.openblas)
        if not self.blas_dirs:
            raise Failure("no OpenBLAS for PyTorch: install libopenblas0")
        self.peers = [
            self.peer(python, processes, threads)
            for python in options.python or pythons()
        ]

    def peer(self, python, processes, threads):
        setting = theirs.Setting(
            python, "", self.blas_dirs[0], processes=processes, threads=threads
        )
        about = theirs.about(setting)
        return Peer(
            dataclasses.replace(
                setting,
                torch=about["torch"],
                blas=None if about["own_blas"] else setting.blas,
            ),
            about,
        )

    def measure_products(self, case, cores, bf16=False):
        """{product: GF/s} of the fastest program, and the share of each peer;
        refuses a peer whose sgemm is slow by mistake.  Neighbours make all
        slower by chance: the best of some attempts counts.  bf16: shares and
        rates are those in bf16."""
        ours, best = {}, {}
        for peer in self.peers:
            mine, its = self.measure_peer(peer, case, cores)
            ours = figures.best_rates(ours, mine)
            best = figures.best_rates(best, its)
        if bf16:
            ours, best = self.measure_bf16(case, cores)
        return figures.best_rates(best, ours)

    def our_bf16_rates(self, cores, names):
        """In fp32 on processors where we multiply in fp32."""
        try:
            return self.ours.rates(cores, names, "bf16-")[1]
        except Failure:
            return self.ours.rates(cores, names)[1]

    def measure_bf16(self, case, cores):
        """Of ours and of the fastest peer.  Sets the share of each peer, which
        compares as many runs of ours as of the peer."""
        names = figures.product_names(case)
        ours, best = {}, {}
        for peer in self.peers:
            mine, its = {}, {}
            for _ in range(ATTEMPTS):
                mine = figures.best_rates(
                    mine, self.our_bf16_rates(cores, names)
                )
                its = figures.best_rates(
                    its, theirs.rates(peer.setting, names, "bf16-")
                )
            peer.share = figures.gemm_share(case, mine, its)
            ours = figures.best_rates(ours, mine)
            best = figures.best_rates(best, its)
        return ours, best

    def measure_peer(self, peer, case, cores):
        """{product: GF/s} of ours and of the peer, each the best of as many
        runs."""
        names = figures.product_names(case)
        # There is nothing to choose for a PyTorch with its own BLAS.
        own = peer.about["own_blas"]
        choice = (None,) if own else (None, *machine.blas_cores())
        ours, theirs_at, default = {}, {}, {}
        for _ in range(ATTEMPTS):
            self.blas, rates = self.ours.rates(cores, names)
            ours = figures.best_rates(ours, rates)
            if not own:  # an OpenBLAS is as fast as another
                rates = self.ours.rates(cores, names, blas="default")[1]
                default = figures.best_rates(default, rates)
            for core in choice:
                rates = theirs.rates(
                    dataclasses.replace(peer.setting, core=core), names
                )
                theirs_at[core] = figures.best_rates(
                    theirs_at.get(core, {}), rates
                )
            near = {
                core: figures.gemm_share(case, ours if own else default, rates)
                for core, rates in theirs_at.items()
            }
            best = max(near, key=near.get)
            peer.share = figures.gemm_share(case, ours, theirs_at[best])
            peer.setting = dataclasses.replace(peer.setting, core=best)
            if near[best] >= figures.PEER_GEMM:
                return ours, theirs_at[best]
            self.say(
                f"  the sgemm of PyTorch {peer.setting.torch} has "
                f"{near[best]:.2f} of our speed"
            )
        if own:
            return ours, theirs_at[best]
        raise Failure(
            "PyTorch's sgemm is too slow for a fair comparison: not one core of"
            f" OpenBLAS gives {figures.PEER_GEMM} of our speed"
        )

    def few(
        self,
        setting,
        case,
        files,
        layout=None,
        iterations=theirs.ITERATIONS,
        **more,
    ):
        """A run of few iterations, and the seconds of the fastest: a machine
        that slows down at times disturbs that one least."""
        run = theirs.train(
            *(setting, case, files, theirs.WARM_UP, iterations, layout), **more
        )
        # One thread alone is not slowed down by who else runs.  Processes that
        # share the work wait for each other, and CPU time counts all of them.
        alone = setting.threads * setting.processes == 1 and not layout
        best = min(run["cpu" if alone else "seconds"])
        self.say(f"  {best:8.3f} s  {setting.text()}")
        return run, best

    def search(self, case, files, blas, autocast):
        """As theirs.search(), of all peers; then {text of a setting: why it
        failed}.  A setting may fail unless it is the first of a peer."""
        tried, failed = {}, {}

        def seconds(setting, ran):
            try:
                ran.append(self.few(setting, case, files, autocast=autocast)[1])
            except Failure as failure:
                if not ran:
                    raise
                failed[setting] = str(failure).split("\n")[0]
                self.say(f"  {failed[setting]}")
                return math.inf
            return ran[-1]

        for peer in self.peers:
            ran = []
            tried |= theirs.search(
                peer.setting,
                theirs.variants(peer.setting, peer.about, case, blas, autocast),
                lambda s, ran=ran: seconds(s, ran),
            )
        ran = {s: t for s, t in tried.items() if t < math.inf}
        return ran, {s.text(): w for s, w in failed.items() if s not in ran}

    def share(self, setting):
        """The speed of products as a share of ours, of the setting's peer."""
        return next(
            p.share for p in self.peers if p.setting.python == setting.python
        )

    def peers_about(self):
        """Of each peer, for the page: version, BLAS and the speed of its
        products as a share of ours."""
        return [
            {
                "torch": p.about["torch"],
                "megatron": p.about["megatron"],
                "blas": p.blas(),
                "gemm_share": p.share,
            }
            for p in self.peers
        ]

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

    @staticmethod
    def outcome(tokens, floor, ours, runs, tried, kind="seconds"):
        """The fastest setting of {setting: runs} by that kind of time, and what
        the page says of our runs beside those of the setting, and beside the
        fastest one with the default malloc().  tokens: of an iteration; tried:
        {setting: seconds}."""
        times = {s: [r[kind] for r in each] for s, each in runs.items()}
        setting = figures.fastest(times)
        peers = runs[setting]
        plain = {s: t for s, t in times.items() if s.memory == "default"}
        users = runs[figures.fastest(plain)] if plain else None
        wall, cpu = (
            [[r[time] for r in each] for each in (ours, peers)]
            for time in ("seconds", "cpu")
        )
        return setting, {
            "ours": report.combined(ours, tokens, floor),
            "theirs": report.combined(peers, tokens, floor),
            "ratio": figures.ratio(*wall),
            "cpu_ratio": figures.ratio(*cpu),
            "default_malloc": users and figures.ratio(
                *([r["seconds"] for r in each] for each in (ours, users))
            ),
            "losses": ours[0]["losses"],
            "loss_difference": figures.largest_difference(
                ours[0]["losses"], peers[0]["losses"]
            ),
            "setting": setting.text(),
            "measured": {
                s.text(): figures.summary([x for r in each for x in r["seconds"]])
                for s, each in runs.items()
            },
            "tried": {s.text(): seconds for s, seconds in tried.items()},
        }

    def compare_all(self, todo):
        """[results], {name: why there is none}.  A failure and Ctrl-C keep what
        was measured before."""
        compared, failed = [], {}
        for number, one in enumerate(todo):
            try:
                compared.append(self.compare(one))
            except Failure as failure:
                failed[one.name] = f"failed: {failure}"
                self.say(f"{one.name}: {failed[one.name]}")
            except KeyboardInterrupt:
                self.say(f"{one.name}: interrupted")
                failed.update(
                    {late.name: "interrupted" for late in todo[number:]}
                )
                break
        return compared, failed

    def tell(self, number, who, run):
        self.say(
            f"  round {number + 1}: "
            f"{figures.summary(run['seconds'])['median']:.3f} s {who}; others "
            f"took {run['others']:.2f} cores"
        )

    def write(self, directory, name, result, page, whole=True):
        """Part of the cases replaces no page of all of them."""
        path = os.path.join(directory, name if whole else f"{name}-part")
        page_files.write_page(path, page, result)
        self.say(f"written: {path}.md and .json")


class Disagreement(Failure):
    """Two programs did not train the same."""


def must_agree(name, ours, peer, bound=figures.LOSS_BOUND):
    """The same training, else a Disagreement."""
    why = figures.disagreement(ours["losses"], peer["losses"], bound)
    if why:
        raise Disagreement(
            f"{name}: not the same training, {why}: ours {ours['losses']}, "
            f"theirs {peer['losses']}"
        )
