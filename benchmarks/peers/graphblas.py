"""SuiteSparse:GraphBLAS by python-graphblas; dense operands are full matrices of its own."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import graphblas as gb
import numpy as np
import torch
from method import checking
from method.operands import Matrix

from .peer import Peer, Run, need


def _csr(m: Matrix) -> gb.Matrix:
    need(m.values.dtype in (torch.float32, torch.float64), "float32 and float64 only")
    return gb.Matrix.from_csr(m.crow.numpy(), m.col.numpy(), m.values.numpy(), ncols=m.shape[1])


class GraphBLAS(Peer):
    """See `Peer`."""

    title = "GraphBLAS"
    apart = True

    def threads(self, count: int) -> None:
        gb.ss.config["nthreads"] = count

    def spmv(self, p: Any) -> Run:
        A, x = _csr(p.A), gb.Vector.from_dense(p.x.numpy())
        return lambda: _done(A.mxv(x))

    def spmv_transposed(self, p: Any) -> Run:
        A, x = _csr(p.A), gb.Vector.from_dense(p.x.numpy())
        return lambda: _done(A.T.mxv(x))

    def spmm(self, p: Any) -> Run:
        A, X = _csr(p.A), gb.Matrix.from_dense(p.X.numpy())
        return lambda: _done(A.mxm(X))

    def dense_sparse(self, p: Any) -> Run:
        A, X = _csr(p.A), gb.Matrix.from_dense(p.X.numpy())
        return lambda: _done(X.mxm(A))

    def spgemm(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: _done(A.mxm(A))

    def spadd(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: _done(A.ewise_add(B, gb.binary.plus))

    def spmul(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: _done(A.ewise_mult(B, gb.binary.times))

    def sum_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: _done(A.reduce_rowwise(gb.monoid.plus))

    def transpose(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: _done(A.T)

    def index_rows(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: _done(A[index, :])

    def index_columns(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index.numpy()
        return lambda: _done(A[:, index])

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _csr(p.A), p.begin, p.end
        return lambda: _done(A[begin:end, :])

    def coo_to_csr(self, p: Any) -> Run:
        i, j, values = [array.numpy() for array in p.T.arrays]
        rows, columns = p.T.shape
        return lambda: gb.Matrix.from_coo(i, j, values, nrows=rows, ncols=columns)

    def read(self, result: Any) -> checking.Result:
        """Also its own vectors and matrices, where elements that aren't stored are 0."""
        if isinstance(result, gb.Vector):
            return checking.Dense(result.to_dense(0).astype(np.float64))
        rows, columns, values = result.to_coo()
        found = checking.sparse((rows, columns), values, result.shape)
        if len(values) < result.nrows * result.ncols:
            return found
        return checking.Dense(found.values.reshape(result.shape))


def _done(expression: Any) -> Any:
    """Its result; GraphBLAS would leave work for later."""
    result = expression.new()
    result.wait()
    return result


PEERS = [GraphBLAS()]
