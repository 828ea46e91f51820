"""SciPy, which runs on one thread."""

from __future__ import annotations

import torch
from inputs import Matrix
from scipy.sparse import csr_array

from . import Multiply

TITLE = "SciPy (1 thread)"


def spmm(matrix: Matrix) -> Multiply:
    """See `Peer`."""
    A = csr_array((matrix.values.numpy(), matrix.col.numpy(), matrix.crow.numpy()), shape=matrix.shape)
    return lambda b: torch.from_numpy(A @ b.numpy())
