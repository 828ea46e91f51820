"""SciPy's compiled loops, which run on one thread."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import torch
from method.operands import Matrix
from scipy.sparse import coo_array, csr_array

from .peer import Peer, Run, need


def _csr(m: Matrix) -> csr_array:
    need(m.values.dtype in (torch.float32, torch.float64), "float32 and float64 only")
    return csr_array((m.values.numpy(), m.col.numpy(), m.crow.numpy()), shape=m.shape)


class SciPy(Peer):
    """See `Peer`."""

    title = "SciPy (1 thread)"

    def spmv(self, p: Any) -> Run:
        A, x = _csr(p.A), p.x.numpy()
        return lambda: A @ x

    def spmv_transposed(self, p: Any) -> Run:
        A, x = _csr(p.A).T, p.x.numpy()
        return lambda: A @ x

    def spmm(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X.numpy()
        return lambda: A @ X

    spmm_column_major = spmm

    def dense_sparse(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X.numpy()
        return lambda: X @ A

    def linear(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X.numpy()
        return lambda: (A @ X.T).T

    def spgemm(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A @ A

    def spadd(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A + B

    def spmul(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A.multiply(B)

    def sum_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.sum(1)

    def mean_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.mean(1)

    def max_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.max(axis=1).toarray().reshape(-1)

    def transpose(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.T.tocsr()

    def csr_to_csc(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.tocsc()

    def coo_to_csr(self, p: Any) -> Run:
        (i, j, values), shape = [array.numpy() for array in p.T.arrays], p.T.shape
        return lambda: coo_array((values, (i, j)), shape=shape).tocsr()

    def index_rows(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: A[index]

    def index_columns(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: A[:, index]

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _csr(p.A), p.begin, p.end
        return lambda: A[begin:end]


PEERS = [SciPy()]
