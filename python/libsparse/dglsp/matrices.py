"""Constructors of matrices, and torch's sparse tensors of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

import libsparse as ls

if TYPE_CHECKING:
    from libsparse import SparseTensor


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
    row, col = coordinates(mat)
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


def from_torch_sparse(torch_sparse_tensor: Tensor) -> SparseTensor:
    """A matrix of a sparse tensor of torch: COO, CSR or CSC, perhaps with one dense dimension.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.from_torch_sparse(torch.eye(3).to_sparse_csr()).nnz
        3
    """
    return ls.from_torch(torch_sparse_tensor)


def to_torch_sparse_coo(spmat: SparseTensor) -> Tensor:
    """The matrix as torch's COO.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_coo(ls.eye(3)).layout
        torch.sparse_coo
    """
    places = torch.stack(coordinates(spmat))
    return torch.sparse_coo_tensor(places, spmat.val, tuple(spmat.shape), device=places.device)


def to_torch_sparse_csr(spmat: SparseTensor) -> Tensor:
    """The matrix as torch's CSR.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_csr(ls.eye(3)).layout
        torch.sparse_csr
    """
    return to_torch_sparse_coo(spmat).to_sparse_csr()


def to_torch_sparse_csc(spmat: SparseTensor) -> Tensor:
    """The matrix as torch's CSC.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.to_torch_sparse_csc(ls.eye(3)).layout
        torch.sparse_csc
    """
    return to_torch_sparse_coo(spmat).to_sparse_csc()


def compact(mat: SparseTensor, dim: int, leading_indices: Tensor | None = None) -> tuple[SparseTensor, Tensor]:
    """The matrix without rows (`dim=0`) or columns (`dim=1`) that store nothing, and the numbers of the others.

    Args:
        mat: With values (nnz,) or (nnz, d).
        dim: The dimension that gets shorter.
        leading_indices: Rows or columns that come first and stay, whether they store anything or not.

    Raises:
        ShapeError: `dim` is neither 0 nor 1.

    Example:
        >>> from libsparse import dglsp
        >>> rest, rows = dglsp.compact(ls.tensor([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), 0)
        >>> rest.to_dense().tolist(), rows.tolist()
        ([[0.0, 2.0], [1.0, 0.0]], [0, 2])
    """
    if dim not in (0, 1):
        raise ls.ShapeError(f"compact: dim is {dim}; expected 0 for rows, 1 for columns")
    used = coordinates(mat)[dim].long().unique()
    if leading_indices is not None:
        used = torch.cat([leading_indices.long(), used[~torch.isin(used, leading_indices)]])
    return mat.index_select(dim, used), used


def coordinates(mat: SparseTensor) -> tuple[Tensor, Tensor]:
    """Rows and columns of the entries, each once where its values are vectors."""
    row, col = mat.row, mat.col
    return (row, col) if mat.ndim == 2 else (row[:: mat.shape[2]], col[:: mat.shape[2]])


def in_one_order(mat: SparseTensor) -> SparseTensor:
    """The matrix in a format whose values are in the order of its coordinates; those of blocks are not."""
    return mat.to_format("csr" if mat.ndim == 2 else "dsd") if mat.format.padded else mat


def _most(indices: Tensor) -> int:
    return int(indices.max()) + 1 if indices.numel() else 0
