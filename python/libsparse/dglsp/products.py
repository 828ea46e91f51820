"""Products, sampled products, and softmax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import libsparse as ls

if TYPE_CHECKING:
    from libsparse import SparseTensor


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
