"""Repeats: computations that come to the same steps whenever the name by which a pattern keeps them is the same."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch

from libsparse._storage.pattern import Pattern

from . import steps
from .notes import notes
from .steps import Plan, Reader

_KEPT = 128  # computations that a pattern keeps

Known = bool | None
"""Whether steps were run; None where a computation has none, False before that is known."""


def run(
    name: tuple[Any, ...],
    values: list[Any],
    patterns: list[Pattern | None],
    operation: Callable[[], Any],
    reads_all: bool,
) -> tuple[Any, Known]:
    """The result of an operation: by its steps where they are known, which are looked for in its second call.

    Args:
        name: What operations with the same steps have in common, besides the patterns that are not the first.
        values: The elements of its arguments, None where one has none; results of steps are added.
        patterns: Their patterns, None of dense ones; one at least is there. Those of steps are added.
        operation: It returns an operand or a tensor.
        reads_all: Whether an argument that no step reads has been read in another way.
    """
    home, *others = [pattern for pattern in patterns if pattern is not None]
    kept, count = home.repeated, len(values)
    known = kept.get(name, False)
    if known is None:
        return operation(), None
    if known:
        plan, refs = known
        if not refs or all(ref() is pattern for ref, pattern in zip(refs, others, strict=True)):
            try:
                result = steps.run(plan, values, patterns)
            except RuntimeError:  # said in its own words by the operation
                result = None
            if result is not None:
                return result, True
            del values[count:], patterns[count:]
    _drop(kept)
    if known is False:  # many operations are the only one on their patterns, and noting them takes as long as some
        kept[name] = ()
        return operation(), False
    result, plan = _noted(operation, Reader(values, patterns, reads_all=reads_all))
    kept[name] = None if plan is None else (plan, [weakref.ref(pattern) for pattern in others])
    return result, None if plan is None else True


def _drop(kept: dict[Any, Any]) -> None:
    """Drops computations on patterns that are gone, of whose results arrays are kept; where there are too many, others.

    Of many, which take time to look through, one call in 16 does it.
    """
    if len(kept) >= 16 and len(kept) % 16:
        return
    for name, known in list(kept.items()):
        if known and any(ref() is None for ref in known[1]):
            kept.pop(name, None)
    if len(kept) >= _KEPT:
        for name, known in list(kept.items()):
            if known == ():  # came only once
                kept.pop(name, None)
        if len(kept) >= _KEPT // 2:
            kept.clear()


def _noted(operation: Callable[[], Any], reader: Reader) -> tuple[Any, Plan | None]:
    """The result of an operation, and what it came to where that was steps of known effect alone."""
    notes.runs = []
    try:
        if torch.is_inference_mode_enabled():  # whose tensors don't count how often they are written to
            with torch.inference_mode(False), torch.no_grad():
                result = operation()
        else:
            result = operation()
        runs = notes.runs
    finally:
        notes.runs = None
    return result, reader.read(result, runs)
