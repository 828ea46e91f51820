"""Tallies: how often kernels were called and how long they took, while somebody watches; `tally.c` in C.

Who tunes in the background watches. Nobody else pays for more than a look at a flag in each call, and at the number of
calls after which somebody is told.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final

PERIOD: Final = 17  # as in direct.h
REPEATED: Final = 64  # calls that take about as long as it takes to copy values to another format
_RECENT = 1024

watching = False
"""Whether calls are counted."""

recent: deque[tuple[Any, Any]] = deque(maxlen=_RECENT)
"""What was prepared of late: a weak reference to the pattern that keeps it, and the name that it has there."""


class _Tally:
    """How often a kernel was called, and how long it took; C's has the same attributes.

    Attributes:
        calls: The calls that were counted.
        timed: The calls that the timed ones stand for: one in `period`.
        nanoseconds: The time of those.
        period: How many calls one timed call stands for.
        left: How many calls there are up to the next one that is timed.
        all: The tally of all patterns with the kernel.
        waits: How many calls there are up to the one after which `told` is called; 0 where none is to come.
        told: A function without arguments.
    """

    __slots__ = ("all", "calls", "left", "nanoseconds", "period", "timed", "told", "waits")

    def __init__(self, all: Any = None) -> None:
        """Begin at 0."""
        self.calls = self.timed = self.nanoseconds = self.left = self.waits = 0
        self.period, self.all = PERIOD, all
        self.told: Callable[[], None] | None = None


Tally: Any
_watch: Callable[[bool], None]
try:
    from . import _direct

    native: Any = _direct
    Tally, _watch = native.Tally, native.watch
except ImportError:  # the package was built without a C compiler
    Tally, _watch = _Tally, lambda on: None

_of_kernels: dict[int, tuple[Any, Callable[[int], int]]] = {}


def of_kernel(compute: Callable[[int], int]) -> Any:
    """The tally of all calls of a kernel, whatever patterns they are on."""
    return _of_kernels.setdefault(id(compute), (Tally(), compute))[0]


def watch(on: bool) -> None:
    """Counts calls from now on, or no longer."""
    global watching
    watching = on
    _watch(on)


def run(tally: Any, compute: Callable[[int], int], address: int) -> int:
    """Calls a kernel from Python, counted and timed while somebody watches; returns its status."""
    if tally is not None and tally.waits > 0:
        tally.waits -= 1
        if not tally.waits:
            try:
                tally.told()
            except BaseException:  # of a signal handler, which ends the call: the next one tells it again
                tally.waits = 1
                raise
    if not watching:
        return compute(address)
    begun = time.perf_counter_ns()
    status = compute(address)
    taken = time.perf_counter_ns() - begun
    while tally is not None:
        tally.calls += 1
        tally.timed += 1
        tally.nanoseconds += taken
        tally = tally.all
    return status


def seconds(tally: Any) -> float:
    """The time of all calls that were counted, by that of the timed ones."""
    mean: float = tally.nanoseconds / max(tally.timed, 1) / 1e9
    return mean * float(tally.calls)
