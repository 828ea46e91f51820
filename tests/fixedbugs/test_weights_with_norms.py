"""weight_norm of torch.nn.utils raised a TypeError about a missing argument for a SparseLinear."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import utils

import libsparse as ls

pytestmark = [pytest.mark.compiler, pytest.mark.filterwarnings("ignore:.*weight_norm:FutureWarning")]


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("normed", [utils.parametrizations.weight_norm, utils.weight_norm])
def test_layers_train_as_dense_ones(normed, dim):
    layer, dense = ls.nn.SparseLinear(12, 8, density=0.4), nn.Linear(12, 8)
    dense.load_state_dict({"weight": layer.weight.detach().to_dense(), "bias": layer.bias.detach()})
    mask = dense.weight.detach() != 0
    both = normed(layer, dim=dim), normed(dense, dim=dim)
    # The direction of a row or column with one weight has no gradient but rounding, whose sign Adam follows at once
    # unless its eps is larger than that.
    optimizers = [torch.optim.Adam(each.parameters(), lr=0.05, eps=1e-4) for each in both]
    for _ in range(3):
        x = torch.randn(5, 12)
        outs = [each(x) for each in both]
        torch.testing.assert_close(outs[0], outs[1])
        for out in outs:
            out.square().sum().backward()
        for parameter in dense.parameters():
            if parameter.shape == mask.shape:
                parameter.grad *= mask  # others are no parameters of the sparse layer
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad()
    torch.testing.assert_close(layer.weight.to_dense(), dense.weight)


def test_states_and_copies():
    layer = utils.parametrizations.weight_norm(ls.nn.SparseLinear(12, 8, density=0.4))
    state = copy.deepcopy(layer).state_dict()
    assert type(state["parametrizations.weight.original1"]) is ls.SparseTensor
    x, weight = torch.randn(5, 12), layer.weight.detach().to_dense()
    layer.load_state_dict(state)
    utils.parametrize.remove_parametrizations(layer, "weight")
    assert type(layer.weight) is ls.SparseTensor
    torch.testing.assert_close(layer(x), x @ weight.T + layer.bias)


def test_norms_except_one_dimension():
    T = ls.random((3, 4, 5), 0.5)
    for dim in (-3, -2, -1, 0, 1, 2):  # -2 gave the norm of all elements
        torch.testing.assert_close(torch.norm_except_dim(T, 2, dim), torch.norm_except_dim(T.to_dense(), 2, dim))
    for dim in (-4, 3):
        with pytest.raises(ls.IndexBoundsError, match=rf"dim is {dim}; the tensor \(shape \(3, 4, 5\)"):
            torch.norm_except_dim(T, 2, dim)
