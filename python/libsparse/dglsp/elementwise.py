"""Elementwise operations, which act on stored values."""

from __future__ import annotations

from numbers import Number
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from .entries import coordinates, entries_of, parts, values_of
from .matrix import SparseMatrix, made, matrix, method, operators, own, with_parts, with_stored

_SparseTensor = ls.SparseTensor


def add(A: _SparseTensor, B: Any) -> Any:
    """The sum of two matrices, of the same entries or of others; it is sorted.

    Raises:
        ShapeError: Their shapes differ.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.add(ls.eye(2), ls.eye(2)).val.tolist()
        [2.0, 2.0]
    """
    return _of_both("add", A, B)


def sub(A: _SparseTensor, B: Any) -> Any:
    """The difference of two matrices, of the same entries or of others; it is sorted.

    Raises:
        ShapeError: Their shapes differ.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sub(ls.eye(2) * 3, ls.eye(2)).val.tolist()
        [2.0, 2.0]
    """
    return _of_both("sub", A, B)


def mul(A: Any, B: Any) -> Any:
    """The elementwise product of two matrices, which is sorted, or of a matrix and a number.

    Raises:
        ShapeError: The shapes of two matrices differ.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.mul(ls.eye(2), 3).val.tolist()
        [3.0, 3.0]
    """
    if not isinstance(A, _SparseTensor):
        A, B = B, A
    return _mapped(A, lambda val: val * B) if _is_number(B) else _of_both("mul", A, B)


def div(A: _SparseTensor, B: Any) -> Any:
    """The quotients of the values of two matrices with the same entries, or a matrix divided by a number.

    Raises:
        ShapeError: The entries are others.
        DtypeError: A is no SparseTensor.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.div(ls.eye(2), ls.eye(2) * 4).val.tolist()
        [0.25, 0.25]
    """
    A = matrix(A, "div")
    if _is_number(B):
        return _mapped(A, lambda val: val / B)
    if not isinstance(B, _SparseTensor):
        return own("true_divide")(A, B)
    twice = [e is not None and e.inverse is None for e in map(entries_of, (A, B))]
    same = A.shape == B.shape
    if same and A.pattern is not B.pattern:
        B = B.to_format(A.format)
        same = all(map(torch.equal, coordinates(A), coordinates(B)))
    if any(twice) or not same:
        raise ls.ShapeError(
            f"div: A ({A._facts()}) and B ({B._facts()}) store other entries, or some twice; expected the same"
        )
    return with_stored(A, values_of(A) / values_of(B))


def power(A: _SparseTensor, scalar: Any) -> Any:
    """The powers of the stored values; elements that are not stored stay 0, unlike those of other SparseTensors.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.power(ls.eye(2) * 4, -0.5).val.tolist()
        [0.5, 0.5]
    """
    return _mapped(A, lambda val: val**scalar) if _is_number(scalar) else own("pow")(A, scalar)


@method
def neg(A: _SparseTensor) -> SparseMatrix:
    """The matrix with the signs changed.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.neg(ls.eye(2)).val.tolist()
        [-1.0, -1.0]
    """
    negative: SparseMatrix = _mapped(A, torch.neg)
    return negative


@method
def inv(A: _SparseTensor) -> SparseMatrix:
    """The inverse of a square matrix with numbers on its diagonal, and nothing else.

    Raises:
        ShapeError: It is another one.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.inv(dglsp.diag(torch.tensor([2.0, 4.0]))).val.tolist()
        [0.5, 0.25]
    """
    row, col, val = parts(A)
    if A.ndim != 2 or A.shape[0] != A.shape[1] or len(val) != A.shape[0] or not torch.equal(row, col):
        raise ls.ShapeError(f"inv: A ({A._facts()}); expected a square matrix with each number of its diagonal")
    return with_parts(A, 1.0 / val)


_BROADCAST: dict[str, Any] = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "truediv": torch.div}


def sp_broadcast_v(A: _SparseTensor, v: Tensor, op: str) -> SparseMatrix:
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
    A = matrix(A, "sp_broadcast_v")
    shape, (rows, columns) = tuple(v.shape), A.shape[:2]
    if shape not in ((columns,), (1, columns), (rows, 1)):
        raise ls.ShapeError(
            f"sp_broadcast_v: v has shape {shape}, A is ({A._facts()}); expected ({columns},), (1, {columns}) or "
            f"({rows}, 1)"
        )
    row, col, val = parts(A)
    picked = v.reshape(-1)[(col if shape in ((columns,), (1, columns)) else row).long()]
    return with_parts(A, _BROADCAST[op](val, picked if val.ndim == 1 else picked[:, None]))


def sp_add_v(A: _SparseTensor, v: Tensor) -> SparseMatrix:
    """`sp_broadcast_v` by sums.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_add_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [6.0, 7.0]
    """
    return sp_broadcast_v(A, v, "add")


def sp_sub_v(A: _SparseTensor, v: Tensor) -> SparseMatrix:
    """`sp_broadcast_v` by differences.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_sub_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [-4.0, -5.0]
    """
    return sp_broadcast_v(A, v, "sub")


def sp_mul_v(A: _SparseTensor, v: Tensor) -> SparseMatrix:
    """`sp_broadcast_v` by products.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_mul_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 6.0], dtype=torch.float64)).val.tolist()
        [5.0, 6.0]
    """
    return sp_broadcast_v(A, v, "mul")


def sp_div_v(A: _SparseTensor, v: Tensor) -> SparseMatrix:
    """`sp_broadcast_v` by quotients.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sp_div_v(ls.eye(2, dtype=torch.float64), torch.tensor([5.0, 2.0], dtype=torch.float64)).val.tolist()
        [0.2, 0.5]
    """
    return sp_broadcast_v(A, v, "truediv")


def _is_number(x: Any) -> bool:
    return isinstance(x, Number) or (type(x) is not SparseMatrix and isinstance(x, Tensor) and x.ndim == 0)


def _mapped(A: Any, function: Any) -> Any:
    """The matrix with a function of its values, whose order does not matter where each coordinate comes once."""
    A = matrix(A, "this operation")
    entries = entries_of(A)
    if entries is not None and entries.inverse is None:
        return with_parts(A, function(A.val))
    return with_stored(A, function(values_of(A)))


def _of_both(name: str, A: Any, B: Any) -> Any:
    """An operation on matrices of one shape; others would be broadcast, vectors over columns."""
    if not (isinstance(A, _SparseTensor) and isinstance(B, _SparseTensor)):
        return own(name)(A, B)
    if A.shape != B.shape:
        raise ls.ShapeError(f"{name}: A ({A._facts()}) and B ({B._facts()}) differ in shape; expected the same")
    return made(own(name)(A, B))


operators(add=add, sub=sub, mul=mul, truediv=div, pow=power)
operators(rmul=mul, neg=neg)
