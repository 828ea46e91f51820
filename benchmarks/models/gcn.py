"""Two graph convolutions: with sparse features on Cora and PubMed, with dense ones on tolokers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from kernels.kernel import dense as dense_operand
from method.operands import Matrix
from torch import Tensor, nn

from . import graphs
from .workload import PRODUCTS, Model, Workload, dgl_graph, edges, have_dgl, pyg

_CLASSES = 7


class GCN(nn.Module):
    """A (relu(A (X W + b))) W + b, where `embed` gives X W."""

    def __init__(self, embed: Callable[[Tensor], Tensor], width: int, hidden: int, multiply: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.multiply = embed, multiply
        self.w1 = nn.Parameter(torch.randn(width, hidden) / width**0.5)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Parameter(torch.randn(hidden, _CLASSES) / hidden**0.5)
        self.b2 = nn.Parameter(torch.zeros(_CLASSES))

    def forward(self) -> Tensor:
        """Scores of the nodes."""
        h = F.relu(self.multiply(self.embed(self.w1)) + self.b1)
        return self.multiply(h @ self.w2) + self.b2


class OnPyG(GCN):
    """The same with PyG's layers, which take dense features."""

    def __init__(self, nn_: Any, X: Tensor, A: Matrix, hidden: int) -> None:
        super().__init__(lambda W: X @ W, X.shape[1], hidden, None)
        self.X, self.edges, self.weight = X, edges(A), A.values
        self.conv = nn_.SimpleConv(aggr="sum")

    def forward(self) -> Tensor:
        """Scores of the nodes."""
        h = F.relu(self.conv(self.X @ self.w1, self.edges, self.weight) + self.b1)
        return self.conv(h @ self.w2, self.edges, self.weight) + self.b2


def _on_dgl(A: Matrix) -> Callable[[Tensor], Tensor]:
    import dgl

    graph, values = dgl_graph(A), A.values[:, None]
    return lambda h: dgl.ops.u_mul_e_sum(graph, h, values)


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Cora and PubMed with sparse features, and tolokers with its ten."""
    for name in ("cora",) if options.quick else ("cora", "pubmed"):
        X = graphs.features(options.data, name)
        yield _workload(graphs.adjacency(options.data, name), X, _dense(X), 16)
    if not options.quick:
        yield _workload(graphs.adjacency(options.data, "tolokers"), None, dense_operand("X", 11_758, 10), 256)


def _dense(X: Matrix) -> Tensor:
    return torch.sparse_csr_tensor(X.crow, X.col, X.values, X.shape).to_dense()


def _workload(A: Matrix, sparse: Matrix | None, dense: Tensor, hidden: int) -> Workload:
    labels = torch.randint(_CLASSES, (A.shape[0],), generator=torch.Generator().manual_seed(0))

    def loss(scores: Tensor) -> Tensor:
        return F.cross_entropy(scores, labels)

    def build(product: Any, *, as_dense: bool = False) -> Model:
        embed = (lambda W: dense @ W) if as_dense or sparse is None else product(sparse)
        return Model(GCN(embed, dense.shape[1], hidden, product(A)), loss)

    contenders = {title: (lambda p=product: build(p)) for title, product in PRODUCTS.items()}
    if sparse is not None:
        contenders["expert torch, dense features"] = lambda: build(PRODUCTS["expert torch"], as_dense=True)
    if have_dgl():
        contenders["DGL"] = lambda: build(_on_dgl, as_dense=True)
    layers = pyg()
    if layers:
        contenders["PyG"] = lambda: Model(OnPyG(layers, dense, A, hidden), loss)
    return Workload(f"GCN {hidden}", A.name, contenders)
