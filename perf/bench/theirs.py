"""Runs PyTorch, of the distribution or a newer one: finds a BLAS for it, its
fastest settings, and times it."""

import dataclasses
import glob
import json
import os
import re
import subprocess
import tempfile
import threading

from bench import loops, machine
from bench.ours import Failure

PEER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "peer.py")


@dataclasses.dataclass(frozen=True)
class Setting:
    """How PyTorch runs.  python: the one that has it; torch: its version; blas:
    directory of libblas.so.3, None: PyTorch has its own; core: for
    OPENBLAS_CORETYPE, None: as detected; spin: whether idle threads of OpenMP
    do."""

    python: str
    torch: str
    blas: str
    processes: int = 1
    threads: int = 2
    core: str = None
    vectors: str = "default"
    attention: str = "plain"
    adam: str = "loop"
    compiled: bool = False
    spin: bool = True
    loop: str = None

    def text(self):
        parts = [f"PyTorch {self.torch}"]
        if self.loop:
            parts.append(self.loop)
        parts.append(f"{self.processes} x {self.threads}")
        # megatron-core has its own.
        if self.loop != loops.MEGATRON:
            parts.append(f"{self.attention} attention")
        parts += [
            f"{self.adam} AdamW",
            f"{self.vectors} vectors",
            os.path.basename(self.blas) if self.blas else "its own BLAS",
        ]
        if self.compiled:
            parts.append("compiled")
        if self.core:
            parts.append(f"core {self.core}")
        if not self.spin:
            parts.append("no spinning")
        return ", ".join(parts)

    def environment(self):
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(("OPENBLAS_", "OMP_", "GOMP_", "ATEN_", "MTLM_"))
        }
        if self.blas:
            env["LD_LIBRARY_PATH"] = self.blas
        env["OMP_NUM_THREADS"] = str(self.threads)
        env["OPENBLAS_NUM_THREADS"] = str(self.threads)
        # Of several processes, which are all here.
        env["GLOO_SOCKET_IFNAME"] = "lo"
        # For versions from 2.4 on.
        env["USE_LIBUV"] = "0"
        if self.core:
            env["OPENBLAS_CORETYPE"] = self.core
        if self.vectors != "default":
            env["ATEN_CPU_CAPABILITY"] = self.vectors
        if not self.compiled:
            env["TORCHDYNAMO_DISABLE"] = "1"
        if not self.spin:
            env["OMP_WAIT_POLICY"] = "passive"
            env["OPENBLAS_THREAD_TIMEOUT"] = "16"
        return env


def find_blas(more=()):
    """Directories of every OpenBLAS of the distribution that can stand in for
    libblas.so.3, threads of its own first; then more."""
    found = glob.glob("/usr/lib/*/openblas-*/libblas.so.3")
    found = [os.path.dirname(p) for p in found if "serial" not in p]
    found.sort(key=lambda p: ("pthread" not in p, p))
    return found + list(more)


def start(setting, options, rank, errors):
    options = dict(
        options,
        rank=rank,
        ranks=setting.processes,
        threads=setting.threads,
        attention=setting.attention,
        adam=setting.adam,
        compiled=setting.compiled,
        loop=setting.loop,
    )
    try:
        return subprocess.Popen(
            [setting.python, PEER, json.dumps(options)],
            env=setting.environment(),
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            stderr=errors,
            text=True,
        )
    except OSError as error:
        raise Failure(f"--python {setting.python}: {error.strerror}") from error


# Seconds in which a process that is alive says something, or ends behind the
# first one.  Compiling takes longer than anything else.
SILENCE, SILENCE_COMPILED = 120, 600


class Processes:
    """Those of a run.  None of them outlives the block."""

    def __init__(self, setting, options, errors):
        self.limit = SILENCE_COMPILED if setting.compiled else SILENCE
        self.late, self.all = False, []
        try:
            for rank in range(setting.processes):
                self.all.append(start(setting, options, rank, errors))
        except Failure:
            self.end()
            raise

    def kill(self):
        for process in self.all:
            process.kill()

    def end(self):
        self.kill()
        for process in self.all:
            process.wait()
            if process.stdout:
                process.stdout.close()

    def give_up(self):
        self.late = True
        self.kill()

    def lines(self):
        """Of the first one; a long silence ends all."""
        while True:
            timer = threading.Timer(self.limit, self.give_up)
            timer.start()
            line = self.all[0].stdout.readline()
            timer.cancel()
            if not line:
                return
            yield line

    def why(self):
        """Waits for their ends.  None, or what went wrong, in words."""
        failed = False
        for process in self.all:
            # One that has lost its peer may wait for it for long.
            if failed:
                process.kill()
            try:
                failed = process.wait(self.limit) != 0 or failed
            except subprocess.TimeoutExpired:
                self.give_up()
                failed = process.wait() != 0
        if self.late:
            return f"it did nothing for {self.limit} s"
        return "it failed" if failed else None


ERROR = re.compile(r"^[\w.]*(Error|Exception)\b.*", re.M)


def cause(file):
    """A line: the first error that a process wrote of; then all of the end."""
    file.seek(0)
    text = file.read()
    error = ERROR.search(text)
    lines = text.strip().split("\n")
    return (error[0] if error else lines[-1])[:300] + "\n" + text[-2000:]


def run(setting, options, watch=None):
    """All that the first process says, one dict per line; watch(dict) sees
    each when it comes."""
    said = []
    with tempfile.TemporaryDirectory() as directory:
        options = dict(options, meet=os.path.join(directory, "meet"))
        with open(os.path.join(directory, "errors"), "w+") as errors:
            processes = Processes(setting, options, errors)
            try:
                for line in processes.lines():
                    said.append(json.loads(line))
                    if watch:
                        watch(said[-1], processes.all)
                why = processes.why()
            finally:
                processes.end()
            if why:
                raise Failure(
                    f"PyTorch ({setting.text()}): {why}: {cause(errors)}"
                )
    return said


def about(setting):
    """Version, what it has fused, whether it has its own BLAS, and the core that
    OpenBLAS chose."""
    return run(setting, {})[0]


def rates(setting, products):
    """{product: GF/s of all processes together}"""
    for fields in run(setting, {"products": products}):
        if "rates" in fields:
            return {
                name: rate * setting.processes
                for name, rate in fields["rates"].items()
            }
    raise Failure("PyTorch said no rates")


def train(
    setting, case, files, warm_up, iterations, layout=None, autocast=False
):
    """As Ours.train().  autocast: products in bf16."""
    own = others = None

    def watch(fields, processes):
        nonlocal own, others
        if "ended" not in fields or fields["ended"] + 1 not in (
            warm_up,
            warm_up + iterations,
        ):
            return
        cpu = sum(machine.Process(p.pid).cpu_seconds() for p in processes)
        if fields["ended"] + 1 == warm_up:
            own, others = cpu, machine.Others()
        else:
            out["others"] = others.cores(cpu - own)

    out = {}
    said = run(
        setting,
        dict(
            case=case.name,
            weights=files["weights"],
            samples=files["samples"],
            iterations=warm_up + iterations,
            autocast=autocast,
            layout=layout and layout.peer(),
        ),
        watch,
    )
    seen = [fields for fields in said if "losses" in fields]
    for fields in said:
        for name in "peak_bytes", "parameters":
            if name in fields:
                out[name] = fields[name]
    out["losses"] = [f["losses"] for f in seen]
    for name in "seconds", "cpu", "switches":
        out[name] = [f[name] for f in seen[warm_up:]]
    return out


def variants(setting, version, case, blas):
    """What may be faster than setting: lists of alternatives, one question
    each."""
    new = dataclasses.replace
    attention = ["plain", "baddbmm"] + ["sdpa"] * version["sdpa"]
    adam = ["loop", "foreach"] + ["fused"] * version["fused"]
    # First, for spinning threads hide the answers to the others.
    if setting.threads > 1:
        yield [lambda s, x=x: new(s, spin=x) for x in (True, False)]
    yield [lambda s, a=a: new(s, attention=a) for a in attention]
    yield [lambda s, a=a: new(s, adam=a) for a in adam]
    if version["compiles"] and not setting.loop:
        yield [lambda s, c=c: new(s, compiled=c) for c in (False, True)]
    # On another processor a signal ends PyTorch.
    if machine.has_avx512():
        yield [lambda s, v=v: new(s, vectors=v) for v in ("default", "avx512")]
    if setting.blas:
        yield [lambda s, b=b: new(s, blas=b) for b in blas]
    if case.batch % 2 == 0 and setting.threads > 1:
        yield [lambda s: s, lambda s: new(s, processes=2, threads=1)]


def loop_variants(version, layout):
    """As variants(): loops for a layout, then compiling the fastest and the one
    that every PyTorch has.  The fused operations of megatron-core are compiled,
    or there are none."""
    new = dataclasses.replace
    names = loops.names(layout, version)

    def compile_it(setting):
        can = loops.compiles(setting.loop, version)
        return new(setting, compiled=can or setting.compiled)

    question = [lambda s, n=n: new(s, loop=n) for n in names]
    if loops.MEGATRON in names:
        question.append(lambda s: new(s, loop=loops.MEGATRON, compiled=True))
    yield question
    yield [
        lambda s: s,
        compile_it,
        lambda s: compile_it(new(s, loop=names[0], compiled=False)),
    ]


# Settings whose few iterations come this near to the fastest are measured too.
NEAR, MOST = 1.15, 3
# To warm up, and to count, of a search.
WARM_UP, ITERATIONS = 1, 3


def near(tried, most=MOST):
    """{setting: seconds}: the fastest ones, fastest first."""
    order = sorted(tried, key=tried.get)
    return [s for s in order if tried[s] <= NEAR * tried[order[0]]][:most]


def search(setting, questions, seconds):
    """{setting: seconds}: one question after the other, each asked of the
    fastest so far by seconds(setting)."""
    tried = {}

    def ask(candidate):
        if candidate not in tried:
            tried[candidate] = seconds(candidate)
        return tried[candidate]

    best = setting
    for question in questions:
        best = min([change(best) for change in question], key=ask)
    return tried
