"""Constructors of matrices, and torch's sparse tensors of them."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from .entries import compressed_by, entries_of, with_vectors
from .matrix import SparseMatrix, compressed, made, matrix, of_coordinates

_SparseTensor = ls.SparseTensor


def spmatrix(indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None) -> SparseMatrix:
    """A matrix of coordinates (2, nnz), in any order, which its `.row`, `.col` and `.val` keep.

    Args:
        indices: Rows and columns; some may come twice.
        val: Values (nnz,) or (nnz, d); ones by default.
        shape: The shape; one more than the largest coordinates by default.

    Raises:
        IndexBoundsError: A coordinate is outside of the shape.
        ShapeError: The arrays don't fit each other.
        DtypeError: Indices or values are no tensors, or indices no integers.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.spmatrix(torch.tensor([[0, 1], [2, 0]])).shape
        torch.Size([2, 3])
    """
    if not isinstance(indices, Tensor) or not isinstance(val, Tensor | None):
        kinds = type(indices).__name__, type(val).__name__  # type: ignore[unreachable]
        raise ls.DtypeError(f"spmatrix: indices are a {kinds[0]}, val is a {kinds[1]}; expected tensors, or no val")
    if indices.ndim != 2 or len(indices) != 2:
        raise ls.ShapeError(f"spmatrix: indices have shape {tuple(indices.shape)}; expected (2, nnz)")
    if shape is None:
        shape = tuple(indices.amax(1).add(1).tolist()) if indices.numel() else (0, 0)
    val = torch.ones(indices.shape[1], device=indices.device) if val is None else val
    _check_values("spmatrix", val, indices.shape[1])
    return of_coordinates(indices[0], indices[1], val, shape)


def from_coo(row: Tensor, col: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None) -> SparseMatrix:
    """`spmatrix` of rows and columns apart.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_coo(torch.tensor([0, 1]), torch.tensor([2, 0])).nnz
        2
    """
    if row.shape != col.shape:
        raise ls.ShapeError(f"from_coo: row has shape {tuple(row.shape)}, col {tuple(col.shape)}; expected the same")
    return spmatrix(torch.stack([row, col]), val, shape)


def from_csr(
    indptr: Tensor, indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None
) -> SparseMatrix:
    """A matrix of the arrays of CSR; the columns of a row may have any order, which is kept.

    Raises:
        ShapeError: The arrays or the shape don't fit each other.
        FormatError: Positions don't ascend.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_csr(torch.tensor([0, 1, 2]), torch.tensor([2, 0])).shape
        torch.Size([2, 3])
    """
    rows = len(indptr) - 1
    val = torch.ones(len(indices), device=indices.device) if val is None else val
    _check_values("from_csr", val, len(indices))
    if shape is None:
        shape = rows, int(indices.max()) + 1 if indices.numel() else 0
    if rows != shape[0] or rows < 0 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise ls.ShapeError(
            f"from_csr: {len(indptr)} positions from {indptr[:1].tolist()} to {indptr[-1:].tolist()}, {len(indices)} "
            f"indices, shape {shape}; expected positions from 0 to the number of indices, one more than rows"
        )
    try:
        A = ls.from_csr(indptr, indices, val if val.ndim == 1 else torch.ones(len(indices), device=val.device), shape)
    except ls.FormatError:  # columns are not sorted, or some come twice
        counts = indptr.diff()
        if bool((counts < 0).any()):
            raise
        row = torch.arange(rows, device=indptr.device, dtype=indices.dtype).repeat_interleave(counts)
        return of_coordinates(row, indices, val, shape)
    return made(with_vectors(A, val))


def from_csc(
    indptr: Tensor, indices: Tensor, val: Tensor | None = None, shape: tuple[int, int] | None = None
) -> SparseMatrix:
    """A matrix of the arrays of CSC; errors as `from_csr`.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_csc(torch.tensor([0, 1, 2]), torch.tensor([2, 0])).shape
        torch.Size([3, 2])
    """
    return from_csr(indptr, indices, val, None if shape is None else (shape[1], shape[0])).transpose()


def val_like(mat: _SparseTensor, val: Tensor) -> SparseMatrix:
    """A matrix with the entries of another one and other values, (nnz,) or (nnz, d), in the order of `mat.row`.

    Raises:
        ShapeError: The number of values is not that of the entries.
        DtypeError: An argument is none of these.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.val_like(ls.eye(3), torch.ones(3, 4)).shape
        torch.Size([3, 3, 4])
    """
    mat = matrix(mat, "val_like")
    if not isinstance(val, Tensor):
        raise ls.DtypeError(f"val_like: val is a {type(val).__name__}; expected a tensor")
    entries = entries_of(mat)
    count = len(mat.row) // (mat.shape[2] if type(mat) is _SparseTensor and mat.ndim > 2 else 1)
    if len(val) != count:
        raise ls.ShapeError(
            f"val_like: val has shape {tuple(val.shape)}, mat stores {count} entries; expected one each"
        )
    _check_values("val_like", val, count)
    if entries is not None:
        return made(with_vectors(mat, entries.stored(val)), entries, val)
    if val.ndim > 1 and compressed_by(mat) is None:
        return of_coordinates(mat.row, mat.col, val, tuple(mat.shape[:2]), check=False)
    return made(with_vectors(mat, val))


def diag(val: Tensor, shape: tuple[int, int] | None = None) -> SparseMatrix:
    """A matrix with values (n,) or (n, d) on its diagonal.

    Raises:
        ShapeError: The diagonal of the shape has another length.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.diag(torch.ones(2), (2, 3)).shape
        torch.Size([2, 3])
    """
    length = len(val)
    rows, columns = shape or (length, length)
    if length != min(rows, columns):
        raise ls.ShapeError(f"diag: val has shape {tuple(val.shape)}, and a matrix of shape {shape} another diagonal")
    _check_values("diag", val, length)
    return made(with_vectors(ls.SparseTensor(_diagonal(rows, columns)), val))


@functools.lru_cache(maxsize=8)
def _diagonal(rows: int, columns: int) -> Any:
    """The pattern of a diagonal: programs make diagonals anew in each step, and what is known of one serves all."""
    positions = torch.arange(rows + 1, device="cpu").clamp(max=min(rows, columns))
    places = torch.arange(min(rows, columns), device="cpu")
    none = torch.empty(len(places), dtype=torch.bool, device="cpu")
    return ls.from_csr(positions, places, none, (rows, columns), check=False).pattern


def identity(
    shape: tuple[int, int], d: int | None = None, dtype: torch.dtype | None = None, device: Any = None
) -> SparseMatrix:
    """Ones on the diagonal of a matrix of this shape; with `d`, vectors of as many ones.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.identity((3, 4), d=2).shape
        torch.Size([3, 4, 2])
    """
    rows, columns = shape
    length = min(rows, columns)
    return diag(torch.ones(length if d is None else (length, d), dtype=dtype, device=device or "cpu"), (rows, columns))


def from_torch_sparse(torch_sparse_tensor: Tensor) -> SparseMatrix:
    """A matrix of a sparse tensor of torch: COO, CSR or CSC, perhaps with one dense dimension; in its order.

    Raises:
        FormatError: It is a dense tensor.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_torch_sparse(torch.eye(3).to_sparse_csr()).nnz
        3
    """
    given, layout = torch_sparse_tensor, torch_sparse_tensor.layout
    shape = given.shape[0], given.shape[1]
    if layout == torch.sparse_coo:
        whole = given.is_coalesced()
        return spmatrix(
            given.indices() if whole else given._indices(), given.values() if whole else given._values(), shape
        )
    if layout == torch.sparse_csr:
        return from_csr(given.crow_indices(), given.col_indices(), given.values(), shape)
    if layout == torch.sparse_csc:
        return from_csc(given.ccol_indices(), given.row_indices(), given.values(), shape)
    if layout == torch.strided:
        raise ls.FormatError("from_torch_sparse: the tensor is dense; expected COO, CSR or CSC, as of x.to_sparse()")
    return made(ls.from_torch(given))


def to_torch_sparse_coo(spmat: _SparseTensor) -> Tensor:
    """The matrix as torch's COO, with its entries in their order.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_coo(ls.eye(3)).layout
        torch.sparse_coo
    """
    A = _own(spmat)
    return torch.sparse_coo_tensor(A.indices(), A.val, tuple(A.shape), device=A.device)


def to_torch_sparse_csr(spmat: _SparseTensor) -> Tensor:
    """The matrix as torch's CSR.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_csr(ls.eye(3)).layout
        torch.sparse_csr
    """
    return torch.sparse_csr_tensor(*_arrays(_own(spmat), 0), tuple(spmat.shape), device=spmat.device)


def to_torch_sparse_csc(spmat: _SparseTensor) -> Tensor:
    """The matrix as torch's CSC.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_csc(ls.eye(3)).layout
        torch.sparse_csc
    """
    return torch.sparse_csc_tensor(*_arrays(_own(spmat), 1), tuple(spmat.shape), device=spmat.device)


def _own(A: Any) -> SparseMatrix:
    """A SparseTensor as a SparseMatrix."""
    if isinstance(A, SparseMatrix):
        return A
    A = matrix(A, "to_torch_sparse")
    return made(_SparseTensor(A.pattern, A.values(), A.fill_value))


def _arrays(A: SparseMatrix, dim: int) -> tuple[Tensor, Tensor, Tensor]:
    """Copies of positions and indices, and values."""
    positions, indices, order = compressed(A, dim)
    return positions.clone(), indices.clone(), A.val.index_select(0, order)


def _check_values(function: str, val: Tensor, count: int) -> None:
    if val.ndim not in (1, 2) or len(val) != count:
        raise ls.ShapeError(
            f"{function}: val has shape {tuple(val.shape)}; expected ({count},) or ({count}, d), one for each entry"
        )
