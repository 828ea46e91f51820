"""Products and sampled products."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from .entries import compressed_by, entries_of, parts, values_of
from .matrix import SparseMatrix, is_diagonal, made, matrix, operators, own, with_parts

_SparseTensor = ls.SparseTensor


def spmm(A: _SparseTensor, X: Tensor) -> Tensor:
    """The product of a matrix (l, m) and a dense X (m,) or (m, n); of values (nnz, k) and X (m, n, k), `bspmm`.

    Raises:
        DtypeError: A is not sparse, or X is.
        ShapeError: The shapes don't fit.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spmm(ls.eye(3), torch.ones(3, 2)).shape
        torch.Size([3, 2])
    """
    _check("spmm", "A", A, True)
    _check("spmm", "X", X, False)
    product: Tensor = matmul(A, X)
    return product


def bspmm(A: _SparseTensor, X: Tensor) -> Tensor:
    """A product for each of k values of an entry: A has shape (l, m, k), X (m, n, k), the result (l, n, k).

    Raises:
        DtypeError: A is not sparse, or X is.
        ShapeError: The shapes don't fit.

    Example:
        >>> from libsparse import dglsp
        >>> A = dglsp.val_like(ls.eye(3), torch.ones(3, 4))
        >>> dglsp.bspmm(A, torch.ones(3, 2, 4)).shape
        torch.Size([3, 2, 4])
    """
    _check("bspmm", "A", A, True)
    _check("bspmm", "X", X, False)
    if A.ndim == 2:
        return spmm(A, X)
    if X.ndim != 3 or X.shape[0] != A.shape[1] or X.shape[2] != A.shape[2]:
        raise ls.ShapeError(
            f"bspmm: A has shape {tuple(A.shape)} and X {tuple(X.shape)}; expected (l, m, k) and (m, n, k)"
        )
    product: Tensor = ls.einsum("lmk,mnk->lnk", A, X, format="ddd")
    return product


def spspmm(A: _SparseTensor, B: _SparseTensor) -> SparseMatrix:
    """The product of two sparse matrices. That with a diagonal matrix has the entries of the other one, in their order.

    Raises:
        DtypeError: One of them is not sparse.
        ShapeError: The shapes don't fit, or values are vectors.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spspmm(ls.eye(3), ls.eye(3)).nnz
        3
    """
    _check("spspmm", "A", A, True)
    _check("spspmm", "B", B, True)
    if A.ndim != 2 or B.ndim != 2:
        raise ls.ShapeError(f"spspmm: A ({A._facts()}) and B ({B._facts()}); expected values (nnz,), no vectors")
    if A.shape[1] == B.shape[0]:
        for scale, other, of_rows in ((A, B, True), (B, A, False)):
            if _is_scale(scale):
                return _scaled(values_of(scale), other, of_rows)
    return made(own("matmul")(A, B))


def _is_scale(A: Any) -> bool:
    """Whether a matrix stores each element of its diagonal, and no other."""
    rows, columns = A.shape
    return rows == columns == A.pattern.nnz and A.fill_value == 0 and not A.format.padded and is_diagonal(A)


def _scaled(factors: Tensor, A: _SparseTensor, of_rows: bool) -> SparseMatrix:
    """The matrix with its rows or columns multiplied by numbers."""
    entries = entries_of(A)
    if entries is not None and entries.inverse is None:
        row, col, val = parts(A)
        return with_parts(A, val * factors[(row if of_rows else col).long()])
    found: Any = ls.einsum("i,ij->ij" if of_rows else "j,ij->ij", factors, A, format=A.format)
    return made(found, entries)


def matmul(A: Any, B: Any) -> Any:
    """The product of matrices or vectors, each sparse or dense; of values that are vectors, `bspmm`.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.matmul(ls.eye(3), torch.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """
    if not isinstance(A, _SparseTensor):
        return A @ B
    if isinstance(B, _SparseTensor):
        return spspmm(A, B)
    return bspmm(A, B) if A.ndim > 2 else own("matmul")(A, B)


def sddmm(A: _SparseTensor, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """A * (X1 @ X2), computed at the entries of A (l, n): X1 is (l, m) or (l,), X2 (m, n) or (n,); or as in `bsddmm`.

    Raises:
        DtypeError: A is not sparse, or X1 or X2 are.
        ShapeError: The shapes don't fit.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sddmm(ls.eye(3), torch.ones(3, 2), torch.ones(2, 3)).val.tolist()
        [2.0, 2.0, 2.0]
    """
    for name, X in (("X1", X1), ("X2", X2)):
        _check("sddmm", name, X, False)
    A = matrix(A, "sddmm")
    if X1.ndim == X2.ndim == 3:
        return bsddmm(A, X1, X2)
    if A.ndim > 2:
        raise ls.ShapeError(f"sddmm: the values of A ({A._facts()}) are vectors; expected X1 (l, m, k), X2 (m, n, k)")
    if X1.ndim == X2.ndim == 1:
        X1, X2 = X1[:, None], X2[None]
    return _sampled(A, lambda mask: ls.sddmm(mask, X1, X2))


def bsddmm(A: _SparseTensor, X1: Tensor, X2: Tensor) -> SparseMatrix:
    """Sampled products, k on one pattern: A is (l, n) or has values (nnz, k), X1 (l, m, k), X2 (m, n, k).

    Returns:
        A matrix with values (nnz, k), of shape (l, n, k).

    Raises:
        DtypeError: A is not sparse, or X1 or X2 are.
        ShapeError: The shapes don't fit.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.bsddmm(ls.eye(3), torch.ones(3, 2, 4), torch.ones(2, 3, 4)).shape
        torch.Size([3, 3, 4])
    """
    for name, X in (("X1", X1), ("X2", X2)):
        _check("bsddmm", name, X, False)
    A = matrix(A, "bsddmm")
    (rows, columns), inner = A.shape[:2], A.shape[2:]
    fits = X1.ndim == X2.ndim == 3 and (X1.shape[0], X1.shape[1], X2.shape[1]) == (rows, X2.shape[0], columns)
    if not fits or X1.shape[2] != X2.shape[2] or (inner and inner[0] != X1.shape[2]):
        raise ls.ShapeError(
            f"bsddmm: A has shape {tuple(A.shape)}, X1 {tuple(X1.shape)} and X2 {tuple(X2.shape)}; expected (l, n) or "
            "(l, n, k), (l, m, k) and (m, n, k)"
        )
    if compressed_by(A) is None:
        A = made(A.to_format("csr"))
    form = "dsd:1,0,2" if compressed_by(A) else "dsd"
    return _sampled(A, lambda mask: ls.einsum(f"ln{'k'[: mask.ndim - 2]},lmk,mnk->lnk", mask, X1, X2, format=form))


def _sampled(A: _SparseTensor, sample: Any) -> SparseMatrix:
    """The products at the entries of a matrix, times its values."""
    entries = entries_of(A)
    if entries is None or entries.inverse is not None:
        return made(sample(A), entries)
    once = values_of(sample(ls.SparseTensor(A.pattern, torch.ones_like(A.values()))))
    val: Tensor = A.val if A.val.ndim == once.ndim else A.val[:, None]
    return with_parts(A, entries.given(once) * val)


def _check(function: str, name: str, given: Any, sparse: bool) -> None:
    if not isinstance(given, Tensor) or isinstance(given, _SparseTensor) is not sparse:
        expected = "a sparse matrix, see dglsp.spmatrix" if sparse else "a dense tensor"
        raise ls.DtypeError(f"{function}: {name} is a {type(given).__name__}; expected {expected}")


operators(matmul=matmul)
