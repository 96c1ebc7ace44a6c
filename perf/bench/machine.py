"""What the machine is and who else uses it.  No host names."""

import glob
import os
import resource
import time

TICK = os.sysconf("SC_CLK_TCK")


def cores():
    return len(os.sched_getaffinity(0))


def processor():
    """The fields of the first processor."""
    fields = {}
    with open("/proc/cpuinfo") as file:
        for line in file:
            if not line.strip():
                break
            name, _, value = line.partition(":")
            fields[name.strip()] = value.strip()
    return fields


def flags():
    """What the processor can do, in the words of Linux."""
    return processor().get("flags", "").split()


def has_avx512():
    """Whether the processor runs PyTorch's avx512 vectors, and OpenBLAS's
    SkylakeX kernels.  Neither library checks."""
    return {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= set(flags())


def blas_cores():
    """Cores of OpenBLAS that the processor can run, beside the detected one."""
    return ["SkylakeX"] * has_avx512() + ["Haswell"] * ("avx2" in flags())


def kind():
    """The processor in words."""
    fields, can = processor(), flags()
    best = "avx2", "avx512f", "avx512_bf16", "amx_bf16"
    known = [f for f in best if f in can]
    return {
        "model": fields.get("model name", "unknown"),
        "family": fields.get("cpu family", "?"),
        "number": fields.get("model", "?"),
        "cores": cores(),
        "vectors": known[-1] if known else "none",
        "virtual": "hypervisor" in can,
        "memory_gib": round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
        ),
    }


def slug(about):
    """Of the processor, for a file's name."""
    words = about["model"].lower().replace("(r)", " ").replace("(tm)", " ")
    words = "".join(c if c.isalnum() else " " for c in words).split()
    words = [w for w in words if w not in ("cpu", "processor")]
    return "-".join(words + [f"family{about['family']}-{about['number']}"])


def busy_seconds():
    """CPU seconds of everybody on all cores, stolen ones included."""
    with open("/proc/stat") as file:
        values = [int(v) for v in file.readline().split()[1:9]]
    user, nice, system, _, _, irq, soft, steal = values
    return (user + nice + system + irq + soft + steal) / TICK


class Process:
    """A process and its threads, while it lives."""

    def __init__(self, pid):
        self.pid = pid

    def cpu_seconds(self):
        with open(f"/proc/{self.pid}/stat") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICK

    def switches(self):
        """Involuntary ones."""
        total = 0
        for path in glob.glob(f"/proc/{self.pid}/task/*/status"):
            try:
                with open(path) as file:
                    total += sum(
                        int(line.split()[1])
                        for line in file
                        if line.startswith("nonvoluntary")
                    )
            except OSError:
                pass
        return total

    def peak_bytes(self):
        with open(f"/proc/{self.pid}/status") as file:
            for line in file:
                if line.startswith("VmHWM"):
                    return 1024 * int(line.split()[1])
        return 0


class Processes:
    """Several of them, as Process."""

    def __init__(self, pids):
        self.each = [Process(pid) for pid in pids]

    def cpu_seconds(self):
        return sum(p.cpu_seconds() for p in self.each)

    def switches(self):
        return sum(p.switches() for p in self.each)

    def peak_bytes(self):
        return sum(p.peak_bytes() for p in self.each)


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(word) for word in file.read().split()]


def own_seconds():
    """CPU seconds of the programs that this one has run."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Others:
    """CPU that other programs took between two moments, in cores."""

    def __init__(self):
        self.wall, self.busy = time.monotonic(), busy_seconds()

    def cores(self, own_seconds):
        wall = time.monotonic() - self.wall
        return max(0, busy_seconds() - self.busy - own_seconds) / wall
