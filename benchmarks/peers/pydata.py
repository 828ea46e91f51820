"""PyData's `sparse`, whose loops numba compiles, on one thread."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import sparse
import torch
from method import checking
from method.operands import Matrix

from .peer import Peer, Run, need


def _csr(m: Matrix) -> sparse.GCXS:
    need(m.values.dtype in (torch.float32, torch.float64), "float32 and float64 only")
    return sparse.GCXS((m.values.numpy(), m.col.numpy(), m.crow.numpy()), shape=m.shape, compressed_axes=(0,))


class PyData(Peer):
    """See `Peer`."""

    title = "PyData sparse (1 thread)"

    def spmv(self, p: Any) -> Run:
        A, x = _csr(p.A), p.x.numpy()
        return lambda: A @ x

    def spmm(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X.numpy()
        return lambda: A @ X

    def dense_sparse(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X.numpy()
        return lambda: X @ A

    def spgemm(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A @ A

    def spadd(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A + B

    def spmul(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A * B

    def ttv(self, p: Any) -> Run:
        T, v = _tensor(p.T), p.v.numpy()
        return lambda: sparse.tensordot(T, v, axes=([2], [0]))

    def ttm(self, p: Any) -> Run:
        T, C = _tensor(p.T), p.C.numpy()
        return lambda: sparse.tensordot(T, C, axes=([2], [0]))

    def coo_to_csr(self, p: Any) -> Run:
        coords, values, shape = torch.stack([p.T.i, p.T.j]).numpy(), p.T.values.numpy(), p.T.shape
        return lambda: sparse.GCXS(sparse.COO(coords, values, shape=shape), compressed_axes=(0,))

    def transpose(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.T.change_compressed_axes((0,))

    def index_rows(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: A[index]

    def index_columns(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: A[:, index]

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _csr(p.A), p.begin, p.end
        return lambda: A[begin:end]

    def read(self, result: Any) -> checking.Result:
        """Also its own arrays."""
        if isinstance(result, sparse.SparseArray):
            coo = result if isinstance(result, sparse.COO) else result.tocoo()
            return checking.sparse(coo.coords, coo.data, coo.shape)
        return super().read(result)


def _tensor(T: Any) -> sparse.COO:
    need(T.shape[0] * T.shape[1] <= 1 << 26, "its result is dense")
    return sparse.COO(T.coords.numpy(), T.values.numpy(), shape=T.shape)


PEERS = [PyData()]
