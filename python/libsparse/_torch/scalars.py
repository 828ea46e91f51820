"""What torch asks of a tensor of one element, and where a tensor is not zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops.operands import to_operand
from libsparse._storage import ordinary, packing, sorting
from libsparse._storage.pattern import Pattern

from .registry import implements, named

_QUESTIONS = "item __bool__ __float__ __int__ __index__ __complex__ is_nonzero"


def _of_one(name: str) -> Callable[..., Any]:
    def handler(input: Any) -> Any:
        if input.numel() != 1:
            raise ShapeError(f"{name.strip('_')} of a tensor with {input.numel()} elements; expected one")
        return getattr(input.to_dense().reshape(()), name)()

    handler.__name__, handler.__doc__ = name, f"`torch.Tensor.{name}` of a tensor of one element."
    return handler


for _name in _QUESTIONS.split():
    implements(*named(_name, Tensor))(_of_one(_name))
implements(torch.is_nonzero)(_of_one("is_nonzero"))


@implements(*named("nonzero argwhere", torch, Tensor), layouts="raises")
def nonzero(input: Any, *, as_tuple: bool = False) -> Any:
    """The coordinates of the elements that are not zero, (count, ndim), int64, ascending.

    Args:
        input: Without a fill value.
        as_tuple: Whether to give one tensor for each dimension.
    """
    source = to_operand(input)
    source.need_zero_fill("nonzero")
    pattern = source.sparsity
    there = pattern.entries(source.values.detach()) != 0
    special = pattern.traced or ordinary.in_transform() is not None
    if not special and _ascends(pattern) and bool(there.all()):
        arrays = pattern.format, pattern.extents, pattern.pos, pattern.crd
        coords = packing.expand_levels(*arrays, beside=not as_tuple)[0]  # which nobody else sees
        return tuple(coords) if as_tuple else coords.t().contiguous()
    found = pattern.coordinates() if not special and bool(there.all()) else pattern.coordinates()[:, there]
    order = sorting.sort_order(list(found), pattern.shape)
    found = found if order is None else found[:, order]
    return tuple(found.clone()) if as_tuple else torch.stack(list(found), 1)


def _ascends(pattern: Pattern) -> bool:
    """Whether a walk comes to the entries in row-major order."""
    levels = pattern.format.kinds
    in_order = pattern.format.order == tuple(range(len(levels))) and all([level.ordered for level in levels])
    return in_order and not pattern.format.padded


@implements(Tensor.sparse_dim)
def sparse_dim(input: Any) -> int:
    """How many dimensions are not those of values that are arrays."""
    operand = to_operand(input)
    return operand.ndim - len(operand.sparsity.block)


@implements(Tensor.dense_dim)
def dense_dim(input: Any) -> int:
    """How many dimensions are those of values that are arrays."""
    return len(to_operand(input).sparsity.block)


@implements(Tensor._values)
def values(input: Any) -> Tensor:
    """The values, cut from autograd's graph."""
    found: Tensor = input.values().detach()
    return found


@implements(Tensor._indices)
def indices(input: Any) -> Tensor:
    """The coordinates of the entries."""
    found: Tensor = input.indices()
    return found


@implements(Tensor.get_device, torch.get_device)
def get_device(input: Any) -> int:
    """-1, the CPU."""
    return -1


@implements(Tensor.is_pinned)
def is_pinned(input: Any, device: Any = None) -> bool:
    """Whether every array is in pinned memory."""
    data = to_operand(input).data
    return all(array.is_pinned() for array in (*input.pattern.tensors(), *(() if data is None else [data])))


implements(Tensor.pin_memory)(lambda input, *args, **options: input.pin_memory(*args, **options))
