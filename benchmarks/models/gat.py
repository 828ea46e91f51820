"""A graph attention layer of 8 heads, 8 wide, and one that gives scores."""

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
from .workload import Model, Workload, dgl_graph, edges, have_dgl, pyg

_HEADS, _WIDTH, _FEATURES, _CLASSES = 8, 8, 128, 7


class GAT(nn.Module):
    """Two layers; `attend(h, left, right)` sums the rows of h, weighted by softmax(leaky_relu(left_i + right_j))."""

    def __init__(self, X: Tensor, attend: Any) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.X, self.attend = X, attend
        inner = _HEADS * _WIDTH
        self.w1 = nn.Parameter(torch.randn(_FEATURES, inner) / _FEATURES**0.5)
        self.a1 = nn.Parameter(torch.randn(2, _HEADS, _WIDTH) / _WIDTH)
        self.w2 = nn.Parameter(torch.randn(inner, _CLASSES) / inner**0.5)
        self.a2 = nn.Parameter(torch.randn(2, 1, _CLASSES) / _CLASSES)

    def forward(self) -> Tensor:
        """Scores of the nodes."""
        h = F.elu(self._layer(self.X @ self.w1, self.a1))
        return self._layer(h @ self.w2, self.a2)

    def _layer(self, h: Tensor, a: Tensor) -> Tensor:
        h = h.view(h.shape[0], a.shape[1], -1)
        left, right = (h * a[0]).sum(-1), (h * a[1]).sum(-1)
        out: Tensor = self.attend(h, left, right)
        return out.reshape(h.shape[0], -1)


def _on_libsparse(A: Matrix) -> Any:
    M = ls.from_csr(A.crow, A.col, torch.ones_like(A.values), A.shape)

    def attend(h: Tensor, left: Tensor, right: Tensor) -> Tensor:
        scores = ls.evaluate("e(i,j,h) = M(i,j) * leaky_relu(l(i,h) + r(j,h), 0.2)", M=M, l=left, r=right, format="dsd")
        return ls.einsum("ijh,jhd->ihd", scores.softmax(1), h, format="ddd")

    return attend


def _on_torch(A: Matrix) -> Any:
    rows, columns, n = A.rows, A.col.long(), A.shape[0]

    def attend(h: Tensor, left: Tensor, right: Tensor) -> Tensor:
        scores = F.leaky_relu(left[rows] + right[columns], 0.2)
        most = torch.full((n, h.shape[1]), -torch.inf).index_reduce(0, rows, scores.detach(), "amax")
        weights = (scores - most[rows]).exp()
        weights = weights / torch.zeros(n, h.shape[1]).index_add(0, rows, weights)[rows]
        return torch.zeros_like(h).index_add(0, rows, weights[..., None] * h[columns])

    return attend


def _on_dgl(A: Matrix) -> Any:
    import dgl

    graph = dgl_graph(A)

    def attend(h: Tensor, left: Tensor, right: Tensor) -> Tensor:
        scores = F.leaky_relu(dgl.ops.u_add_v(graph, right, left), 0.2)
        return dgl.ops.u_mul_e_sum(graph, h, dgl.ops.edge_softmax(graph, scores)[..., None])

    return attend


def _on_pyg(A: Matrix) -> Any:
    from torch_geometric.utils import scatter, softmax

    (source, target), n = edges(A), A.shape[0]

    def attend(h: Tensor, left: Tensor, right: Tensor) -> Tensor:
        weights = softmax(F.leaky_relu(left[target] + right[source], 0.2), target, num_nodes=n)
        return scatter(weights[..., None] * h[source], target, dim=0, dim_size=n, reduce="sum")

    return attend


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Cora and PubMed."""
    for name in ("cora", "pubmed")[: 1 if options.quick else 2]:
        A = graphs.adjacency(options.data, name)
        X = torch.rand(A.shape[0], _FEATURES, generator=torch.Generator().manual_seed(0))
        labels = torch.randint(_CLASSES, (A.shape[0],), generator=torch.Generator().manual_seed(0))
        ways = {"libsparse": _on_libsparse, "torch gather/scatter": _on_torch}
        ways |= ({"PyG": _on_pyg} if pyg() else {}) | ({"DGL": _on_dgl} if have_dgl() else {})

        def build(way: Any, X: Tensor = X, A: Matrix = A, labels: Tensor = labels) -> Model:
            return Model(GAT(X, way(A)), lambda scores: F.cross_entropy(scores, labels))

        yield Workload("GAT 8 x 8", A.name, {title: (lambda w=way, b=build: b(w)) for title, way in ways.items()})
