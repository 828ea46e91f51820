"""torch.jit.script of a layer of PyG, whose functions for torch_sparse took an ls.SparseTensor for torch's Tensor."""

import pytest
import torch

pytestmark = pytest.mark.filterwarnings("ignore")
gnn = pytest.importorskip("torch_geometric.nn")

import libsparse as ls  # noqa: E402


def test_layers_are_scripted_beside_libsparse():
    layer = gnn.GCNConv(4, 3)
    x, pairs = torch.rand(3, 4), torch.tensor([[0, 1], [1, 2]])
    torch.testing.assert_close(torch.jit.script(layer)(x, pairs), layer(x, pairs))
    A = ls.from_coo(pairs.flip(0), None, (3, 3))
    torch.testing.assert_close(layer(x, A), layer(x, pairs))
