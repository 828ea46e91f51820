"""torch.sparse on coalesced COO, which has operations that CSR lacks."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

from typing import Any

import torch
from method.operands import Matrix
from torch import Tensor

from .peer import Peer, Run, gradients


def _coo(m: Matrix, *, grad: bool = False) -> Tensor:
    places = torch.stack([m.rows, m.col.long()])
    return torch.sparse_coo_tensor(places, m.values, m.shape, is_coalesced=True).requires_grad_(grad)


class TorchCOO(Peer):
    """See `Peer`."""

    title = "torch COO"

    def spmv(self, p: Any) -> Run:
        A, x = _coo(p.A), p.x
        return lambda: A @ x

    def spmv_transposed(self, p: Any) -> Run:
        A, x = _coo(p.A), p.x
        return lambda: A.t() @ x

    def spmm(self, p: Any) -> Run:
        A, X = _coo(p.A), p.X
        return lambda: torch.sparse.mm(A, X)

    spmm_column_major = spmm

    def spmm_backward(self, p: Any) -> Run:
        A, X = _coo(p.A, grad=True), p.X.detach().requires_grad_()
        back = gradients(torch.sparse.mm(A, X), (A, X), p.G)

        def run() -> tuple[Tensor, Tensor]:
            gradient, dense = back()
            return gradient._values(), dense

        return run

    def softmax(self, p: Any) -> Run:
        A = _coo(p.A)
        return lambda: torch.sparse.softmax(A, 1)

    def softmax_backward(self, p: Any) -> Run:
        A = _coo(p.A, grad=True)
        weights = torch.sparse.softmax(A, 1)
        gradient = torch.sparse_coo_tensor(weights.detach().indices(), p.g, A.shape, is_coalesced=True)
        back = gradients(weights, (A,), gradient)
        return lambda: back()[0]._values()

    def spgemm(self, p: Any) -> Run:
        A = _coo(p.A)
        return lambda: torch.sparse.mm(A, A)

    def spadd(self, p: Any) -> Run:
        A, B = _coo(p.A), _coo(p.B)
        return lambda: (A + B).coalesce()

    def spmul(self, p: Any) -> Run:
        A, B = _coo(p.A), _coo(p.B)
        return lambda: A * B

    def sum_rows(self, p: Any) -> Run:
        A = _coo(p.A)
        return lambda: torch.sparse.sum(A, 1)

    def transpose(self, p: Any) -> Run:
        A = _coo(p.A)
        return lambda: A.t().coalesce()

    def coo_to_csr(self, p: Any) -> Run:
        places = torch.stack([p.T.i, p.T.j]).long()
        return lambda: torch.sparse_coo_tensor(places, p.T.values, p.T.shape).coalesce().to_sparse_csr()

    def index_rows(self, p: Any) -> Run:
        A, index = _coo(p.A), p.index
        return lambda: A.index_select(0, index)

    def index_columns(self, p: Any) -> Run:
        A, index = _coo(p.A), p.index
        return lambda: A.index_select(1, index)

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _coo(p.A), p.begin, p.end
        return lambda: A.narrow_copy(0, begin, end - begin)


PEERS = [TorchCOO()]
