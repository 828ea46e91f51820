"""A peer on a problem: prepared, checked, and ready to take turns."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from . import checking
from .operands import Problem
from .timing import Call


class Prepared(NamedTuple):
    """What preparing a peer for a problem gave.

    Attributes:
        call: What takes turns.
        result: Of the first call, read for the check.
        prepare: Seconds of making the library's objects.
        first: Seconds of the first call, which may compile, choose or allocate.
    """

    call: Any
    result: checking.Result
    prepare: float
    first: float


def prepare(peer: Any, kernel: str, problem: Problem, *, new: bool = False) -> Prepared:
    """Makes a peer's objects and calls it once.

    Args:
        peer: A `peers.peer.Peer`.
        kernel: The name of its method.
        problem: The operands.
        new: Whether the call that is timed prepares too, on copies of the operands that nobody has seen.
    """
    start = time.perf_counter()
    run = peer.prepare(kernel, problem)
    prepared = time.perf_counter()
    result = run()
    done = time.perf_counter()
    call = Call(lambda fresh: peer.prepare(kernel, fresh)(), problem.fresh) if new else Call(run)
    return Prepared(call, peer.read(result), prepared - start, done - prepared)
