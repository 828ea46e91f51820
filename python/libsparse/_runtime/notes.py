"""Notes: what an operation ran, by which a call like it is recognised as nothing but that."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple
from libsparse._storage import ordinary
from libsparse._storage.pattern import Pattern

_ARITHMETIC = frozenset({torch.mul, torch.div, torch.add, torch.sub, Tensor.__truediv__})
_EXACT = 2.0**53  # up to which integers are floats


class Run(NamedTuple):
    """A problem that was computed, or a function that was applied to elements.

    Attributes:
        function: What takes the operands of a problem, or the function.
        given: Operands of a problem; tensors and numbers of a function.
        data: The values of the result, or the dense result.
        pattern: The pattern of the result, None of a dense one.
        version: How often `data` had been written to then.
        parts: What ran in its place, where a problem takes several steps; the last one has its result.
    """

    function: Any
    given: Sequence[Any]
    data: Tensor
    pattern: Pattern | None
    version: int
    parts: Sequence[Run] = ()


class _Notes(threading.local):
    """The notes of each thread.

    Attributes:
        runs: What ran since the notes began; None while nobody takes any.
    """

    runs: list[Run] | None = None


notes = _Notes()


def run(problem: Any, operands: Sequence[Any]) -> tuple[Tensor, Pattern | None]:
    """Computes a problem, noted where notes are taken; what it runs itself is not.

    Args:
        problem: It is called with the operands, and may be called again with others like them: a prepared problem, or
            one that autograd follows.
        operands: Its operands (`problem.Operand`).
    """
    runs = notes.runs
    if runs is None:
        data, pattern = problem(operands)
        return data, pattern
    parts: list[Run] | None = [] if getattr(getattr(problem, "variant", None), "in_steps", False) else None
    notes.runs = parts
    try:
        data, pattern = problem(operands)
    finally:
        notes.runs = runs
    _add(runs, problem, operands, data, pattern, parts or ())
    return data, pattern


def apply(function: Callable[..., Tensor], *given: Any) -> Tensor:
    """Applies a function, noted where notes are taken.

    Args:
        function: What it returns depends on the elements of its arguments and nothing else that changes while patterns
            and numbers stay the same. It may write to the first one and return it.
        given: Tensors and numbers.
    """
    found = function(*given)
    applied(function, given, found)
    return found


def applied(function: Callable[..., Tensor], given: Sequence[Any], found: Tensor) -> None:
    """Notes that a function was applied, as `apply` does, by what it returned."""
    runs = notes.runs
    if runs is not None:
        _add(runs, function, given, found, None)


def decide(condition: Tensor) -> bool:
    """Whether a condition on elements holds, by which an operation decides what to do: another call may differ."""
    runs = notes.runs
    if runs is not None:
        runs.append(Run(None, (), condition, None, -1))
    return bool(condition)


def _add(
    runs: list[Run], function: Any, given: Sequence[Any], data: Any, pattern: Pattern | None, parts: Sequence[Run] = ()
) -> None:
    version = data._version if isinstance(data, Tensor) and not data.is_inference() else -1
    runs.append(Run(function, given, data, pattern, version, parts))


def in_parts(runs: Sequence[Run]) -> list[Run]:
    """What ran, each problem of several steps as these."""
    return [part for run in runs for part in (in_parts(run.parts) if run.parts else (run,))]


def unfollowed(run: Run) -> bool:
    """Whether a function was applied without autograd to a tensor that autograd follows."""
    followed = any(isinstance(x, Tensor) and x.requires_grad for x in run.given) and torch.is_grad_enabled()
    return followed and not run.data.requires_grad


def version(value: Tensor | None) -> int:
    """How often a tensor has been written to; inference tensors don't count."""
    return 0 if value is None or value.is_inference() else value._version


def as_scalars(function: Any, given: Sequence[Any]) -> Sequence[Any]:
    """What a function is given, with a number as a tensor where torch computes the same of it, in half of the time."""
    if function not in _ARITHMETIC or len(given) != 2:
        return given
    tensor, number = given
    exact = type(number) in (int, float) and abs(number) <= _EXACT and isinstance(tensor, Tensor)
    if not exact or tensor.dtype not in (torch.float32, torch.float64) or not tensor.ndim:
        return given
    with ordinary.tensors():
        return tensor, torch.tensor(float(number), dtype=tensor.dtype, device="cpu")
