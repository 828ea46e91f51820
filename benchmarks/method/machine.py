"""Where the numbers come from: the processor, its caches, the load; and how fast its memory is in this run."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from pathlib import Path
from typing import Any, NamedTuple

import torch

from . import native

_TURNS = 5
_SECONDS = 4e-3  # of one measurement of a stream


def load() -> float:
    """Processes that want to run, averaged over a minute."""
    return os.getloadavg()[0]


def describe() -> dict[str, Any]:
    """The machine and the versions."""
    import libsparse as ls

    return {
        "cpu": _model(),
        "cores": os.cpu_count(),
        "caches": {f"L{level}": size for level, size in caches().items()},
        "python": platform.python_version(),
        "torch": torch.__version__,
        "libsparse": ls.__version__,
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
        "load": load(),
    }


def _model() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def caches() -> dict[int, int]:
    """Bytes of each level's data cache, as one core sees it."""
    found = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / name).read_text().strip() for name in ("type", "level", "size"))
        if kind != "Instruction":
            found[int(level)] = int(size.rstrip("KMG")) * {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}[size[-1]]
    return found


class Level(NamedTuple):
    """A level of memory: up to how many bytes it holds, and bytes a second from it."""

    holds: float
    read: float
    triad: float


class Roofline(NamedTuple):
    """What calls on some number of threads can't exceed: bandwidths by level, and multiply-adds."""

    levels: dict[str, Level]
    flops: float

    def bound(self, nbytes: float, flops: float) -> float:
        """Seconds at least, if each operand is read once and each result written once.

        The bandwidth is that of the smallest level that holds all operands and results together.
        """
        level = next((level for level in self.levels.values() if nbytes <= level.holds), None)
        bandwidth = level.read if level else next(reversed(self.levels.values())).read
        return max(nbytes / bandwidth, flops / self.flops)

    def better(self, other: Roofline) -> Roofline:
        """The better of two measurements, of which others' work may have disturbed one."""
        levels = {
            name: Level(v.holds, max(v.read, other.levels[name].read), max(v.triad, other.levels[name].triad))
            for name, v in self.levels.items()
        }
        return Roofline(levels, max(self.flops, other.flops))

    def as_dict(self) -> dict[str, Any]:
        """For JSON; gigabytes and billions of operations a second."""
        levels = {name: {"read": v.read / 1e9, "triad": v.triad / 1e9} for name, v in self.levels.items()}
        return {"GB/s": levels, "GF/s": self.flops / 1e9}


def calibrate() -> Roofline:
    """Measures reads and triads from arrays of half of L2, half of L3, and four times L3; best of some turns.

    With as many threads as torch uses. Arrays for L2 are as large as the L2 caches of all threads together; L3 is
    taken to be shared.
    """
    library = ctypes.CDLL(str(native.build(Path(__file__).with_name("bandwidth.c"), "-O3", "-march=native", *_FAST)))
    library.stream_read.restype = library.multiply_adds.restype = ctypes.c_double
    threads, sizes = torch.get_num_threads(), caches()
    own, shared = sizes.get(2, 1 << 20) * threads, sizes.get(3, 0)
    levels = {"L2": Level(own, *_streams(library, own // 2))}
    if shared > own:
        levels["L3"] = Level(shared, *_streams(library, shared // 2))
    levels["memory"] = Level(float("inf"), *_streams(library, min(max(4 * shared, 64 << 20), 512 << 20)))
    steps = 500_000
    seconds = _best(lambda: library.multiply_adds(ctypes.c_ssize_t(steps)))
    return Roofline(levels, library.operations_a_step() * steps * threads / seconds)


_FAST = ("-ffast-math", "-fopenmp")


def _streams(library: ctypes.CDLL, nbytes: int) -> tuple[float, float]:
    n = nbytes // 4
    a = torch.ones(n)
    b, c = torch.ones(n // 3), torch.ones(n // 3)
    size = [ctypes.c_ssize_t(n), ctypes.c_ssize_t(n // 3)]
    times = max(1, int(_SECONDS * 50e9 / nbytes))
    read = _best(lambda: library.stream_read(native.pointer(a), size[0], times))
    pointers = [native.pointer(v) for v in (a, b, c)]
    triad = _best(lambda: library.stream_triad(*pointers, size[1], times))
    return times * n * 4 / read, times * (n // 3) * 12 / triad


def _best(call: Any) -> float:
    call()
    taken = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return min(taken)


def resident() -> int:
    """Bytes of this process in memory."""
    return _status("VmRSS")


def peak_of(call: Any) -> int:
    """How many bytes a call needs at its peak beyond what the process held before; 0 where Linux doesn't tell."""
    try:
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back, and is counted if the call needs it again
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # the peak begins anew
    except (OSError, AttributeError):  # another system, or another C library
        return 0
    before = resident()
    call()
    return max(0, _status("VmHWM") - before)


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(field + ":")) * 1024
