"""How many threads a kernel may use."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

# Called for every kernel call. A forked child can't open a team if its parent had one (it would hang), so there it
# is 1 until somebody asks for more in the child itself.
count: Callable[[], int] = torch.get_num_threads
_chosen: int | None = None


def chosen() -> int | None:
    """The number that was set, None where torch decides."""
    return _chosen


def choose(number: int | None) -> None:
    """Sets the number of threads, None to follow `torch.get_num_threads()`."""
    global count, _chosen
    _chosen = number
    count = torch.get_num_threads if number is None else (lambda: number)


def restore(number: int | None, counter: Callable[[], int]) -> None:
    """Puts back an earlier `chosen()` and `count`."""
    global count, _chosen
    count, _chosen = counter, number


def _one() -> int:
    return 1


def _after_fork() -> None:
    global count
    count = _one


os.register_at_fork(after_in_child=_after_fork)
