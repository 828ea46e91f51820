"""Elementwise operations, which act on stored values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import libsparse as ls

from .matrices import coordinates, in_one_order, val_like

if TYPE_CHECKING:
    from libsparse import SparseTensor


def add(A: SparseTensor, B: SparseTensor) -> SparseTensor:
    """The sum of two matrices, of the same entries or of others.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.add(ls.eye(2), ls.eye(2)).val.tolist()
        [2.0, 2.0]
    """
    total: SparseTensor = A + B
    return total


def sub(A: SparseTensor, B: SparseTensor) -> SparseTensor:
    """The difference of two matrices, of the same entries or of others.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sub(ls.eye(2) * 3, ls.eye(2)).val.tolist()
        [2.0, 2.0]
    """
    difference: SparseTensor = A - B
    return difference


def mul(A: Any, B: Any) -> SparseTensor:
    """The elementwise product of two matrices, or of a matrix and a number.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.mul(ls.eye(2), 3).val.tolist()
        [3.0, 3.0]
    """
    product: SparseTensor = A * B
    return product


def div(A: SparseTensor, B: Any) -> SparseTensor:
    """The quotients of the values of two matrices with the same entries, or a matrix divided by a number.

    Raises:
        ShapeError: The entries are others.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.div(ls.eye(2), ls.eye(2) * 4).val.tolist()
        [0.25, 0.25]
    """
    if not isinstance(B, ls.SparseTensor):
        quotient: SparseTensor = A / B
        return quotient
    same = A.shape == B.shape and A.nnz == B.nnz
    if same and A.pattern is not B.pattern:
        B = B.to_format(A.format)
        same = all(map(torch.equal, coordinates(A), coordinates(B)))
    if not same:
        raise ls.ShapeError(f"div: A ({A._facts()}) and B ({B._facts()}) store other entries; expected the same")
    return val_like(A, A.val / B.val)


def power(A: SparseTensor, scalar: float) -> SparseTensor:
    """The powers of the stored values; elements that are not stored stay 0, unlike in `A ** -0.5`.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.power(ls.eye(2) * 4, -0.5).val.tolist()
        [0.5, 0.5]
    """
    return val_like(A, A.val**scalar)


def neg(A: SparseTensor) -> SparseTensor:
    """The matrix with the signs changed.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.neg(ls.eye(2)).val.tolist()
        [-1.0, -1.0]
    """
    return val_like(A, -A.val)


_BROADCAST: dict[str, Any] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "truediv": torch.div}


def sp_broadcast_v(A: SparseTensor, v: Tensor, op: str) -> SparseTensor:
    """An operator on each stored value and the number that a vector has for its column or its row.

    Of a matrix of blocks, diagonals or slices the result is in CSR.

    Args:
        A: A matrix (m, n) with values (nnz,) or (nnz, d).
        v: A number for each column, (n,) or (1, n), or for each row, (m, 1).
        op: "add", "sub", "mul" or "truediv".

    Raises:
        ShapeError: `v` has another shape.
        UnsupportedError: `op` is another one.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_broadcast_v(ls.eye(2), torch.tensor([[5.0], [6.0]]), "add").val.tolist()
        [6.0, 7.0]
    """
    if op not in _BROADCAST:
        raise ls.UnsupportedError(f"sp_broadcast_v: op is {op!r}; expected one of {', '.join(_BROADCAST)}")
    shape, (rows, columns) = tuple(v.shape), A.shape[:2]
    if shape not in ((columns,), (1, columns), (rows, 1)):
        raise ls.ShapeError(
            f"sp_broadcast_v: v has shape {shape}, A is ({A._facts()}); expected ({columns},), (1, {columns}) or "
            f"({rows}, 1)"
        )
    A = in_one_order(A)
    of_columns = shape in ((columns,), (1, columns))
    index, val = coordinates(A)[1 if of_columns else 0], A.val
    picked = v.reshape(-1)[index.long()]
    return val_like(A, _BROADCAST[op](val, picked if val.ndim == 1 else picked[:, None]))


def sp_add_v(A: SparseTensor, v: Tensor) -> SparseTensor:
    """`sp_broadcast_v` by sums.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_add_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [6.0, 7.0]
    """
    return sp_broadcast_v(A, v, "add")


def sp_sub_v(A: SparseTensor, v: Tensor) -> SparseTensor:
    """`sp_broadcast_v` by differences.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_sub_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [-4.0, -5.0]
    """
    return sp_broadcast_v(A, v, "sub")


def sp_mul_v(A: SparseTensor, v: Tensor) -> SparseTensor:
    """`sp_broadcast_v` by products.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_mul_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [5.0, 6.0]
    """
    return sp_broadcast_v(A, v, "mul")


def sp_div_v(A: SparseTensor, v: Tensor) -> SparseTensor:
    """`sp_broadcast_v` by quotients.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_div_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 2.0], dtype=torch.float64)).val.tolist()
        [0.2, 0.5]
    """
    return sp_broadcast_v(A, v, "truediv")
