"""Linear layers of convolutions that are more than their weights: with hooks, pruned, or replaced by others."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn.utils import prune

import libsparse as ls


class _Added(nn.Module):
    """What adapters put in the place of a linear layer."""

    def __init__(self, layer):
        super().__init__()
        self.layer, self.scale = layer, nn.Parameter(torch.tensor(2.0))

    def forward(self, x):
        return self.layer(x) * self.scale


def _hooked(conv, name):
    getattr(conv, name).register_forward_hook(lambda module, args, out: out * 2)


def _replaced(conv, name):
    setattr(conv, name, _Added(getattr(conv, name)))


def _covered(conv, name):
    layer = getattr(conv, name)
    usual = layer.forward
    layer.forward = lambda x: usual(x) * 2


_CHANGES = {"hooked": _hooked, "replaced": _replaced, "covered": _covered}


@pytest.mark.parametrize("change", list(_CHANGES))
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 3), (3, 8)])
@pytest.mark.parametrize("name", ["lin_l", "lin_r"])
@pytest.mark.parametrize("paired", [False, True])
def test_sage(change, inputs, outputs, name, paired):
    conv, x = ls.nn.SAGEConv(inputs, outputs, aggr="sum").double(), torch.randn(10, inputs, dtype=torch.float64)
    matrix = ls.random((10, 10), 0.4)
    dense = matrix.to_dense().ne(0).double()
    weights = {part: getattr(conv, part).weight for part in ("lin_l", "lin_r")}
    bias = conv.lin_l.bias
    _CHANGES[change](conv, name)
    sums, own = dense @ x @ weights["lin_l"].T + bias, x @ weights["lin_r"].T
    expected = 2 * sums + own if name == "lin_l" else sums + 2 * own
    torch.testing.assert_close(conv((x, x.clone()) if paired else x, matrix), expected)


@pytest.mark.parametrize("change", list(_CHANGES))
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 3), (3, 8)])
def test_gcn(change, inputs, outputs):
    conv, x = ls.nn.GCNConv(inputs, outputs, normalize=False).double(), torch.randn(10, inputs, dtype=torch.float64)
    matrix = ls.random((10, 10), 0.4, dtype=torch.float64)
    weight = conv.lin.weight
    _CHANGES[change](conv, "lin")
    torch.testing.assert_close(conv(x, matrix), 2 * matrix.to_dense() @ x @ weight.T + conv.bias)


@pytest.mark.parametrize("layer", ["GCNConv", "SAGEConv"])
@pytest.mark.parametrize(("inputs", "outputs"), [(8, 3), (3, 8)])
def test_pruned_weights_are_those_of_each_step(layer, inputs, outputs):
    conv, x, matrix = getattr(ls.nn, layer)(inputs, outputs), torch.randn(10, inputs), ls.random((10, 10), 0.4).abs()
    pruned = conv.lin if layer == "GCNConv" else conv.lin_l
    prune.random_unstructured(pruned, "weight", 0.5)
    for _ in range(2):  # the second one went through the graph of the first one's weights
        conv.zero_grad()
        conv(x, matrix).square().sum().backward()
        with torch.no_grad():
            pruned.weight_orig -= pruned.weight_orig.grad
    found = conv(x, matrix)
    prune.remove(pruned, "weight")
    torch.testing.assert_close(found, conv(x, matrix), rtol=1e-4, atol=1e-4)
