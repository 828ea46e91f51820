"""This project, as its users call it."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from method.operands import Matrix

import libsparse as ls

from .peer import Peer, Run, gradients


def _csr(m: Matrix) -> ls.SparseTensor:
    return ls.from_csr(m.crow, m.col, m.values, m.shape)


def _trained(m: Matrix) -> tuple[Any, Any]:
    values = m.values.detach().requires_grad_()
    return _csr(m.with_values(values)), values


def _tensor(T: Any) -> ls.SparseTensor:
    return ls.from_coo(T.coords.int(), T.values, T.shape, format="csf")


class Libsparse(Peer):
    """See `Peer`."""

    title = "libsparse"

    def spmv(self, p: Any) -> Run:
        A, x = _csr(p.A), p.x
        return lambda: A @ x

    def spmv_transposed(self, p: Any) -> Run:
        A, x = _csr(p.A), p.x
        return lambda: A.T @ x

    def spmm(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X
        return lambda: A @ X

    spmm_column_major = spmm

    def dense_sparse(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X
        return lambda: X @ A

    def linear(self, p: Any) -> Run:
        A, X = _csr(p.A), p.X
        return lambda: F.linear(X, A)

    def _reduced(self, p: Any, reduce: str) -> Run:
        A, X = _csr(p.A), p.X
        return lambda: ls.matmul(A, X, reduce=reduce)

    def spmm_mean(self, p: Any) -> Run:
        return self._reduced(p, "mean")

    def spmm_max(self, p: Any) -> Run:
        return self._reduced(p, "max")

    def spmm_min(self, p: Any) -> Run:
        return self._reduced(p, "min")

    def spmm_relu(self, p: Any) -> Run:
        A, X, b = _csr(p.A), p.X, p.b
        return lambda: ls.evaluate("Y(i,k) = relu(sum(A(i,j) * X(j,k)) + b(k))", A=A, X=X, b=b)

    def spmm_backward(self, p: Any) -> Run:
        (A, values), X = _trained(p.A), p.X.detach().requires_grad_()
        return gradients(A @ X, (values, X), p.G)

    def spmv_backward(self, p: Any) -> Run:
        (A, values), x = _trained(p.A), p.x.detach().requires_grad_()
        return gradients(A @ x, (values, x), p.g)

    def linear_backward(self, p: Any) -> Run:
        (A, values), X = _trained(p.A), p.X.detach().requires_grad_()
        return gradients(F.linear(X, A), (values, X), p.G)

    def sddmm(self, p: Any) -> Run:
        A, U, Vt = _csr(p.A), p.U, p.V.T
        return lambda: ls.sddmm(A, U, Vt)

    def sddmm_backward(self, p: Any) -> Run:
        A, values = _trained(p.A)
        U, V = p.U.detach().requires_grad_(), p.V.detach().requires_grad_()
        return gradients(ls.sddmm(A, U, V.T).values(), (values, U, V), p.g)

    def softmax(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.softmax(1)

    def softmax_backward(self, p: Any) -> Run:
        A, values = _trained(p.A)
        back = gradients(A.softmax(1).values(), (values,), p.g)
        return lambda: back()[0]

    def attention(self, p: Any) -> Run:
        M, Q, K, V = _mask(p.M), p.Q, p.K, p.V
        return lambda: ls.attention(Q, K, V, M)

    def attention_backward(self, p: Any) -> Run:
        M, inputs = _mask(p.M), [t.detach().requires_grad_() for t in (p.Q, p.K, p.V)]
        return gradients(ls.attention(*inputs, M), inputs, p.G)

    def spgemm(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A @ A

    def spadd(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A + B

    def spmul(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: A * B

    def chain(self, p: Any) -> Run:
        A, u, v = _csr(p.A), p.u, p.v
        return lambda: ls.evaluate("C(i,j) = tanh(relu(u(i) * A(i,j) * v(j)))", A=A, u=u, v=v, format="csr")

    def sum_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.sum(1)

    def mean_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.mean(1)

    def max_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: torch.amax(A, 1)

    def mttkrp(self, p: Any) -> Run:
        T, B, C = _tensor(p.T), p.B, p.C
        return lambda: ls.einsum("ijk,jr,kr->ir", T, B, C)

    def mttkrp_backward(self, p: Any) -> Run:
        values, B, C = (t.detach().requires_grad_() for t in (p.T.values, p.B, p.C))
        T = _tensor(p.T.with_values(values))
        return gradients(ls.einsum("ijk,jr,kr->ir", T, B, C), (values, B, C), p.G)

    def ttv(self, p: Any) -> Run:
        T, v = _tensor(p.T), p.v
        return lambda: ls.einsum("ijk,k->ij", T, v, format="csr")

    def ttm(self, p: Any) -> Run:
        T, C = _tensor(p.T), p.C
        return lambda: ls.einsum("ijk,kr->ijr", T, C)

    def transpose(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.T.to_format("csr")

    def csr_to_csc(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.to_format("csc")

    def coo_to_csr(self, p: Any) -> Run:
        indices = torch.stack([p.T.i, p.T.j])
        return lambda: ls.from_coo(indices, p.T.values, p.T.shape, format="csr")

    def index_rows(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index
        return lambda: A[index]

    def index_columns(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index
        return lambda: A[:, index]

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _csr(p.A), p.begin, p.end
        return lambda: A[begin:end]


def _mask(m: Matrix) -> ls.SparseTensor:
    return ls.from_csr(m.crow, m.col, torch.ones(m.nnz, dtype=torch.bool), m.shape)


PEERS = [Libsparse()]
