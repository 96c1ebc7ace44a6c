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


# Variables that would change a setting behind its back.
FOREIGN = (
    *("OPENBLAS_", "OMP_", "GOMP_", "KMP_", "MKL_", "DNNL_", "ONEDNN_"),
    *("ATEN_", "TORCH", "MALLOC_", "GLIBC_", "THP_", "LD_PRELOAD", "MTLM_"),
)
# What malloc() does with large tensors that are freed.  By default the pages go
# back to the system and are zeroed anew, gigabytes in each iteration.
MEMORY = {
    "default": {},
    "kept memory": {
        "MALLOC_MMAP_MAX_": "0",
        "MALLOC_TRIM_THRESHOLD_": str(2**40),
        "MALLOC_TOP_PAD_": str(2**28),
    },
    "huge pages": {
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
        "THP_MEM_ALLOC_ENABLE": "1",
    },
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """How PyTorch runs.  python: the one that has it; torch: its version; blas:
    directory of libblas.so.3, None: what PyTorch contains; core: for
    OPENBLAS_CORETYPE, None: as detected; memory: one of MEMORY; spin: whether
    idle threads of OpenMP do; bound: each thread of OpenMP to a core; weights:
    of training in bf16, "float32" under autocast or "bfloat16" with masters."""

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
    memory: str = "default"
    spin: bool = True
    bound: bool = False
    weights: str = "float32"
    loop: str = None

    def text(self):
        parts = [f"PyTorch {self.torch}"]
        if self.loop:
            parts.append(self.loop)
        parts.append(f"{self.processes} x {self.threads}")
        # megatron-core has its own.
        if self.loop != loops.MEGATRON:
            parts.append(f"{self.attention} attention")
        parts.append(f"{self.adam} AdamW")
        if self.vectors != "default":
            parts.append(f"{self.vectors} vectors")
        parts.append(
            os.path.basename(self.blas) if self.blas else "its own BLAS"
        )
        if self.weights != "float32":
            parts.append(f"{self.weights} weights")
        if self.memory != "default":
            parts.append(self.memory)
        if self.compiled:
            parts.append("compiled")
        if self.core:
            parts.append(f"core {self.core}")
        if not self.spin:
            parts.append("no spinning")
        if self.bound:
            parts.append("bound threads")
        return ", ".join(parts)

    def environment(self):
        env = {
            k: v
            for k, v in os.environ.items()
            if not k.startswith(FOREIGN)
        }
        env |= MEMORY[self.memory]
        if self.blas:
            env["LD_LIBRARY_PATH"] = self.blas
            # In place of one that PyTorch contains.
            env["LD_PRELOAD"] = os.path.join(self.blas, "libblas.so.3")
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
        if self.bound:
            env |= {"OMP_PROC_BIND": "close", "OMP_PLACES": "cores"}
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
        bf16_weights=setting.weights == "bfloat16",
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


def fields_of(setting, line):
    """The dict that a line of the setting's says; Failure."""
    try:
        fields = json.loads(line)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise Failure(
            f"PyTorch ({setting.text()}) wrote this line, which is no JSON "
            f"object: {line.strip()[:300]}"
        )
    return fields


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
                    said.append(fields_of(setting, line))
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


def rates(setting, products, numbers=""):
    """{product: GF/s of all processes together}; numbers: "bf16-" for products
    in bf16."""
    for fields in run(setting, {"products": products, "numbers": numbers}):
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


def without_malloc_settings(setting):
    """The same with the default malloc(), as users run PyTorch."""
    return dataclasses.replace(setting, memory="default")


def choices(name, values):
    """A question: which value of the setting's field of that name?"""
    return [
        lambda s, value=value: dataclasses.replace(s, **{name: value})
        for value in values
    ]


def variants(setting, version, case, blas, bf16=False):
    """What may be faster than setting: lists of alternatives, one question
    each."""
    # First, for spinning threads hide the answers to the others.
    if setting.threads > 1:
        yield choices("spin", (True, False))
        yield choices("bound", (False, True))
    yield choices("memory", MEMORY)
    yield choices("adam", ["loop", "foreach"] + ["fused"] * version["fused"])
    if version["compiles"] and not setting.loop:
        yield choices("compiled", (False, True))
    if bf16 and version["masters"]:
        yield choices("weights", ("float32", "bfloat16"))
    # Behind compiling, which fuses what makes plain attention slow.
    yield choices("attention", ["plain", "baddbmm"] + ["sdpa"] * version["sdpa"])
    # Later versions take all vectors.  On another processor a signal ends
    # PyTorch.
    if version["torch"].startswith("1.") and machine.has_avx512():
        yield choices("vectors", ("default", "avx512"))
    if setting.blas:
        yield choices("blas", blas)
    elif not bf16:
        # MKL, which current wheels contain, is slow on some processors.
        yield [lambda s: s] + [
            # Threads of OpenBLAS would share the core of the first one.
            lambda s, core=core: dataclasses.replace(
                s, blas=blas[0], core=core, bound=False
            )
            for core in machine.blas_cores()[:1]
        ]
    if case.batch % 2 == 0 and setting.threads > 1:
        yield [
            lambda s: s,
            lambda s: dataclasses.replace(
                s, processes=2, threads=1, weights="float32", bound=False
            ),
        ]
    yield [lambda s: s, without_malloc_settings]


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
    yield [lambda s: s, without_malloc_settings]


# Settings whose few iterations come this near to the fastest are measured too.
NEAR, MOST = 1.25, 4
# To warm up, and to count, of a search.
WARM_UP, ITERATIONS = 2, 4


def near(tried, most=MOST):
    """Of {setting: seconds} the fastest ones, fastest first; behind them the
    fastest with the default malloc(), if it is not among them."""
    order = sorted(tried, key=tried.get)
    found = [s for s in order if tried[s] <= NEAR * tried[order[0]]][:most]
    plain = [s for s in order if s.memory == "default"][:1]
    return list(dict.fromkeys(found + plain))


def search(setting, questions, seconds):
    """{setting: seconds}: one question after the other, each asked of the
    fastest so far by seconds(setting).  Answers that are near the fastest one
    are tried twice; the faster time counts."""
    tried, twice = {}, set()

    def again(candidate):
        if candidate not in twice:
            twice.add(candidate)
            tried[candidate] = min(tried[candidate], seconds(candidate))

    best = setting
    for question in questions:
        answers = list(dict.fromkeys(change(best) for change in question))
        for candidate in answers:
            if candidate not in tried:
                tried[candidate] = seconds(candidate)
        least = min(tried[candidate] for candidate in answers)
        for candidate in answers:
            if len(answers) > 1 and tried[candidate] <= NEAR * least:
                again(candidate)
        best = min(answers, key=tried.get)
    return tried
