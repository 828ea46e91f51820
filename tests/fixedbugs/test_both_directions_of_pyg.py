"""PyG's DirGNNConv flipped the rows of a matrix as if it were an edge list, and gave other numbers."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler
nn = pytest.importorskip("torch_geometric.nn")


@pytest.mark.parametrize("inner", [lambda: nn.SAGEConv(4, 3), lambda: nn.GCNConv(4, 3)])
@pytest.mark.parametrize("root_weight", [True, False])
def test_numbers_are_those_of_edge_lists(inner, root_weight):
    edges = (torch.rand(9, 9) < 0.3).nonzero().T
    layer, x = nn.DirGNNConv(inner(), root_weight=root_weight), torch.randn(9, 4)
    A = ls.from_edge_index(edges, num_nodes=9).T.to_format("csr")
    torch.testing.assert_close(layer(x, A), layer(x, edges))
    torch.testing.assert_close(layer(x, edge_index=A), layer(x, edges))
