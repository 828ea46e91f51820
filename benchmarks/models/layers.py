"""Networks of two layers of `ls.nn`, beside PyG's layers of the same names with the same parameters."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from method.operands import Matrix
from torch import Tensor, nn

import libsparse as ls

from . import graphs
from .workload import Model, Workload, edges, pyg

_CLASSES = 7
_LAYERS: dict[str, tuple[int, Callable[[Any, int, int], nn.Module]]] = {
    "GCNConv": (16, lambda place, i, o: place.GCNConv(i, o, cached=True)),
    "SAGEConv mean": (64, lambda place, i, o: place.SAGEConv(i, o)),
    "SAGEConv max": (64, lambda place, i, o: place.SAGEConv(i, o, aggr="max")),
    "GATConv": (
        64,
        lambda place, i, o: place.GATConv(i, o // 8 if o > _CLASSES else o, heads=8 if o > _CLASSES else 1),
    ),
}
"""The width of the hidden layer, and what makes a layer, by name."""


class Network(nn.Module):
    """Two layers on a graph.

    Args:
        place: Has the layers: `ls.nn`, or PyG's module.
        name: Of the layer.
        X: Features of the nodes.
        graph: As `place` takes it.
    """

    def __init__(self, place: Any, name: str, X: Tensor, graph: Any) -> None:
        super().__init__()
        hidden, make = _LAYERS[name]
        self.X, self.graph = X, graph
        self.first, self.second = make(place, X.shape[1], hidden), make(place, hidden, _CLASSES)
        with torch.no_grad():
            for number, (_, parameter) in enumerate(sorted(self.named_parameters())):
                random = torch.Generator().manual_seed(number)
                parameter.copy_(torch.randn(parameter.shape, generator=random) / parameter.shape[-1] ** 0.5)

    def forward(self) -> Tensor:
        """Scores of the nodes."""
        out: Tensor = self.second(F.relu(self.first(self.X, self.graph)), self.graph)
        return out


class Embeddings(nn.Module):
    """LightGCN's smoothed embeddings."""

    def __init__(self, place: Any, graph: Any, nodes: int) -> None:
        super().__init__()
        self.model, self.graph = place.LightGCN(nodes, 64, 3, **({"cached": True} if place is ls.nn else {})), graph
        with torch.no_grad():
            self.model.embedding.weight.copy_(torch.randn(nodes, 64, generator=torch.Generator().manual_seed(0)) * 0.1)

    def forward(self) -> Tensor:
        """The embeddings."""
        out: Tensor = self.model.get_embedding(self.graph)
        return out


def _kinds(A: Matrix) -> dict[str, tuple[Any, Any]]:
    """Where layers come from, and the graph as they take it, by contender."""
    graph = ls.from_csr(A.crow, A.col, torch.ones(A.nnz), A.shape)
    kinds = {"libsparse": (ls.nn, graph)}
    if place := pyg():
        csr = torch.sparse_csr_tensor(A.crow.long(), A.col.long(), torch.ones(A.nnz), A.shape)
        kinds |= {"PyG": (place, edges(A)), "PyG, CSR of torch": (place, csr), "PyG on libsparse": (place, graph)}
    return kinds


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Cora and PubMed with 128 features, and ratings of gowalla's size."""
    for data in ("cora", "pubmed")[: 1 if options.quick else 2]:
        A = graphs.adjacency(options.data, data)
        X = torch.rand(A.shape[0], 128, generator=torch.Generator().manual_seed(0))
        labels = torch.randint(_CLASSES, (A.shape[0],), generator=torch.Generator().manual_seed(0))

        def build(name: str, place: Any, graph: Any, X: Tensor = X, labels: Tensor = labels) -> Model:
            return Model(Network(place, name, X, graph), lambda scores: F.cross_entropy(scores, labels))

        for name in _LAYERS:
            ways = {title: (lambda k=kind, n=name, b=build: b(n, *k)) for title, kind in _kinds(A).items()}
            if name in ("GCNConv", "SAGEConv max"):  # PyG adds second self loops to CSR; torch has no gradient of max
                ways.pop("PyG, CSR of torch", None)
            yield Workload(name, A.name, ways)
    rated = graphs.ratings(options.data)
    nodes = sum(rated.shape)
    A = graphs.normalised(rated.name, torch.stack([rated.rows, rated.col.long() + rated.shape[0]]), nodes)

    def loss(e: Tensor) -> Tensor:
        return F.softplus((e[:2048] * (e[2048:4096] - e[4096:6144])).sum(-1)).mean()

    ways = {title: (lambda k=kind: Model(Embeddings(*k, nodes), loss)) for title, kind in _kinds(A).items()}
    yield Workload("LightGCN layer", A.name, ways)
