"""A module with a full backward hook and a sparse argument that requires grad lost the argument's gradient."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import libsparse as ls

pytestmark = pytest.mark.compiler


class Product(nn.Module):
    def forward(self, A, x):
        return A @ x


class Scaled(nn.Module):
    def forward(self, A, x):
        return A * x[:, :1]


@pytest.mark.parametrize("follow", [True, False])
def test_sparse_arguments_that_require_grad_are_refused(follow):
    module = Product()
    module.register_full_backward_hook(lambda *_: None)
    A, x = ls.random((5, 5), 0.5).requires_grad_(), torch.randn(5, 2, requires_grad=follow)
    with pytest.raises(ls.UnsupportedError, match=r"full backward hook .*shape \(5, 5\).*use A.register_hook"):
        module(A, x)
    with torch.no_grad():
        torch.testing.assert_close(module(A, x), A @ x)
        assert A.view_as(A).shape == A.shape


def test_sparse_results_that_require_grad_are_refused():
    module = Scaled()
    module.register_full_backward_pre_hook(lambda *_: None)
    with pytest.raises(ls.UnsupportedError, match="full backward hook"):
        module(ls.random((5, 5), 0.5), torch.randn(5, 2, requires_grad=True))


def test_hooks_see_dense_arguments_beside_sparse_ones():
    seen = []
    layers = nn.ModuleList([Product(), ls.nn.SparseLinear(2, 3, density=0.5)])
    for module in layers:
        module.register_full_backward_hook(lambda module, inputs, outputs: seen.append(outputs[0].shape))
    A, x = ls.random((5, 5), 0.5), torch.randn(5, 2, requires_grad=True)
    layers[1](layers[0](A, x)).sum().backward()
    assert seen == [(5, 3), (5, 2)]
    torch.testing.assert_close(x.grad, A.to_dense().T @ layers[1].weight.detach().to_dense().sum(0).expand(5, 2))
