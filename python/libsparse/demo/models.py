"""One graph network, written on libsparse, on torch.sparse, on torch.sparse as an expert uses it, and on PyG."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import libsparse as ls
from libsparse._lang.records import NamedTuple

from .graphs import Graph

HIDDEN = 16
_DROPOUT = 0.5


class GCN(nn.Module):
    """Two graph convolutions with sparse features; the subclasses say how a sparse matrix is multiplied.

    Args:
        graph: The task.
        seed: Of the initial weights.
    """

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

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency, self.features = (
            ls.from_csr(m.crow_indices(), m.col_indices(), m.values(), m.shape)
            for m in (graph.adjacency, graph.features)
        )

    def embed(self, weight: Tensor) -> Any:  # noqa: D102
        features = self.features
        if self.training:
            features = features.with_values(F.dropout(features.values(), _DROPOUT))
        return features @ weight

    def aggregate(self, h: Tensor) -> Any:  # noqa: D102
        return self.adjacency @ h


class TorchGCN(GCN):
    """On torch.sparse alone; unchanged, it also runs on libsparse under `ls.override()`."""

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency, self.features = graph.adjacency, graph.features

    def embed(self, weight: Tensor) -> Tensor:  # noqa: D102
        features = self.features
        if self.training:
            features = _with_values(features, F.dropout(features.values(), _DROPOUT))
        return _mm(features, weight)

    def aggregate(self, h: Tensor) -> Tensor:  # noqa: D102
        return _mm(self.adjacency, h)


class ExpertGCN(GCN):
    """torch.sparse with int32 indices, transposes made once and a backward pass of its own."""

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        self.adjacency = _narrow(graph.adjacency)  # symmetric: its own transpose
        self.features = _narrow(graph.features)
        places = torch.arange(graph.features.values().numel())
        turned = _with_values(graph.features, places).to_sparse_csc()
        self.turn = turned.values()
        shape = graph.features.shape[::-1]
        arrays = turned.ccol_indices().int(), turned.row_indices().int(), self.features.values()[self.turn]
        self.turned = torch.sparse_csr_tensor(*arrays, shape)

    def embed(self, weight: Tensor) -> Tensor:  # noqa: D102
        features, turned = self.features, self.turned
        if not self.training:
            return _mm(features, weight)
        values = F.dropout(features.values(), _DROPOUT)
        return _multiply(weight, _with_values(features, values), _with_values(turned, values[self.turn]))

    def aggregate(self, h: Tensor) -> Tensor:  # noqa: D102
        return _multiply(h, self.adjacency, self.adjacency)


class PyGGCN(TorchGCN):
    """PyG's message passing over an edge list; the sparse features are torch's, as in PyG's own layers."""

    def __init__(self, graph: Graph, seed: int) -> None:
        super().__init__(graph, seed)
        from torch_geometric.nn import SimpleConv  # type: ignore[import-untyped, unused-ignore]  # optional

        edges = graph.adjacency.to_sparse_coo().coalesce()
        self.edges, self.weights = edges.indices(), edges.values()  # symmetric: senders and receivers
        self.sum = SimpleConv(aggr="sum")

    def aggregate(self, h: Tensor) -> Any:  # noqa: D102
        return self.sum(h, self.edges, self.weights)


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


def _with_values(matrix: Tensor, values: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(matrix.crow_indices(), matrix.col_indices(), values, matrix.shape)


def _narrow(m: Tensor) -> Tensor:
    return torch.sparse_csr_tensor(m.crow_indices().int(), m.col_indices().int(), m.values(), m.shape)


class Contender(NamedTuple):
    """An implementation in the race.

    Attributes:
        title: Its name.
        about: What it does, for people.
        make: Its constructor.
        inside: The context of its calls.
    """

    title: str
    about: str
    make: Callable[[Graph, int], GCN]
    inside: Callable[[], AbstractContextManager[object]] = contextlib.nullcontext


CONTENDERS = (
    Contender("libsparse", "sparse tensors of libsparse and the operator @", LibsparseGCN),
    Contender("torch.sparse", "torch's CSR tensors and torch.sparse.mm, as most people write it", TorchGCN),
    Contender(
        "expert torch",
        "torch.sparse with int32 indices, each transpose made once, and a backward pass by hand that uses it",
        ExpertGCN,
    ),
    Contender(
        "torch + ls.override()",
        "the torch.sparse code as it is, inside of `with ls.override():`",
        TorchGCN,
        ls.override,
    ),
)
_PYG = Contender("PyG", "message passing over an edge list, features as torch's CSR tensor", PyGGCN)


def contenders() -> tuple[Contender, ...]:
    """All implementations that this environment has: PyG's where it is installed."""
    return (*CONTENDERS, _PYG) if importlib.util.find_spec("torch_geometric") else CONTENDERS
