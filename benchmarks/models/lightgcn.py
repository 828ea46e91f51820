"""LightGCN: embeddings of users and items, smoothed three times over the graph of ratings."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from method.operands import Matrix
from torch import Tensor, nn

from . import graphs
from .workload import PRODUCTS, Model, Workload, edges, pyg

_WIDTH, _LAYERS, _BATCH = 64, 3, 2048


class LightGCN(nn.Module):
    """The mean of the embeddings and of three products with the adjacency."""

    def __init__(self, nodes: int, multiply: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embedding = nn.Parameter(torch.randn(nodes, _WIDTH) * 0.1)
        self.multiply = multiply

    def forward(self) -> Tensor:
        """Smoothed embeddings."""
        layers = [self.embedding]
        for _ in range(_LAYERS):
            layers.append(self.multiply(layers[-1]))
        return torch.stack(layers).mean(0)


def _on_pyg(layers: Any, A: Matrix) -> Any:
    conv, pairs, weight = layers.SimpleConv(aggr="sum"), edges(A), A.values
    return lambda h: conv(h, pairs, weight)


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Ratings of gowalla's size."""
    rated = graphs.ratings(options.data)
    nodes = sum(rated.shape)
    A = graphs.normalised(rated.name, torch.stack([rated.rows, rated.col.long() + rated.shape[0]]), nodes)
    random = torch.Generator().manual_seed(0)
    chosen = torch.randint(rated.nnz, (_BATCH,), generator=random)
    users, items = rated.rows[chosen], rated.col.long()[chosen] + rated.shape[0]
    others = torch.randint(rated.shape[0], nodes, (_BATCH,), generator=random)

    def loss(e: Tensor) -> Tensor:
        return F.softplus((e[users] * (e[others] - e[items])).sum(-1)).mean()

    ways = dict(PRODUCTS)
    if layers := pyg():
        ways["PyG"] = lambda m: _on_pyg(layers, m)
    yield Workload(
        "LightGCN", A.name, {t: (lambda w=way: Model(LightGCN(nodes, w(A)), loss)) for t, way in ways.items()}
    )
