"""The names of DGL's sparse matrices (`dgl.sparse`), so that scripts written for them run after a change of import.

    import libsparse.dglsp as dglsp  # in place of: import dgl.sparse as dglsp

A matrix whose non-zeros are vectors, with values of shape (nnz, d), is a SparseTensor of shape (rows, columns, d): the
last dimension is dense. Matrices have `.row`, `.col`, `.val`, `.coo()`, `.csr()` and `.csc()` as DGL's do. Functions
act on elements that are not stored, too: of a diagonal `D`, `D ** -0.5` is infinite there. Write `diag(d ** -0.5)`, or
`D.map(lambda v: v ** -0.5)`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import libsparse as ls

if TYPE_CHECKING:
    from libsparse import SparseTensor

__all__ = [
    "bsddmm",
    "bspmm",
    "diag",
    "from_coo",
    "from_csc",
    "from_csr",
    "identity",
    "matmul",
    "reduce",
    "sddmm",
    "smax",
    "smean",
    "smin",
    "softmax",
    "spmatrix",
    "spmm",
    "sprod",
    "spspmm",
    "sum",
    "val_like",
]


def spmatrix(indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None) -> SparseTensor:
    """A matrix of coordinates (2, nnz), in any order; values of coordinates that come twice are added.

    Args:
        indices: Rows and columns.
        val: Values (nnz,) or (nnz, d); ones by default.
        shape: The shape; one more than the largest coordinates by default.

    Raises:
        IndexBoundsError: A coordinate is outside of the shape.
        ShapeError: The arrays don't fit each other.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spmatrix(torch.tensor([[0, 1], [2, 0]])).shape
        torch.Size([2, 3])
    """
    if shape is None:
        shape = tuple(indices.amax(1).add(1).tolist()) if indices.numel() else (0, 0)
    val = torch.ones(indices.shape[1], device=indices.device) if val is None else val
    return ls.from_coo(indices, val, (*shape, *val.shape[1:]))


def from_coo(row: Tensor, col: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None) -> SparseTensor:
    """`spmatrix` of rows and columns apart.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_coo(torch.tensor([0, 1]), torch.tensor([2, 0])).nnz
        2
    """
    return spmatrix(torch.stack([row, col]), val, shape)


def from_csr(
    indptr: Tensor, indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None
) -> SparseTensor:
    """A matrix of the arrays of CSR.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_csr(torch.tensor([0, 1, 2]), torch.tensor([2, 0])).shape
        torch.Size([2, 3])
    """
    row = torch.arange(len(indptr) - 1, device=indptr.device).repeat_interleave(indptr.diff())
    shape = shape or (len(indptr) - 1, _most(indices))
    return from_coo(row, indices, val, shape)


def from_csc(
    indptr: Tensor, indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None
) -> SparseTensor:
    """A matrix of the arrays of CSC.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_csc(torch.tensor([0, 1, 2]), torch.tensor([2, 0])).shape
        torch.Size([3, 2])
    """
    column = torch.arange(len(indptr) - 1, device=indptr.device).repeat_interleave(indptr.diff())
    shape = shape or (_most(indices), len(indptr) - 1)
    return from_coo(indices, column, val, shape)


def val_like(mat: SparseTensor, val: Tensor) -> SparseTensor:
    """A matrix with the entries of another one and other values, (nnz,) or (nnz, d), in the order of `mat.row`.

    Raises:
        ShapeError: The number of values is not that of the entries.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.val_like(ls.eye(3), torch.ones(3, 4)).shape
        torch.Size([3, 3, 4])
    """
    if val.ndim == 1 and mat.ndim == 2:
        return mat.with_values(val)
    row, col = _coordinates(mat)
    if len(val) != len(row):
        raise ls.ShapeError(
            f"val_like: val has shape {tuple(val.shape)}, mat stores {len(row)} entries; expected one each"
        )
    return spmatrix(torch.stack([row, col]), val, (mat.shape[0], mat.shape[1]))


def diag(val: Tensor, shape: tuple[int, int] | None = None) -> SparseTensor:
    """A matrix with values (n,) or (n, d) on its diagonal.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.diag(torch.ones(2), (2, 3)).shape
        torch.Size([2, 3])
    """
    places = torch.arange(len(val), device=val.device)
    return spmatrix(torch.stack([places, places]), val, shape or (len(val), len(val)))


def identity(shape: tuple[int, int], d: int | None = None, dtype: torch.dtype | None = None) -> SparseTensor:
    """Ones on the diagonal of a matrix of this shape; with `d`, vectors of as many ones.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.identity((3, 4), d=2).shape
        torch.Size([3, 4, 2])
    """
    length = min(shape)
    return diag(torch.ones(length if d is None else (length, d), dtype=dtype, device="cpu"), shape)


def spmm(A: SparseTensor, X: Tensor) -> Tensor:
    """The product of a matrix (l, m) and a dense X (m,) or (m, n).

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spmm(ls.eye(3), torch.ones(3, 2)).shape
        torch.Size([3, 2])
    """
    product: Tensor = A @ X
    return product


def bspmm(A: SparseTensor, X: Tensor) -> Tensor:
    """A product for each of k values of an entry: A has shape (l, m, k), X (m, n, k), the result (l, n, k).

    Raises:
        ShapeError: The shapes don't fit.

    Example:
        >>> from libsparse import dglsp
        >>> A = dglsp.val_like(ls.eye(3), torch.ones(3, 4))
        >>> dglsp.bspmm(A, torch.ones(3, 2, 4)).shape
        torch.Size([3, 2, 4])
    """
    return ls.einsum("lmk,mnk->lnk", A, X)


def spspmm(A: SparseTensor, B: SparseTensor) -> SparseTensor:
    """The product of two sparse matrices.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spspmm(ls.eye(3), ls.eye(3)).nnz
        3
    """
    product: SparseTensor = A @ B
    return product


def matmul(A: Any, B: Any) -> Any:
    """The product of matrices or vectors, each sparse or dense.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.matmul(ls.eye(3), torch.ones(3)).tolist()
        [1.0, 1.0, 1.0]
    """
    return A @ B


def sddmm(A: SparseTensor, X1: Tensor, X2: Tensor) -> SparseTensor:
    """A * (X1 @ X2), computed at the entries of A (l, n): X1 is (l, m) or (l,), X2 (m, n) or (n,).

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sddmm(ls.eye(3), torch.ones(3, 2), torch.ones(2, 3)).val.tolist()
        [2.0, 2.0, 2.0]
    """
    if X1.ndim == 1:
        X1, X2 = X1[:, None], X2[None]
    return ls.sddmm(A, X1, X2)


def bsddmm(A: SparseTensor, X1: Tensor, X2: Tensor) -> SparseTensor:
    """Sampled products, k on one pattern: A is (l, n), X1 (l, m, k), X2 (m, n, k); the result has shape (l, n, k).

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.bsddmm(ls.eye(3), torch.ones(3, 2, 4), torch.ones(2, 3, 4)).shape
        torch.Size([3, 3, 4])
    """
    sampled: Any = ls.einsum("ln,lmk,mnk->lnk", A, X1, X2, format="dsd")
    return sampled  # type: ignore[no-any-return]


def softmax(input: SparseTensor, dim: int = 1) -> SparseTensor:
    """The softmax over the entries of each row (or, `dim=0`, column), for each value of an entry by itself.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.softmax(ls.eye(2)).val.tolist()
        [1.0, 1.0]
    """
    shares: Any = torch.softmax(input, dim)
    return shares  # type: ignore[no-any-return]


_REDUCTIONS = {"sum": "sum", "smax": "amax", "smin": "amin", "smean": "mean", "sprod": "prod"}


def reduce(input: SparseTensor, dim: int | None = None, rtype: str = "sum") -> Tensor:
    """The sum, maximum, minimum, mean or product of the stored values of each row (`dim=1`), column (`dim=0`), or all.

    Elements that are not stored don't count, unlike in `A.amax(1)` and `A.mean(1)`. Rows that store nothing give 0.

    Args:
        input: With values (nnz,) or (nnz, d).
        dim: The dimension that is reduced; None for both.
        rtype: "sum", "smax", "smin", "smean" or "sprod".

    Raises:
        UnsupportedError: `rtype` is another one.
        ShapeError: `dim` is neither 0 nor 1.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.reduce(ls.tensor([[0.0, -2.0], [0.0, 0.0]]), 1, "smax").tolist()
        [-2.0, 0.0]
    """
    if rtype not in _REDUCTIONS:
        raise ls.UnsupportedError(f"reduce: rtype is {rtype!r}; expected one of {', '.join(_REDUCTIONS)}")
    if dim not in (None, 0, 1, -1, -2):
        raise ls.ShapeError(f"reduce: dim is {dim}; expected 0 for columns, 1 for rows, or None")
    row, col = _coordinates(input)
    val = input.values().reshape(len(row), *input.shape[2:])
    kept = 0 if dim in (1, -1) else 1
    index = torch.zeros_like(row) if dim is None else (row, col)[kept]
    places = index.to(torch.int64).view(-1, *[1] * (val.ndim - 1)).expand_as(val)
    out = val.new_zeros(1 if dim is None else input.shape[kept], *val.shape[1:])
    out = out.scatter_reduce(0, places, val, _REDUCTIONS[rtype], include_self=False)
    return out[0] if dim is None else out


def sum(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by sums.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sum(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "sum")


def smax(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by maxima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smax(-ls.eye(3), 0).tolist()
        [-1.0, -1.0, -1.0]
    """
    return reduce(input, dim, "smax")


def smin(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by minima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smin(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smin")


def smean(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by means.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smean(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smean")


def sprod(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by products.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sprod(ls.eye(3) * 2, 0).tolist()
        [2.0, 2.0, 2.0]
    """
    return reduce(input, dim, "sprod")


def _coordinates(mat: SparseTensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of the entries, each once where its values are vectors."""
    row, col = mat.row, mat.col
    return (row, col) if mat.ndim == 2 else (row[:: mat.shape[2]], col[:: mat.shape[2]])


def _most(indices: Tensor) -> int:
    return int(indices.max()) + 1 if indices.numel() else 0
