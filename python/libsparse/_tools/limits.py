"""The machine's limits: the bytes that move against its bandwidth, operations against its rate.

Both are measured with torch's own copy and product of matrices, for sizes like those in question, and kept.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import time
from collections.abc import Callable, Sequence

import torch

from libsparse._lang.records import NamedTuple
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage import threads

_LARGEST = 1 << 28  # bytes that are copied to measure; beyond that it is all main memory
_RATED = (torch.float32, torch.float64)


class Limit(NamedTuple):
    """The least time that a computation takes on this machine.

    Attributes:
        moved: Bytes of operands and result.
        bandwidth: Bytes a second, copied with as many.
        operations: Multiplications and additions; None where they are not known beforehand.
        rate: Operations a second in products of dense matrices; None where that is not the measure.
    """

    moved: int
    bandwidth: float
    operations: int | None
    rate: float | None

    @property
    def seconds(self) -> float:
        """The larger of both times."""
        computing = self.operations / self.rate if self.operations and self.rate else 0.0
        return max(self.moved / self.bandwidth, computing)

    def __str__(self) -> str:
        """Which of them it is, and why."""
        if self.operations and self.rate and self.seconds > self.moved / self.bandwidth:
            return f"{_count(self.operations)} operations at {_count(self.rate)}/s, as products of dense matrices reach"
        return f"{_count(self.moved)}B at {_count(self.bandwidth)}B/s, as copies of that size reach"


def of(problem: Problem, operands: Sequence[Operand], dtype: torch.dtype, result: int) -> Limit:
    """The limit of a computation whose result has this dtype and as many bytes."""
    moved = result + sum(size(operand) for operand in operands)
    rate = _rate(dtype, threads.count()) if dtype in _RATED else None
    copied = min(_LARGEST, 1 << max(moved, 1 << 12).bit_length() - 1)
    return Limit(moved, _bandwidth(copied, threads.count()), _operations(problem, operands), rate)


def size(operand: Operand) -> int:
    """The bytes of an operand."""
    arrays = [] if operand.pattern is None else operand.pattern.tensors()
    return sum(array.nbytes for array in (*arrays, operand.data) if array is not None)


def _operations(problem: Problem, operands: Sequence[Operand]) -> int | None:
    """Two for each term of a product with one sparse operand, which has a term for each entry and other coordinate."""
    sparse = [number for number, operand in enumerate(operands) if operand.pattern is not None]
    if problem.is_expr or len(sparse) != 1:
        return None
    pattern = operands[sparse[0]].sparsity
    others = set(problem.extents(operands)) - set(problem.inputs[sparse[0]])
    return 2 * pattern.nnz * math.prod(problem.extents(operands)[index] for index in others)


@functools.lru_cache(maxsize=64)
def _bandwidth(copied: int, _threads: int) -> float:  # torch uses as many threads as kernels do
    source = torch.zeros(copied // 8, dtype=torch.float32, device="cpu")
    target = torch.zeros_like(source)
    # one thread waits for no other, which has no processor while others work on the machine
    alone = fastest(lambda: ctypes.memmove(target.data_ptr(), source.data_ptr(), source.nbytes))
    return copied / min(alone, fastest(lambda: target.copy_(source)))


@functools.lru_cache(maxsize=8)
def _rate(dtype: torch.dtype, _threads: int) -> float:
    a = torch.full((512, 512), 0.5, dtype=dtype, device="cpu")
    return 2 * 512**3 / fastest(lambda: a @ a)


def fastest(work: Callable[[], object], seconds: float = 0.1) -> float:
    """The shortest time of a few calls, after one that doesn't count."""
    work()
    times = [time.perf_counter()]
    while len(times) <= 1000 and times[-1] - times[0] < seconds:
        work()
        times.append(time.perf_counter())
    return max(1e-9, min(end - start for start, end in itertools.pairwise(times)))


def duration(seconds: float) -> str:
    """A time for people."""
    units = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}
    unit = next((unit for unit, size in units.items() if seconds >= size), "ns")
    return f"{seconds / units[unit]:.3g} {unit}"


def _count(number: float) -> str:
    for unit in ("", "k", "M", "G"):
        if number < 1000:
            return f"{number:.3g} {unit}"
        number /= 1000
    return f"{number:.3g} T"
