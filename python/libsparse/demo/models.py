"""One graph network, written on libsparse, on torch.sparse, and on torch.sparse as an expert uses it."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls

from .graphs import Graph, Matrix

__all__ = ["HIDDEN", "ExpertGCN", "GCN", "LibsparseGCN", "TorchGCN", "make_optimizer"]

HIDDEN = 16
_DROPOUT = 0.5


class GCN(nn.Module):
    """Two graph convolutions with sparse features; the subclasses say how a sparse matrix is multiplied.

    Args:
        graph: The task.
        seed: Of the initial weights.
    """

    title: str

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        width, classes = graph.features.shape[1], graph.classes
        self.w1 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(width, HIDDEN)))
        self.b1 = nn.Parameter(torch.zeros(HIDDEN))
        self.w2 = nn.Parameter(nn.init.xavier_uniform_(torch.empty(HIDDEN, classes)))
        self.b2 = nn.Parameter(torch.zeros(classes))

    def embed(self, weight: Tensor) -> Tensor:
        """The sparse features, with dropout while training, times `weight`."""
        raise NotImplementedError

    def aggregate(self, h: Tensor) -> Tensor:
        """The adjacency times `h`."""
        raise NotImplementedError

    def forward(self) -> Tensor:
        """Scores (nodes, classes)."""
        h = F.relu(self.aggregate(self.embed(self.w1)) + self.b1)
        h = F.dropout(h, _DROPOUT, self.training)
        return self.aggregate(h @ self.w2) + self.b2


class LibsparseGCN(GCN):
    """On libsparse: sparse tensors and `@`."""

    title = "libsparse"

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency, self.features = (
            ls.from_csr(m.crow, m.col, m.values, m.shape) for m in (graph.adjacency, graph.features)
        )

    def embed(self, weight: Tensor) -> Tensor:  # noqa: D102
        features = self.features
        if self.training:
            features = features.with_values(F.dropout(features.values(), _DROPOUT))
        product: Tensor = features @ weight
        return product

    def aggregate(self, h: Tensor) -> Tensor:  # noqa: D102
        product: Tensor = self.adjacency @ h
        return product


class TorchGCN(GCN):
    """On torch.sparse alone; unchanged, it also runs on libsparse under `ls.override()`."""

    title = "torch.sparse"

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency, self.features = (_torch_csr(m) for m in (graph.adjacency, graph.features))

    def embed(self, weight: Tensor) -> Tensor:  # noqa: D102
        features = self.features
        if self.training:
            features = torch.sparse_csr_tensor(
                features.crow_indices(), features.col_indices(), F.dropout(features.values(), _DROPOUT), features.shape
            )
        return _mm(features, weight)

    def aggregate(self, h: Tensor) -> Tensor:  # noqa: D102
        return _mm(self.adjacency, h)


class ExpertGCN(GCN):
    """torch.sparse with int32 indices, transposes made once and a backward pass of its own."""

    title = "expert torch"

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency = _torch_csr(graph.adjacency, torch.int32)  # symmetric: its own transpose
        self.features = _torch_csr(graph.features, torch.int32)
        turned, self.turn = _transpose(graph.features)
        self.turned = _torch_csr(turned, torch.int32)

    def embed(self, weight: Tensor) -> Tensor:  # noqa: D102
        features, turned = self.features, self.turned
        if not self.training:
            return _mm(features, weight)
        values = F.dropout(features.values(), _DROPOUT)
        return _multiply(weight, _with_values(features, values), _with_values(turned, values[self.turn]))

    def aggregate(self, h: Tensor) -> Tensor:  # noqa: D102
        return _multiply(h, self.adjacency, self.adjacency)


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, dense: Tensor, matrix: Tensor, transposed: Tensor) -> Tensor:
        ctx.transposed = transposed
        return _mm(matrix, dense)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return _mm(ctx.transposed, grads[0]), None, None


def _multiply(dense: Tensor, matrix: Tensor, transposed: Tensor) -> Tensor:
    product: Tensor = _Multiply.apply(dense, matrix, transposed)
    return product


def _mm(matrix: Tensor, dense: Tensor) -> Tensor:
    product: Tensor = torch.sparse.mm(matrix, dense)  # looked up at the call: libsparse may stand in its place
    return product


def _torch_csr(m: Matrix, index: torch.dtype = torch.int64) -> Tensor:
    return torch.sparse_csr_tensor(m.crow.to(index), m.col.to(index), m.values, m.shape)


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, matrix.shape)


def _transpose(m: Matrix) -> tuple[Matrix, Tensor]:
    """The transpose, and where each of its values lies in `m.values`."""
    rows = torch.repeat_interleave(torch.arange(m.shape[0]), m.crow.diff())
    turn = torch.argsort(m.col, stable=True)
    crow = torch.zeros(m.shape[1] + 1, dtype=torch.int64)
    crow[1:] = torch.bincount(m.col, minlength=m.shape[1]).cumsum(0)
    return Matrix(crow, rows[turn], m.values[turn], (m.shape[1], m.shape[0])), turn


def make_optimizer(model: GCN) -> torch.optim.Optimizer:
    """Adam as the network is usually trained: weight decay on the first layer only."""
    groups: list[dict[str, Any]] = [
        {"params": [model.w1, model.b1], "weight_decay": 5e-4},
        {"params": [model.w2, model.b2], "weight_decay": 0.0},
    ]
    return torch.optim.Adam(groups, lr=0.01, fused=True)
