"""DGL's generalised products on graphs."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import os
import warnings
from typing import Any

import torch
from method.operands import Matrix
from torch import Tensor

from .peer import Peer, Run, gradients, need

os.environ.setdefault("DGLBACKEND", "pytorch")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import dgl


def _graph(m: Matrix) -> Any:
    need(m.values.dtype == torch.float32, "float32 only")
    return dgl.create_block((m.col, m.rows.int()), num_src_nodes=m.shape[1], num_dst_nodes=m.shape[0])


class DGL(Peer):
    """See `Peer`."""

    title = "DGL"
    apart = True

    def spmv(self, p: Any) -> Run:
        graph, x, values = _graph(p.A), p.x, p.A.values
        return lambda: dgl.ops.u_mul_e_sum(graph, x, values)

    def spmm(self, p: Any) -> Run:
        return self._reduced(p, dgl.ops.u_mul_e_sum)

    def spmm_mean(self, p: Any) -> Run:
        return self._reduced(p, dgl.ops.u_mul_e_mean)

    def spmm_max(self, p: Any) -> Run:
        return self._extreme(p, dgl.ops.u_mul_e_max)

    def spmm_min(self, p: Any) -> Run:
        return self._extreme(p, dgl.ops.u_mul_e_min)

    def _extreme(self, p: Any, function: Any) -> Run:
        need(bool((p.A.crow.diff() > 0).all()), "rows without entries are infinite")
        return self._reduced(p, function)

    def _reduced(self, p: Any, function: Any) -> Run:
        graph, X, values = _graph(p.A), p.X, p.A.values[:, None]
        return lambda: function(graph, X, values)

    def spmm_backward(self, p: Any) -> Run:
        values, X = p.A.values.detach().requires_grad_(), p.X.detach().requires_grad_()
        return gradients(dgl.ops.u_mul_e_sum(_graph(p.A), X, values[:, None]), (values, X), p.G)

    def sddmm(self, p: Any) -> Run:
        graph, A, U, V = _graph(p.A), p.A, p.U, p.V

        def run() -> Tensor:
            values = dgl.ops.u_dot_v(graph, V, U)[:, 0] * A.values
            return torch.sparse_csr_tensor(A.crow, A.col, values, A.shape)

        return run

    def softmax(self, p: Any) -> Run:
        graph, A = _graph(p.A), p.A

        def run() -> Tensor:
            values = dgl.ops.edge_softmax(graph, A.values[:, None])[:, 0]
            return torch.sparse_csr_tensor(A.crow, A.col, values, A.shape)

        return run


PEERS = [DGL()]
