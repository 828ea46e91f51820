"""This project."""

from __future__ import annotations

from inputs import Matrix

import libsparse as ls

from . import Multiply

TITLE = "libsparse"


def spmm(matrix: Matrix) -> Multiply:
    """See `Peer`."""
    A = ls.from_csr(matrix.crow, matrix.col, matrix.values, matrix.shape)
    return lambda b: A @ b
