"""Two GraphSAGE layers whose neighbours are averaged, or of which the largest is taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from method.operands import Matrix
from torch import Tensor, nn

import libsparse as ls

from . import graphs
from .workload import Model, Workload, dgl_graph, edges, expert, have_dgl, plain, pyg

_HIDDEN, _CLASSES = 256, 7


class SAGE(nn.Module):
    """h W + aggregate(h) V, twice."""

    def __init__(self, X: Tensor, aggregate: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.X, self.aggregate = X, aggregate
        sizes = [(X.shape[1], _HIDDEN), (_HIDDEN, _CLASSES)]
        self.own = nn.ParameterList(nn.Parameter(torch.randn(s) / s[0] ** 0.5) for s in sizes)
        self.others = nn.ParameterList(nn.Parameter(torch.randn(s) / s[0] ** 0.5) for s in sizes)

    def forward(self) -> Tensor:
        """Scores of the nodes."""
        h = self.X
        for layer, (own, others) in enumerate(zip(self.own, self.others, strict=True)):
            h = h @ own + self.aggregate(h) @ others
            h = F.relu(h) if layer == 0 else h
        return h


def _averaged(A: Matrix) -> Matrix:
    return A.with_values(1 / A.crow.diff()[A.rows].float())


def _reduced_by_torch(A: Matrix, reduce: str) -> Any:
    ones = torch.sparse_csr_tensor(A.crow.long(), A.col.long(), torch.ones_like(A.values), A.shape)
    return lambda h: torch.sparse.mm(ones, h, reduce)


def _on_libsparse(A: Matrix, reduce: str) -> Any:
    ones = ls.from_csr(A.crow, A.col, torch.ones_like(A.values), A.shape)
    return lambda h: ls.matmul(ones, h, reduce=reduce)


def _on_dgl(A: Matrix, reduce: str) -> Any:
    import dgl

    graph, function = dgl_graph(A), {"mean": dgl.ops.copy_u_mean, "max": dgl.ops.copy_u_max}[reduce]
    return lambda h: function(graph, h)


def _on_pyg(layers: Any, A: Matrix, reduce: str) -> Any:
    conv, pairs = layers.SimpleConv(aggr=reduce), edges(A)
    return lambda h: conv(h, pairs)


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Mean and max, on PubMed with 500 features and on tolokers with 64."""
    for name, width in (("pubmed", 500), ("tolokers", 64))[: 1 if options.quick else 2]:
        A = graphs.adjacency(options.data, name)
        X = torch.rand(A.shape[0], width, generator=torch.Generator().manual_seed(0))
        labels = torch.randint(_CLASSES, (A.shape[0],), generator=torch.Generator().manual_seed(0))
        for reduce, torchs in (("mean", "mean"), ("max", "amax")):
            aggregates = {
                "libsparse": lambda A=A, r=reduce: _on_libsparse(A, r),
                "torch.sparse": lambda A=A, r=torchs: _reduced_by_torch(A, r),
            }
            if reduce == "mean":
                aggregates["torch.sparse, averaging matrix"] = lambda A=A: plain(_averaged(A))
                aggregates["expert torch"] = lambda A=A: expert(_averaged(A))
            if have_dgl():
                aggregates["DGL"] = lambda A=A, r=reduce: _on_dgl(A, r)
            if layers := pyg():
                aggregates["PyG"] = lambda A=A, r=reduce, layers=layers: _on_pyg(layers, A, r)
            yield Workload(f"SAGE {reduce}", A.name, _contenders(X, labels, aggregates))


def _contenders(X: Tensor, labels: Tensor, aggregates: dict[str, Any]) -> dict[str, Any]:
    def build(aggregate: Any) -> Model:
        return Model(SAGE(X, aggregate()), lambda scores: F.cross_entropy(scores, labels))

    return {title: (lambda a=aggregate: build(a)) for title, aggregate in aggregates.items()}
