"""torch's functions of shapes, none of which moves an entry; and its reductions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops import reductions
from libsparse._ops.operands import to_operand
from libsparse._runtime.problem import Operand
from libsparse._tensor.sparse_tensor import SparseTensor

from .registry import getter, implements, named

implements(torch.sum, Tensor.sum, torch.sparse.sum)(reductions.sum)
implements(torch.mean, Tensor.mean)(reductions.mean)


@implements(torch.permute, Tensor.permute)
def permute(a: Any, *order: Any, dims: Sequence[int] = ()) -> Operand:
    """The tensor with its dimensions permuted."""
    source = to_operand(a)
    given = dims or (order[0] if len(order) == 1 and isinstance(order[0], Sequence) else order)
    order = tuple(int(d) for d in given)
    wrapped = tuple(d + source.ndim if d < 0 else d for d in order)
    if sorted(wrapped) != list(range(source.ndim)):
        raise ShapeError(f"permute: {order} is not a permutation of the {source.ndim} dimensions")
    return source._replace(pattern=source.sparsity.transposed(wrapped))


@implements(*named("transpose swapaxes swapdims", torch, Tensor))
def transpose(a: Any, dim0: int, dim1: int) -> Operand:
    """The tensor with two dimensions swapped."""
    dims = list(range(a.ndim))
    try:
        dims[dim0], dims[dim1] = dims[dim1], dims[dim0]
    except IndexError:
        raise ShapeError(f"transpose: dimension {dim0} or {dim1} is not one of {a.ndim}") from None
    return permute(a, dims)


@implements(torch.t, Tensor.t)
def t(a: Any) -> Operand:
    """The transpose of a matrix."""
    if a.ndim > 2:
        raise ShapeError(f"t() takes at most 2 dimensions, the tensor has {a.ndim}; use transpose or permute")
    return reverse(a)


@implements(getter("T"))
def reverse(a: Any) -> Operand:
    """The tensor with its dimensions reversed."""
    source = to_operand(a)
    return source._replace(pattern=source.sparsity.transposed(tuple(range(source.ndim)[::-1])))


@implements(getter("mT"))
def transpose_matrices(a: Any) -> Operand:
    """The tensor with its last two dimensions swapped."""
    return transpose(a, -2, -1)


implements(*named("numel", torch, Tensor))(SparseTensor.numel)
implements(Tensor.size)(SparseTensor.size)
