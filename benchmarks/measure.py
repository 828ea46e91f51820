"""Timing that survives a shared machine: candidates take turns in random order, and medians are compared in one run."""

from __future__ import annotations

import json
import math
import os
import platform
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

TURN_SECONDS = 2e-3  # a turn is as many calls as take about this long


class Times(NamedTuple):
    """Seconds a call: `fastest` is what it takes undisturbed, and tells how far others disturbed the median."""

    median: float
    fastest: float


def interleaved(calls: Mapping[str, Callable[[], object]], rounds: int, seed: int = 0) -> dict[str, Times]:
    """Seconds a call of each candidate.

    Args:
        calls: What to measure, by name.
        rounds: Turns of each candidate.
        seed: Of the order of turns.
    """
    counts: dict[str, int] = {}
    for name, call in calls.items():
        call()  # compiles, fills caches
        start = time.perf_counter()
        call()
        once = time.perf_counter() - start
        counts[name] = max(1, min(2000, int(TURN_SECONDS / max(once, 1e-7))))
    order, taken = random.Random(seed), {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in order.sample(list(calls), len(calls)):
            call, count = calls[name], counts[name]
            start = time.perf_counter()
            for _ in range(count):
                call()
            if number:  # the first round warms up
                taken[name].append((time.perf_counter() - start) / count)
    return {name: Times(statistics.median(times), min(times)) for name, times in taken.items()}


def geomean(numbers: Sequence[float]) -> float:
    """Geometric mean."""
    return math.exp(statistics.fmean(math.log(n) for n in numbers))


def warn_if_busy() -> None:
    """Say so where other work makes times with several threads meaningless."""
    load = os.getloadavg()[0]
    if load > 0.5:
        print(
            f"note: the load of this machine is {load:.1f}; beside others' work "
            "medians of calls on several threads say little"
        )


def check(found: torch.Tensor, expected: torch.Tensor, scale: torch.Tensor, what: str) -> None:
    """Stop if a result is off.

    Args:
        found: A candidate's result.
        expected: The same computed in float64.
        scale: The same computed in float64 on absolute values: what rounding is relative to.
        what: Names the result in the error.
    """
    error = float(((found.double() - expected).abs() / (scale + 1e-30)).max())
    if not error < 1e-5:
        raise SystemExit(f"{what} computes something else: relative error {error:.2e}")


def machine() -> dict[str, Any]:
    """Where the numbers come from."""
    import libsparse as ls

    model = next(
        (line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")), ""
    )
    caches = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        kind, level, size = ((index / n).read_text().strip() for n in ("type", "level", "size"))
        if kind != "Instruction":
            caches[f"L{level}"] = size
    return {
        "cpu": model or platform.machine(),
        "cores": os.cpu_count(),
        "caches": caches,
        "threads": torch.get_num_threads(),
        "load": os.getloadavg()[0],
        "python": platform.python_version(),
        "torch": torch.__version__,
        "libsparse": ls.__version__,
        "time": time.strftime("%Y-%m-%d %H:%M:%S"),
    }


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def save(folder: Path, results: Mapping[str, Any]) -> Path:
    """Write results as JSON into `folder`, under the time they were made."""
    folder.mkdir(exist_ok=True)
    path = folder / time.strftime("%Y%m%d-%H%M%S.json")
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return path
