"""Calls on new patterns that are like calls on others: the kernel of one serves all operands of its classes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from libsparse._compiler import kernel, request, settings
from libsparse._storage import threads

from . import tally
from .call import Call
from .direct import native
from .outlines import outline_of
from .problem import Operand, Problem
from .requests import are_few, is_few, may_be_tuned, of_classes, signature, spread

_BEFORE = 2  # calls before the one for which bindings are made
_SIGNATURES_KEPT = 1024  # calls, from which those of other patterns of the same shapes, or classes of shapes, begin


def keep(name: tuple[Any, ...], call: Call) -> None:
    """Has calls of other patterns of the same shapes begin with this one, where they may."""
    if len(kernel.prepared) >= _SIGNATURES_KEPT:
        kernel.prepared.clear()
    if call.serves_others():
        kernel.prepared[name] = call.anew()


def of_like_shapes(
    name: tuple[Any, ...], problem: Problem, operands: Sequence[Operand], extents: dict[str, int]
) -> Call | None:
    """The call that one with shapes of the same classes makes; None where there is none."""
    like: Call | None = kernel.prepared.get(of_classes(name, problem, operands, extents))
    if like is None:
        return None
    call = like.resized(problem, operands, extents)
    keep(name, call)
    return call


def bound(problem: Problem, operands: Sequence[Operand]) -> tuple[Any, Any] | None:
    """What is known of a kernel for operands, and the kernel with their arrays, or what it has found.

    Both are explained in bindings.py. None where no binding takes them.
    """
    if tally.watching:
        return None
    name = bindings_of(problem, operands)
    known = kernel.prepared.get(name, 0)
    return None if type(known) is int else known.take(operands)


def bindings_of(problem: Problem, operands: Sequence[Operand]) -> tuple[Any, ...]:
    """The name of the bindings of a problem that operands may have."""
    outline, small = outline_of(problem, operands), are_few(operands)
    few, records = outline.scatters and is_few(problem, operands, outline), None
    if request.tuned():  # whether there is a faster schedule on record depends on these, too
        records = threads.count(), settings.cache_dir()
    return outline, few, small or spread(outline, operands), records


def once(problem: Problem, operands: Sequence[Operand]) -> Call | None:
    """The call that computes a problem on other patterns like these, which perhaps never come back.

    None where there is none, and where whoever tunes, or looks for faster schedules, is to see what is prepared.
    """
    wanted = problem.output_format
    if tally.watching or not kernel.has_any() or (wanted is not None and wanted.writable != wanted):
        return None
    name = signature(problem, operands, wide=False, counted=False, few=None)
    like: Call | None = None if name is None else kernel.prepared.get(name)
    if name is not None and like is None:
        like = of_like_shapes(name, problem, operands, problem.extents(operands))
    if like is None or like.is_relaid or may_be_tuned(name):
        return None
    if native is not None:
        _seen(like, problem, operands)
    return like


def _seen(like: Call, problem: Problem, operands: Sequence[Operand]) -> None:
    """Makes the binding of a call where there have been some like it: to make one takes as long as five without."""
    name = bindings_of(problem, operands)
    known = kernel.prepared.get(name, 0)
    if type(known) is int and known < _BEFORE:
        kernel.prepared[name] = known + 1
        return
    if type(known) is int:
        from . import bindings  # with the first binding

        known = kernel.prepared[name] = bindings.Bindings(like.finds)
    known.add(like, problem, operands)


_on_few: dict[Hashable, int] = {}  # how often each function has been called on few entries


def pays(function: Hashable) -> bool:
    """Whether a function of few entries has been called so often that its kernel would have paid for its compilation.

    A call by the kernel takes half a millisecond less; to compile it takes as long as a hundred of these.
    """
    _on_few[function] = calls = _on_few.get(function, 0) + 1
    return calls > 100
