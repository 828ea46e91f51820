"""PyTorch Geometric on lists of edges: messages are gathered, weighted, and scattered."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor

from .peer import Peer, Run, gradients, need

with warnings.catch_warnings():
    warnings.simplefilter("ignore", FutureWarning)  # torch's, of its scripting
    from torch_geometric.nn import SimpleConv
    from torch_geometric.utils import softmax

_MESSAGES = 1 << 28  # elements that may be gathered


def _layer(p: Any, reduce: str) -> Any:
    need(p.A.nnz * p.X.shape[1] <= _MESSAGES, "the messages are too large")
    need(p.A.values.dtype in (torch.float32, torch.float64), "float32 and float64 only")
    conv, edges = SimpleConv(aggr=reduce), torch.stack([p.A.col.long(), p.A.rows])
    size = p.A.shape[1], p.A.shape[0]
    none = torch.empty(size[1], 0)
    return lambda X, values: conv((X, none), edges, values, size=size)


class PyG(Peer):
    """See `Peer`."""

    title = "PyG"

    def spmm(self, p: Any) -> Run:
        return self._reduced(p, "sum")

    def spmm_mean(self, p: Any) -> Run:
        return self._reduced(p, "mean")

    def spmm_max(self, p: Any) -> Run:
        return self._reduced(p, "max")

    def spmm_min(self, p: Any) -> Run:
        return self._reduced(p, "min")

    def _reduced(self, p: Any, reduce: str) -> Run:
        layer, X, values = _layer(p, reduce), p.X, p.A.values
        return lambda: layer(X, values)

    def spmm_backward(self, p: Any) -> Run:
        values, X = p.A.values.detach().requires_grad_(), p.X.detach().requires_grad_()
        return gradients(_layer(p, "sum")(X, values), (values, X), p.G)

    def softmax(self, p: Any) -> Run:
        A, rows = p.A, p.A.rows

        def run() -> Tensor:
            values = softmax(A.values, rows, num_nodes=A.shape[0])
            return torch.sparse_csr_tensor(A.crow, A.col, values, A.shape)

        return run


PEERS = [PyG()]
