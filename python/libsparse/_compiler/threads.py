"""How many threads a kernel may use."""

from __future__ import annotations

import os
from collections.abc import Callable

import torch

# Called for every kernel call.
count: Callable[[], int] = torch.get_num_threads
_chosen: int | None = None
_forked = False


def chosen() -> int | None:
    """The number that was set, None where torch decides."""
    return _chosen


def choose(number: int | None) -> None:
    """Sets the number of threads, None to follow `torch.get_num_threads()`; a forked process stays at 1."""
    global count, _chosen
    _chosen = number
    wanted = torch.get_num_threads if number is None else (lambda: number)
    count = (lambda: 1) if _forked else wanted


def _after_fork() -> None:
    # A child can't open a team of threads where its parent has had one (libsparse's, torch's or anybody's): it would
    # wait for threads that it does not have. Nothing tells whether there was one.
    global _forked
    _forked = True
    choose(_chosen)


os.register_at_fork(after_in_child=_after_fork)
