"""torch's functions of shapes, none of which moves an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops.operands import to_operand

from .registry import getter, implements, named


@implements(torch.permute, Tensor.permute)
def permute(input: Any, *order: Any, dims: Sequence[int] = ()) -> Any:
    """The tensor with its dimensions permuted."""
    source = to_operand(input)
    given = dims or (order[0] if len(order) == 1 and isinstance(order[0], Sequence) else order)
    order = tuple(int(d) for d in given)
    wrapped = tuple(d + source.ndim if d < 0 else d for d in order)
    if sorted(wrapped) != list(range(source.ndim)):
        raise ShapeError(f"permute: {order} is not a permutation of the {source.ndim} dimensions")
    return source._replace(pattern=source.sparsity.transposed(wrapped))


@implements(*named("transpose swapaxes swapdims", torch, Tensor))
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """The tensor with two dimensions swapped."""
    dims = list(range(input.ndim))
    try:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    except (IndexError, TypeError):
        raise ShapeError(f"transpose: dimension {dim0!r} or {dim1!r} is not one of {input.ndim}") from None
    return permute(input, dims)


@implements(torch.t, Tensor.t)
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2:
        raise ShapeError(f"t() takes at most 2 dimensions, the tensor has {input.ndim}; use transpose or permute")
    return reverse(input)


@implements(getter("T"), torch.ops.aten.numpy_T, torch.ops.aten.numpy_T.default)
def reverse(input: Any) -> Any:
    """The tensor with its dimensions reversed."""
    source = to_operand(input)
    return source._replace(pattern=source.sparsity.transposed(tuple(range(source.ndim)[::-1])))


@implements(getter("mT"), torch.ops.aten.mT, torch.ops.aten.mT.default)
def transpose_matrices(input: Any) -> Any:
    """The tensor with its last two dimensions swapped."""
    return transpose(input, -2, -1)


implements(*named("numel", torch, Tensor))(lambda input: input.numel())
implements(Tensor.size)(lambda input, *dim: input.size(*dim))
