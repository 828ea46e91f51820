"""Functions that give elements other places, as one operator of a graph: `torch.ops.libsparse.move`.

The operator calls the function on a tensor whose values are numbered: the numbers in the result are the places of its
values among those of the operands, 0 for elements that are not stored. In the graph, values are taken from there, and
autograd follows them.
"""

from __future__ import annotations

import functools
import json
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import UnsupportedError
from libsparse._ops import tracing
from libsparse._ops.assemble import to_format
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format

from .library import define, read
from .patterns import Arrays, copied, fake_arrays, faked, index_dtype, put_together, taken_apart


class Arguments:
    """The arguments of a call, of which a graph carries tensors and numbers apart from the rest.

    Attributes:
        operands: The sparse tensors, and dense ones whose values are moved.
        tensors: Other tensors.
        numbers: The integers, which may be symbols.
        text: The rest as JSON.
    """

    def __init__(self, given: Any) -> None:
        self.operands: list[Operand] = []
        self.tensors: list[Tensor] = []
        self.numbers: list[Any] = []
        self.text = json.dumps(self._pack(given), separators=(",", ":"))

    def _pack(self, value: Any) -> Any:
        if isinstance(value, Operand) or is_sparse(value):
            return self._listed("operand", self.operands, to_operand(value))
        if isinstance(value, Tensor):
            return self._listed("tensor", self.tensors, value)
        if isinstance(value, (int, torch.SymInt)) and not isinstance(value, bool):
            return self._listed("number", self.numbers, value)
        if isinstance(value, slice):
            return {"slice": [self._pack(part) for part in (value.start, value.stop, value.step)]}
        if value is Ellipsis:
            return {"ellipsis": None}
        if isinstance(value, (list, tuple)):
            return {type(value).__name__ if type(value) is list else "tuple": [self._pack(part) for part in value]}
        if isinstance(value, dict):
            return {"dict": {name: self._pack(part) for name, part in value.items()}}
        return value

    @staticmethod
    def _listed(kind: str, parts: list[Any], value: Any) -> dict[str, int]:
        parts.append(value)
        return {kind: len(parts) - 1}


def _unpacked(value: Any, parts: dict[str, Sequence[Any]]) -> Any:
    """What `Arguments` packed, with other tensors and numbers in their places."""
    if not isinstance(value, dict):
        return value
    [(kind, given)] = value.items()
    if kind in parts:
        return parts[kind][given]
    if kind == "ellipsis":
        return Ellipsis
    if kind == "dict":
        return {name: _unpacked(part, parts) for name, part in given.items()}
    listed = [_unpacked(part, parts) for part in given]
    return slice(*listed) if kind == "slice" else tuple(listed) if kind == "tuple" else listed


def move(name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Operand:
    """Calls a function of `tracing.movers` on operands without elements."""
    from libsparse._ops.indexing.entries import kept_format  # which is loaded, unlike when this file is

    if name == "index":
        args = (args[0], _without_masks(args[1]))
    given = Arguments([args, kwargs])
    operands, first = given.operands, given.operands[0]
    if tracing.movers[name].zero_fill:
        first.need_zero_fill(name)
    if any(o.fill != first.fill for o in operands if o.pattern is not None):
        raise UnsupportedError(f"{name}: the fill values of the tensors differ; use to_dense()")
    shape = _shape(name, given)
    elements = (
        not shape or (name in ("take", "gather")) or (name == "index" and _names_elements(args[1], len(first.shape)))
    )
    format = None if elements else kept_format(first.sparsity.format, shape)
    formats, extents, arrays = [], [], []
    for operand in operands:
        parts = Arrays("", [operand.values.numel()], []) if operand.pattern is None else taken_apart(operand.pattern)
        formats.append(parts.format and parts.format + "?")
        extents += parts.shape
        arrays += parts.tensors
    values = [operand.data for operand in operands if operand.data is not None]
    arrays, tensors = faked(arrays, values), faked(given.tensors, values)
    text = "" if format is None else format.text
    places, *levels = torch.ops.libsparse.move(
        name, given.text, formats, extents, arrays, tensors, given.numbers, text, list(shape)
    )
    data = _taken(operands, places)
    if format is None:
        return Operand(None, data.reshape(shape))
    only_pattern = all(operand.data is None for operand in operands) and not format.pads
    return Operand(put_together(Arrays(text, list(shape), levels)), None if only_pattern else data, first.fill)


def _taken(operands: Sequence[Operand], places: Tensor) -> Tensor:
    """The values of operands at these places, of which 0 is an element that is not stored; differentiable."""
    datas = [operand.values for operand in operands]
    dtype = functools.reduce(torch.promote_types, [data.dtype for data in datas])
    fill = datas[0].new_full((1,), operands[0].fill, dtype=dtype)
    return torch.cat([fill, *(data.to(dtype).reshape(-1) for data in datas)]).index_select(0, places)


def _shape(name: str, given: Arguments) -> tuple[Any, ...]:
    """The shape of the result: that of torch's function of dense tensors, which are never allocated."""
    dense = [torch.empty(operand.shape, dtype=torch.bool, device="meta") for operand in given.operands]
    others = [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in given.tensors]
    parts: dict[str, Sequence[Any]] = {"operand": dense, "tensor": others, "number": given.numbers}
    args, kwargs = _unpacked(json.loads(given.text), parts)
    return tuple(tracing.movers[name].dense(*args, **kwargs).shape)


def _without_masks(key: Any) -> Any:
    """A key with the coordinates where its masks are true in their places."""
    from libsparse._ops.indexing.keys import true_elements  # which is loaded, unlike when this file is

    items: list[Any] = []
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, Tensor) and item.dtype in (torch.bool, torch.uint8) and item.ndim:
            items += true_elements(item if item.dtype == torch.bool else item != 0)
        else:
            items.append(item)
    return tuple(items)


def _names_elements(key: Any, ndim: int) -> bool:
    """Whether integers and tensors stand for every dimension, so that the result is dense."""
    items = key if isinstance(key, tuple) else (key,)
    chosen = [item for item in items if not isinstance(item, (slice, bool)) and item is not None]
    return not any(isinstance(item, slice) for item in items) and len([i for i in chosen if i is not ...]) == ndim


# The operator --------------------------------------------------------------------------------------------------


def _move(
    function: str,
    arguments: str,
    formats: Sequence[str],
    extents: Sequence[int],
    arrays: Sequence[Tensor],
    tensors: Sequence[Tensor],
    numbers: Sequence[int],
    format: str,
    shape: Sequence[int],
) -> list[Tensor]:
    """The places of the values of the result among those of the operands, from 1 on, and the arrays of its pattern."""
    # Importing a module registers its functions; a graph that is read from a file may be the first to call one.
    from libsparse._ops.indexing import diagonals, getitem, joining, reshaping  # noqa: F401

    operands: list[Any] = []
    first, left, lengths = 1, list(arrays), list(extents)
    for text in formats:
        if text:
            ndim = len(Format(text.rstrip("?")).order)
            [operand] = read([text], lengths[:ndim], left, [])
            del lengths[:ndim], left[: len(operand.sparsity.tensors())]
            numbered = torch.arange(first, first + operand.sparsity.size, device="cpu")
            operands.append(operand.with_data(numbered))
        else:
            numbered = torch.arange(first, first + lengths.pop(0), device="cpu")
            operands.append(Operand(None, numbered))
        first += numbered.numel()
    args, kwargs = _unpacked(json.loads(arguments), {"operand": operands, "tensor": tensors, "number": numbers})
    found = tracing.movers[function].function(*args, **kwargs)
    if not format:
        return [found.values.reshape(-1).clone()]
    found = to_format(found, format)
    return [found.values.clone(), *copied(found.sparsity, index_dtype(shape))]


def _fake_move(
    function: str,
    arguments: str,
    formats: Sequence[str],
    extents: Sequence[Any],
    arrays: Sequence[Tensor],
    tensors: Sequence[Tensor],
    numbers: Sequence[Any],
    format: str,
    shape: Sequence[Any],
) -> list[Tensor]:
    like = arrays[0]
    if not format:
        return [like.new_empty((math.prod(shape),), dtype=torch.int64)]
    levels = fake_arrays(Format(format), shape, index_dtype(shape), None, like)
    pattern = put_together(Arrays(format, list(shape), levels))
    return [like.new_empty((pattern.size,), dtype=torch.int64), *levels]


define(
    "move(str function, str arguments, str[] formats, SymInt[] extents, Tensor[] arrays, Tensor[] tensors, "
    "SymInt[] numbers, str format, SymInt[] shape) -> Tensor[]",
    _move,
    _fake_move,
)
