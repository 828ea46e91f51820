"""Trials: whether calls like one are faster with their operations put together, or one by one."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter_ns
from typing import Any

_CALLS = 5  # of each way
_LONG = 1_000_000  # nanoseconds: comparing operations with a trace costs a small part of a longer call
_NOTING = 10  # times as long as that it takes to note them down


class Trial:
    """The times of the first calls that follow a trace, and of as many calls of the function itself.

    Small products take less time than comparing their operations with a trace; the function as it is has the same
    results, so a few slow measurements cost time and nothing else.

    Attributes:
        notes: Whether calls can't be traced, so that each one notes its operations down.
    """

    def __init__(self, notes: bool = False) -> None:
        """Begin without calls."""
        self.notes = notes
        self._calls = 0
        self._best = [0, 0]

    @property
    def is_open(self) -> bool:
        """Whether calls are still timed."""
        return self._calls < 2 * _CALLS and self._best[0] < (_LONG * _NOTING if self.notes else _LONG)

    @property
    def prefers_plain(self) -> bool:
        """Whether the next call is that of the function itself: every second one while the trial is open."""
        return self._calls % 2 == 1 if self.is_open else 0 < self._best[1] < self._best[0]

    def time(self, call: Callable[[], Any]) -> Any:
        """Makes the next call, and notes its time down."""
        way = self._calls % 2
        begin = perf_counter_ns()
        found = call()
        took = perf_counter_ns() - begin
        self._best[way] = min(self._best[way] or took, took)
        self._calls += 1
        return found
