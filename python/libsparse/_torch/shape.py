"""torch's functions of shapes, none of which moves an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops.indexing.entries import integers, wrap
from libsparse._ops.operands import to_operand

from .registry import getter, implements, named


@implements(torch.permute, Tensor.permute, layouts="compressed")
def permute(input: Any, *order: Any, dims: Sequence[int] = ()) -> Any:
    """The tensor with its dimensions permuted."""
    source = to_operand(input)
    given = dims or (order[0] if len(order) == 1 and isinstance(order[0], Sequence) else order)
    order = integers("permute: dims", given)
    if len(order) != source.ndim:
        raise ShapeError(f"permute: dims is {order}; expected a permutation of the dimensions of the tensor ({source})")
    wrapped = tuple(wrap(d, source.ndim, "permute") for d in order)
    if len(set(wrapped)) < len(wrapped):
        raise ShapeError(f"permute: dims is {order}; expected a permutation of the dimensions of the tensor ({source})")
    return source._replace(pattern=source.sparsity.transposed(wrapped))


@implements(*named("transpose swapaxes swapdims", torch, Tensor), layouts="compressed")
def transpose(input: Any, dim0: int, dim1: int) -> Any:
    """The tensor with two dimensions swapped."""
    first, second = (wrap(dim, input.ndim, "transpose") for dim in (dim0, dim1))
    dims = list(range(input.ndim))
    if dims:
        dims[first], dims[second] = second, first
    return permute(input, dims)


@implements(torch.t, Tensor.t, layouts="compressed")
def t(input: Any) -> Any:
    """The transpose of a matrix."""
    if input.ndim > 2:
        raise ShapeError(f"t: the tensor ({to_operand(input)}) has {input.ndim} dimensions; use transpose or permute")
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
