"""Tensors of torch and arrays of SciPy as SparseTensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError
from libsparse._ops import foreign, layouts
from libsparse._storage.format import Format
from libsparse._tensor import constructors
from libsparse._tensor.sparse_tensor import SparseTensor, dress


def from_torch(source: Tensor, format: str | Format | None = None) -> SparseTensor:
    """A SparseTensor from any tensor of torch: COO, CSR, CSC, BSR, BSC (keeping the format) or strided; differentiable.

    Args:
        source: The tensor.
        format: The format of the result; that of `source` by default.

    Example:
        >>> ls.from_torch(torch.eye(2).to_sparse_coo()).format
        Format('coo')
    """
    if not isinstance(source, Tensor):
        raise DtypeError(f"from_torch takes a torch tensor, got {type(source).__name__}; ls.tensor takes others")
    if source.layout is torch.strided:
        return constructors.tensor(source, format)
    found: SparseTensor = dress(layouts.read(source, compared=True))
    return found if format is None else found.to_format(format)


def from_scipy(source: Any, format: str | Format | None = None) -> SparseTensor:
    """A SparseTensor from a SciPy sparse array or matrix, in its format (csr, csc, bsr, dia; `coo` otherwise).

    Args:
        source: The array.
        format: The format of the result.

    Example:
        >>> import scipy.sparse
        >>> ls.from_scipy(scipy.sparse.eye_array(3, format="csr")).nnz
        3
    """
    import scipy.sparse as sp  # optional, and slow to import

    if not sp.issparse(source):
        raise DtypeError(f"from_scipy takes a SciPy sparse array, got {type(source).__name__}")
    found: SparseTensor = dress(foreign.read(source, format))
    return found
