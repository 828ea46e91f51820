"""Repeated calls: an operation that came to kernel calls alone is those kernel calls for every call like it.

Reading the operands, checking shapes, promoting dtypes and finding the kernels takes an operation 40 to 400 us. When a
second call like it is done, it is looked at what it ran: if its result is that of a computed problem, whose operands
are the arguments as they came or results of other such problems, the first pattern among the arguments keeps these
steps. A call is like another one where functions, numbers, patterns, and dtypes, shapes and strides of dense tensors
are the same, autograd follows the same ones, and nothing else of torch follows it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.autograd import forward_ad

from libsparse._autograd import tape
from libsparse._lang import user_functions
from libsparse._ops.operands import PLAIN
from libsparse._runtime import layout, notes, repeats
from libsparse._runtime.direct import native
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_ENOUGH = 8  # calls that came to something else, until few more of a function are looked at
_SELDOM = 64  # then one in so many
_CONSTANTS = frozenset({bool, int, str, type(None), type(...), torch.dtype, Format})
_NEVER = 1 << 60
sparse_classes: set[type] = set()
"""The class of sparse tensors, which is defined above."""
_dress: Callable[[Any], Any]
_grad_enabled = torch.is_grad_enabled
_misses: dict[Any, int] = {}
"""How many calls of a function, by the types of its arguments, came to something else than steps of known effect."""


def know(sparse_class: type, dress: Callable[[Any], Any]) -> None:
    """Takes the class of sparse tensors, and the function that makes operands tensors."""
    global _dress
    sparse_classes.add(sparse_class)
    _dress = dress
    if native is not None:
        make_wrapper: Any = torch.Tensor._make_wrapper_subclass
        native.install_wrapping(sparse_class, Pattern, Operand, torch.strided, make_wrapper, dress)


class Known:
    """A class of sparse tensors that says `ordinary=True` of itself has the short ways, too; a base of SparseTensor."""

    def __init_subclass__(cls, ordinary: bool = False, **kwargs: Any) -> None:
        """Takes the class if its tensors are what they seem, as those that are yet to be computed are not."""
        super().__init_subclass__(**kwargs)
        if ordinary:
            sparse_classes.add(cls)


def call_in_python(function: Any, operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of `operation(*args, **kwargs)` as a tensor, by the short way where a call like it is known.

    Args:
        function: What names the operation.
        operation: It takes tensors and returns an operand, or whatever torch would.
        args: Its arguments.
        kwargs: Those by name.
    """
    return _dress(_result(function, operation, args, kwargs))


def _result(function: Any, operation: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The same, an operand where it is sparse."""
    tensors: list[Any] = []
    parts: list[Any] = [function, torch.get_default_dtype(), user_functions.version()]
    if not (_unwatched() and _described((*args, *kwargs.values()) if kwargs else args, parts, tensors)):
        return operation(*args, **kwargs)
    if kwargs:
        parts.extend(kwargs)
    patterns = [t._pattern if type(t) in sparse_classes else None for t in tensors]
    if not any(patterns):
        return operation(*args, **kwargs)
    values = [t._held if type(t) in sparse_classes else t for t in tensors]
    return _by_name(function, operation, args, kwargs, tuple(parts), values, patterns)


def _by_name(
    function: Any,
    operation: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    name: tuple[Any, ...],
    values: list[Any],
    patterns: list[Any],
) -> Any:
    """The result of a call with a name and tensors of these elements and patterns, unless few like it come to steps."""
    kinds = (function, *map(type, args))
    misses = _misses.get(kinds, 0)
    if misses >= _ENOUGH:
        _misses[kinds] = misses + 1
        if misses % _SELDOM:
            return operation(*args, **kwargs)
    computation = functools.partial(operation, *args, **kwargs)
    kind = None
    if native is not None and repeats.is_by_kind(operation):
        kind = functools.partial(native.kind_of_call, name, patterns)
    result, known = repeats.run(name, values, patterns, computation, True, kind)
    if known is None:
        _misses[kinds] = _misses.get(kinds, 0) + 1
    elif known and misses >= 0:
        _misses[kinds] = -_NEVER
    return result


def is_refused(error: TypeError) -> bool:
    """Whether an operation did not take its arguments, and so has not been called at all."""
    first = trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    # The first frame is that of the caller, which calls the operation by way of C.
    return trace is not None and (trace is first or trace.tb_frame.f_code in _CALLING)


def passes_on(function: Callable[..., Any]) -> None:
    """Says of a function that it hands its arguments over to an operation, which may refuse them."""
    _CALLING.add(function.__code__)


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
            parts += (id(pattern), None if held is None else (held.dtype, held.is_contiguous(), _followed(held)))
            parts += _same(held, tensors)
            tensors.append(value)
        elif kind in PLAIN:
            if value.layout is not torch.strided or not _plain(value):
                return False
            parts += (value.dtype, value.shape, value.stride(), _followed(value), *_same(value, tensors))
            tensors.append(value)
        elif kind in _CONSTANTS:
            parts += (kind, value)
        elif kind is float:
            if value != value:
                return False
            parts += (kind, value or str(value))  # zeros have signs
        elif kind is slice:
            parts.append(kind)
            if not _described((value.start, value.stop, value.step), parts, tensors):
                return False
        elif kind is tuple or kind is list:
            parts += (kind, len(value))
            if len(value) > 16 or not _described(value, parts, tensors):
                return False
        else:
            return False
    return True


def _same(values: Any, tensors: Sequence[Any]) -> tuple[Any, ...]:
    """Where elements are those of an earlier tensor, its number: the plan of a call like this reads them once."""
    held = [t._held if type(t) in sparse_classes else t for t in tensors]
    found = None if values is None else next((n for n, other in enumerate(held) if other is values), None)
    return () if found is None else ("same", found)


def _plain(value: Any) -> bool:
    """Whether a tensor is nothing but elements in memory."""
    return type(value) in PLAIN and value.is_cpu and not value.is_neg() and not value.is_conj()


def _followed(value: Any) -> bool:
    """Whether autograd follows what is done to a tensor."""
    return bool(value.requires_grad) and _grad_enabled()


call: Callable[[Any, Callable[..., Any], Sequence[Any], dict[str, Any]], Any] = call_in_python
"""In C where there is a C compiler."""

if native is not None:
    native.install_descriptions(sparse_classes, _CONSTANTS, user_functions, torch.get_default_dtype)
    native.install_repeats(notes.notes, _by_name, layout.contiguous)
    call = native.call

_OF_REPEATS = (repeats.run, repeats._like_others, repeats._noted)
_CALLING = {f.__code__ for f in (call_in_python, _result, _by_name, *_OF_REPEATS)}
