"""Repeated calls: an operation that came to kernel calls alone is those kernel calls for every call like it.

Reading the operands, checking shapes, promoting dtypes and finding the kernels takes an operation 40 to 400 us. When a
second call like it is done, it is looked at what it ran: if its result is that of a prepared problem, whose operands
are the arguments as they came or results of other such problems, the first pattern among the arguments keeps these
problems. A call is like another one where functions, numbers, patterns, and dtypes, shapes and strides of dense tensors
are the same, and neither autograd nor anything else of torch follows it.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from libsparse._autograd import tape
from libsparse._lang import user_functions
from libsparse._ops.operands import PLAIN
from libsparse._runtime import notes
from libsparse._runtime.steps import Reader, Steps
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_KEPT = 128  # calls that a pattern keeps
_ENOUGH = 8  # calls that came to something else, until few more of a function are looked at
_SELDOM = 64  # then one in so many
_CONSTANTS = frozenset({bool, int, str, type(None), torch.dtype, Format})
_NEVER = 1 << 60
sparse_classes: set[type] = set()
"""The class of sparse tensors, which is defined above."""
_grad_enabled = torch.is_grad_enabled
_misses: dict[Any, int] = {}
"""How many calls of a function, by the types of its arguments, came to something else than steps of known effect."""


def call(function: Any, operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of `operation(*args, **kwargs)`, by the short way where a call like it is known.

    Args:
        function: What names the operation.
        operation: It takes tensors and returns an operand, or whatever torch would.
        args: Its arguments.
        kwargs: Those by name.
    """
    kinds = (function, *map(type, args))
    misses = _misses.get(kinds, 0)
    if misses >= _ENOUGH:
        _misses[kinds] = misses + 1
        if misses % _SELDOM:
            return operation(*args, **kwargs)
    tensors: list[Any] = []
    parts: list[Any] = [function, torch.get_default_dtype(), user_functions.version()]
    if not (_described((*args, *kwargs.values()) if kwargs else args, parts, tensors) and _unwatched()):
        return operation(*args, **kwargs)
    if kwargs:
        parts.extend(kwargs)
    sparse = [t for t in tensors if type(t) in sparse_classes]
    if not sparse:
        return operation(*args, **kwargs)
    kept, name = sparse[0]._pattern.repeated, tuple(parts)
    known = kept.get(name, False)
    if known is None:
        _misses[kinds] = _misses.get(kinds, 0) + 1
        return operation(*args, **kwargs)
    if known and all(ref() is t._pattern for ref, t in zip(known[1], sparse[1:], strict=True)):
        try:
            result = known[0](*_parts(tensors))
        except RuntimeError:  # said in its own words by the operation
            result = None
        if result is not None:
            return result
    _drop(kept)
    if known is False:  # many calls are the only one on their patterns, and noting them takes as long as some
        kept[name] = ()
        return operation(*args, **kwargs)
    result, steps = _noted(operation, args, kwargs, tensors)
    if steps is None:
        kept[name], _misses[kinds] = None, _misses.get(kinds, 0) + 1
    else:
        kept[name], _misses[kinds] = (steps, [weakref.ref(t._pattern) for t in sparse[1:]]), -_NEVER
    return result


def _drop(kept: dict[Any, Any]) -> None:
    """Drops calls on patterns that are gone, of whose results arrays are kept; all where there are too many."""
    for name, known in list(kept.items()):
        if known and any(ref() is None for ref in known[1]):
            kept.pop(name, None)
    if len(kept) >= _KEPT:
        kept.clear()


def is_refused(error: TypeError) -> bool:
    """Whether an operation did not take its arguments, and so has not been called at all."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return trace is not None and trace.tb_frame.f_code in _CALLING


def _unwatched() -> bool:
    """Whether nothing of torch wants to see each operation, and no notes are taken already."""
    return notes.notes.runs is None and forward_ad._current_level < 0 and not tape.is_watched()


def _described(args: Sequence[Any], parts: list[Any], tensors: list[Any]) -> bool:
    """Adds to `parts` what arguments have in common with those of a call like this; False where that can't be said."""
    for value in args:
        kind = type(value)
        again = next((number for number, tensor in enumerate(tensors) if tensor is value), None)
        if again is not None:
            parts += ("again", again)
        elif kind in sparse_classes:
            held, pattern = value._held, value._pattern
            if value._fill != 0 or (held is not None and not (_plain(held) and held.numel() == pattern.size)):
                return False
            parts += (id(pattern), None if held is None else (held.dtype, held.is_contiguous()))
            tensors.append(value)
        elif kind in PLAIN:
            if value.layout is not torch.strided or not _plain(value):
                return False
            parts += (value.dtype, value.shape, value.stride())
            tensors.append(value)
        elif kind in _CONSTANTS:
            parts += (kind, value)
        elif kind is float:
            if value != value:
                return False
            parts += (kind, value or str(value))  # zeros have signs
        elif kind is tuple or kind is list:
            parts += (kind, len(value))
            if len(value) > 16 or not _described(value, parts, tensors):
                return False
        else:
            return False
    return True


def _plain(value: Any) -> bool:
    """Whether a tensor is nothing but elements in memory that nothing follows."""
    return (
        type(value) in PLAIN
        and value.is_cpu
        and not (value.requires_grad and _grad_enabled())
        and not value.is_neg()
        and not value.is_conj()
    )


def _parts(tensors: list[Any]) -> tuple[list[Any], list[Pattern | None]]:
    """The elements and the patterns of tensors, None where they have none."""
    values = [t._held if type(t) in sparse_classes else t for t in tensors]
    return values, [t._pattern if type(t) in sparse_classes else None for t in tensors]


def _noted(
    operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], tensors: list[Any]
) -> tuple[Any, Steps | None]:
    """The result of an operation, and what it came to where that was steps of known effect alone."""
    reader, notes.notes.runs = Reader(*_parts(tensors)), []
    try:
        if torch.is_inference_mode_enabled():  # whose tensors don't count how often they are written to
            with torch.inference_mode(False), torch.no_grad():
                result = operation(*args, **kwargs)
        else:
            result = operation(*args, **kwargs)
        runs = notes.notes.runs
    finally:
        notes.notes.runs = None
    return result, reader.read(result, runs)


_CALLING = frozenset({call.__code__, _noted.__code__})
