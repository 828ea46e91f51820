"""torch.sparse on int32 CSR, which MKL multiplies where torch has it."""

from __future__ import annotations

import torch
from inputs import Matrix

from . import Multiply

TITLE = "torch int32 CSR"


def spmm(matrix: Matrix) -> Multiply:
    """See `Peer`."""
    A = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values, matrix.shape)
    return lambda b: torch.sparse.mm(A, b)
