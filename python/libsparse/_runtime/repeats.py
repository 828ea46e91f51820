"""Repeats: computations that come to the same steps whenever the name by which a pattern keeps them is the same.

Of some operations a call on a pattern that is new, as those of mini-batches are, comes to the problem of one on another
pattern of the same kind: of the same format, shape and blocks.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import torch

from libsparse._storage.pattern import Pattern

from . import steps
from .notes import Run, notes
from .problem import Operand
from .steps import Reader

Known = bool | None
"""Whether steps were run; None where a computation has none, False before that is known."""

_KEPT = 128  # computations that a pattern keeps
_KINDS = 512  # of calls whose problems are kept
_ADDRESSES = 3  # the place in a name of what describes tensors, in C
_Operation = TypeVar("_Operation", bound=Callable[..., Any])
_by_kind: set[Any] = set()
_problems: dict[Any, Any] = {}
"""The problem of each kind of calls and what its operands are, () after one call, None where there is none."""


def by_kind(operation: _Operation) -> _Operation:
    """Says of an operation that no more of patterns than their kinds decides which problem it comes to."""
    _by_kind.add(operation)
    return operation


def run(
    name: tuple[Any, ...],
    values: list[Any],
    patterns: list[Pattern | None],
    operation: Callable[[], Any],
    reads_all: bool,
    kind: Callable[[], tuple[Any, ...] | None] | None = None,
) -> tuple[Any, Known]:
    """The result of an operation: by its steps where they are known, which are looked for in its second call.

    Args:
        name: What operations with the same steps have in common, besides the patterns that are not the first.
        values: The elements of its arguments, None where one has none; results of steps are added.
        patterns: Their patterns, None of dense ones; one at least is there. Those of steps are added.
        operation: It returns an operand or a tensor.
        reads_all: Whether an argument that no step reads has been read in another way.
        kind: The name of all computations that come to the same problem on patterns of the same kinds, None of one for
            which that is not so.
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
        alike = None if kind is None else kind()
        return operation() if alike is None else _like_others(alike, values, patterns, operation, reads_all), False
    reader = Reader(values, patterns, reads_all=reads_all)
    result, runs = _noted(operation)
    plan = reader.read(result, runs)
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


def is_by_kind(operation: Any) -> bool:
    """Whether an operation is `by_kind`."""
    return operation in _by_kind


def numbered(patterns: Sequence[Pattern | None]) -> tuple[dict[int, int], list[Any]]:
    """The number of each pattern by its address, and the kinds of the patterns by these numbers."""
    numbers: dict[int, int] = {}
    kinds: list[Any] = []
    for pattern in patterns:
        if pattern is not None and id(pattern) not in numbers:
            numbers[id(pattern)] = len(kinds)
            kinds.append((pattern.format, pattern.shape, pattern.block))
    return numbers, kinds


def kind_of_call(name: tuple[Any, ...], patterns: Sequence[Pattern | None]) -> tuple[Any, ...] | None:
    """What a call has in common with those on other patterns of the same kinds; None where C has not described it."""
    if len(name) <= _ADDRESSES or type(name[_ADDRESSES]) is not bytes:
        return None
    words = memoryview(name[_ADDRESSES]).cast("q").tolist()
    numbers, kinds = numbered(patterns)
    for place, word in enumerate(words):
        if word in numbers:
            words[place] = numbers[word]
            if words[place + 1]:  # behind dtype and rank, how many values there are
                words[place + 4] = 0
    return (*name[:_ADDRESSES], *words, *name[_ADDRESSES + 1 :], *kinds)


def _like_others(
    kind: tuple[Any, ...],
    values: list[Any],
    patterns: list[Pattern | None],
    operation: Callable[[], Any],
    reads_all: bool,
) -> Any:
    """The result of an operation: by the problem of its kind where that is known, which the second call looks for."""
    known = _problems.get(kind, False)
    if known:
        compute, sources, fill, view = known
        try:
            data, pattern = compute(steps.operands(sources, values, patterns))
        except RuntimeError:  # said in its own words by the operation
            return operation()
        return steps.seen(data, view) if fill is None else Operand(pattern, data, fill)
    if known is None:
        return operation()
    if known is False:
        if len(_problems) >= _KINDS:
            _problems.clear()
        _problems[kind] = ()
        return operation()
    reader = Reader(values, patterns, reads_all=reads_all)
    result, runs = _noted(operation)
    _problems[kind] = reader.problem(result, runs)
    return result


def _noted(operation: Callable[[], Any]) -> tuple[Any, list[Run]]:
    """The result of an operation, and what it ran."""
    notes.runs = []
    try:
        if torch.is_inference_mode_enabled():  # whose tensors don't count how often they are written to
            with torch.inference_mode(False), torch.no_grad():
                result = operation()
        else:
            result = operation()
        return result, notes.runs
    finally:
        notes.runs = None
