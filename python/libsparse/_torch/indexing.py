"""torch's functions that select elements of a tensor."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError, ShapeError, UnsupportedError
from libsparse._ops.indexing import diagonals, getitem, joining
from libsparse._ops.indexing.entries import wrap
from libsparse._ops.indexing.keys import true_elements
from libsparse._ops.operands import NUMBERS, is_sparse, to_operand
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

implements(*named("index_select", torch, Tensor), layouts="raises")(getitem.index_select)
implements(*named("select", torch, Tensor), layouts="raises")(getitem.select)
implements(*named("narrow narrow_copy", torch, Tensor), layouts="raises")(getitem.narrow)
implements(*named("masked_select", torch, Tensor), layouts="raises")(getitem.masked_select)
implements(*named("take", torch, Tensor), layouts="raises")(getitem.take)
implements(*named("gather", torch, Tensor), layouts="raises")(getitem.gather)
implements(*named("diagonal", torch, Tensor), layouts="raises")(diagonals.diagonal)
implements(*named("diag", torch, Tensor), layouts="raises")(diagonals.diag)
implements(*named("diag_embed", torch, Tensor), layouts="raises")(diagonals.diag_embed)
implements(*named("diagflat", torch, Tensor), layouts="raises")(diagonals.diagflat)
implements(*named("tril", torch, Tensor), layouts="raises")(diagonals.tril)
implements(*named("triu", torch, Tensor), layouts="raises")(diagonals.triu)


@implements(*named("take_along_dim", torch, Tensor), layouts="raises")
def take_along_dim(input: Any, indices: Any, dim: int | None = None) -> Any:
    """As `gather`, of an index that is broadcast with the tensor in the other dimensions; without `dim` by numbers."""
    if not is_sparse(input) or not isinstance(indices, Tensor) or is_sparse(indices):
        raise DtypeError("take_along_dim: expected a sparse tensor and dense indices of dtype int64")
    if dim is None:
        return getitem.take(input, indices.reshape(-1))
    along = wrap(dim, input.ndim, "take_along_dim")
    own, given = ([*shape[:along], 1, *shape[along + 1 :]] for shape in (input.shape, indices.shape))
    try:
        common = torch.broadcast_shapes(own, given)
    except RuntimeError:
        common = torch.Size()
    if indices.ndim != input.ndim or len(common) != input.ndim:
        raise ShapeError(
            f"take_along_dim: indices has shape {tuple(indices.shape)}; expected one that is broadcast with "
            f"{tuple(input.shape)} in all but dimension {along}"
        )
    shapes = [[*common[:along], n, *common[along + 1 :]] for n in (input.shape[along], indices.shape[along])]
    tensor = input if list(input.shape) == shapes[0] else input.expand(shapes[0])
    return getitem.gather(tensor, along, indices.expand(shapes[1]))


@implements(torch.linalg.diagonal, layouts="raises")
def diagonal_of_matrices(A: Any, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Any:
    """The diagonals of matrices."""
    return diagonals.diagonal(A, offset, dim1, dim2)


@implements(Tensor.__getitem__, layouts="raises")
def take_part(input: Any, key: Any) -> Any:
    """`input[key]`, where one of the two is sparse."""
    return getitem.index(input, key) if is_sparse(input) else input[_dense_key(input, key)]


@implements(Tensor.__setitem__)
def assign(input: Any, key: Any, value: Any) -> None:
    """`input[key] = value`; of a sparse input only a number where a mask is true, as entries don't change in place."""
    if not is_sparse(input):
        if is_sparse(value):
            raise UnsupportedError(
                f"x[...] = A: A ({to_operand(value)}) is sparse, and x is dense; use A.to_dense(), or "
                "x[A.row, A.col] = A.values() for the stored entries of a matrix"
            )
        input[_dense_key(input, key)] = value
        return
    if isinstance(key, Tensor) and key.dtype == torch.bool and isinstance(value, NUMBERS):
        _fill_where(input, key, value)
        return
    raise UnsupportedError(
        "A[...] = x: the entries of an ls.SparseTensor don't change in place; use A.with_values(values) for other "
        "values, A.set_diag(values) or A.fill_diag(value) for a diagonal, torch.cat for other rows, "
        "A.masked_fill(mask[:, None], 0) for rows of zeros and A.masked_fill(mask, 0) for columns, or ls.from_coo"
    )


def _fill_where(input: Tensor, mask: Tensor, value: complex) -> None:
    """`input[mask] = value`: a mask of fewer dimensions stands for the first ones, where `masked_fill_` takes the last.

    Raises:
        IndexBoundsError: The mask has another shape than these dimensions.
    """
    if mask.ndim > input.ndim or mask.shape != input.shape[: mask.ndim]:
        raise IndexBoundsError(
            f"A[mask] = {value!r}: the mask has shape {tuple(mask.shape)} and A ({to_operand(input)}); expected a mask "
            "of the shape of A, or of its first dimensions"
        )
    input.masked_fill_(mask.reshape(*mask.shape, *[1] * (input.ndim - mask.ndim)), value)


def _dense_key(input: Tensor, key: Any) -> tuple[Any, ...]:
    """A key of a dense tensor, with index tensors in the places of sparse masks.

    Raises:
        DtypeError: A sparse tensor in it is no mask.
        IndexBoundsError: A mask has another shape than the dimensions that it stands for.
    """
    parts = key if isinstance(key, tuple) else (key,)
    counts = [_dimensions_of(part) for part in parts]
    dense: list[Any] = []
    for number, part in enumerate(parts):
        if not is_sparse(part):
            dense.append(part)
            continue
        if part.dtype != torch.bool:
            raise DtypeError(
                f"x[A]: A ({to_operand(part)}) has dtype {part.dtype}; expected a mask of dtype bool, or indices that "
                "are dense: A.values() of the stored ones, or A.to_dense()"
            )
        after_dots = any(other is ... for other in parts[:number])
        first = input.ndim - sum(counts[number:]) if after_dots else sum(counts[:number])
        there = input.shape[max(first, 0) : first + part.ndim]
        if part.shape != there:
            raise IndexBoundsError(
                f"x[mask]: the mask ({to_operand(part)}) stands for dimensions of shape {tuple(there)} of x, which has "
                f"shape {tuple(input.shape)}; expected a mask of their shape"
            )
        dense.extend(true_elements(part))
    return tuple(dense)


def _dimensions_of(part: Any) -> int:
    """How many dimensions a part of a key stands for."""
    if isinstance(part, Tensor) and part.dtype == torch.bool:
        return part.ndim
    return 0 if part is None or part is ... or isinstance(part, bool) else 1


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
