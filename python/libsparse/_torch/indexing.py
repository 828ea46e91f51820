"""torch's functions that select elements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, UnsupportedError
from libsparse._ops.indexing import diagonals, getitem, joining
from libsparse._ops.operands import NUMBERS, to_operand
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

implements(Tensor.__getitem__, layouts="raises")(getitem.index)
implements(*named("index_select", torch, Tensor), layouts="raises")(getitem.index_select)
implements(*named("select", torch, Tensor), layouts="raises")(getitem.select)
implements(*named("narrow narrow_copy", torch, Tensor), layouts="raises")(getitem.narrow)
implements(*named("masked_select", torch, Tensor), layouts="raises")(getitem.masked_select)
implements(*named("take", torch, Tensor), layouts="raises")(getitem.take)
implements(*named("diagonal", torch, Tensor), layouts="raises")(diagonals.diagonal)
implements(*named("diag", torch, Tensor), layouts="raises")(diagonals.diag)
implements(*named("diag_embed", torch, Tensor), layouts="raises")(diagonals.diag_embed)
implements(*named("diagflat", torch, Tensor), layouts="raises")(diagonals.diagflat)
implements(*named("tril", torch, Tensor), layouts="raises")(diagonals.tril)
implements(*named("triu", torch, Tensor), layouts="raises")(diagonals.triu)


@implements(torch.linalg.diagonal, layouts="raises")
def diagonal_of_matrices(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return diagonals.diagonal(A, offset, dim1, dim2)


@implements(Tensor.__setitem__)
def assign(input: Any, key: Any, value: Any) -> None:
    """Refuses `input[key] = value`: patterns are shared and don't change."""
    raise UnsupportedError(
        "A[...] = x: the entries of an ls.SparseTensor don't change in place; use A.with_values(values) for other "
        "values, A.set_diag(values) or A.fill_diag(value) for a diagonal, torch.cat for other rows, or ls.from_coo"
    )


@implements(Tensor.__iter__)
def iterate(input: Any) -> Iterator[Any]:
    """The slices at every coordinate of the first dimension."""
    return map(dress, joining.rows(input))


@implements(Tensor.__contains__)
def contains(input: Any, element: Any) -> bool:
    """Whether an element, stored or not, has this value."""
    operand = to_operand(input)
    if not isinstance(element, (*NUMBERS, Tensor)):
        raise DtypeError(f"element in A: {type(element).__name__} is no number")
    stored = operand.sparsity.entries(operand.values)
    if bool((stored == element).any()):
        return True
    return stored.numel() < math.prod(operand.shape) and bool(operand.fill == element)
