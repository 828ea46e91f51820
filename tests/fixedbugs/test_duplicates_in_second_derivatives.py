"""The second derivative by a value that a COO tensor has twice at one place was counted twice under `ls.enable()`."""

from __future__ import annotations

import torch

import libsparse as ls


def test_places_that_come_twice_count_once():
    indices = torch.tensor([[1, 0, 1], [0, 1, 0]])
    values = torch.tensor([0.5, 2.0, -1.5], dtype=torch.float64, requires_grad=True)
    x = torch.tensor([[3.0], [1.0]], dtype=torch.float64)
    with ls.override():
        y = torch.sparse_coo_tensor(indices, values, (2, 2)) @ x
        (first,) = torch.autograd.grad(y.square().sum(), values, create_graph=True)
        (second,) = torch.autograd.grad(first.sum(), values)
    # y = (v1, 3 (v0 + v2)): the Hessian of the sum of squares has 18 for each pair of 0 and 2, and 2 for 1
    assert second.tolist() == [36, 2, 36]
