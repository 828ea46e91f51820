"""torch_sparse, the kernels that PyTorch Geometric used before torch had its own."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import warnings
from typing import Any

import torch
from method.operands import Matrix

from .peer import Peer, Run, gradients

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # torch's, of its scripting
    import torch_sparse


def _csr(m: Matrix, values: torch.Tensor | None = None) -> torch_sparse.SparseTensor:
    return torch_sparse.SparseTensor(
        rowptr=m.crow.long(), col=m.col.long(), value=m.values if values is None else values, sparse_sizes=m.shape
    )


class TorchSparse(Peer):
    """See `Peer`."""

    title = "torch_sparse"

    def spmv(self, p: Any) -> Run:
        A, x = _csr(p.A), p.x[:, None]
        return lambda: torch_sparse.matmul(A, x)[:, 0]

    def spmm(self, p: Any) -> Run:
        return self._reduced(p, "sum")

    def spmm_mean(self, p: Any) -> Run:
        return self._reduced(p, "mean")

    def spmm_max(self, p: Any) -> Run:
        return self._reduced(p, "max")

    def spmm_min(self, p: Any) -> Run:
        return self._reduced(p, "min")

    def _reduced(self, p: Any, reduce: str) -> Run:
        A, X = _csr(p.A), p.X
        return lambda: torch_sparse.matmul(A, X, reduce)

    def spmm_backward(self, p: Any) -> Run:
        values, X = p.A.values.detach().requires_grad_(), p.X.detach().requires_grad_()
        return gradients(torch_sparse.matmul(_csr(p.A, values), X), (values, X), p.G)

    def spgemm(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A @ A

    def spadd(self, p: Any) -> Run:
        A, B = _csr(p.A), _csr(p.B)
        return lambda: torch_sparse.add(A, B)

    def sum_rows(self, p: Any) -> Run:
        A = _csr(p.A)
        return lambda: A.sum(1)

    def transpose(self, p: Any) -> Run:
        """Its objects keep the transpose; a fresh one has to find it."""
        return lambda: _csr(p.A).t()

    def index_rows(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index
        return lambda: A.index_select(0, index)

    def index_columns(self, p: Any) -> Run:
        A, index = _csr(p.A), p.index
        return lambda: A.index_select(1, index)

    def slice_rows(self, p: Any) -> Run:
        A, begin, end = _csr(p.A), p.begin, p.end
        return lambda: A.narrow(0, begin, end - begin)

    def read(self, result: Any) -> Any:
        """Also its own matrices."""
        if isinstance(result, torch_sparse.SparseTensor):
            row, col, value = result.coo()
            result = torch.sparse_coo_tensor(torch.stack([row, col]), value, result.sizes())
        return super().read(result)


PEERS = [TorchSparse()]
