"""Equations whose right-hand sides have squares beyond float32, or that are not finite, had solutions of zeros."""

from __future__ import annotations

import math

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

DENSE = torch.tensor([[4.0, 1, 0], [1, 3, 0], [0, 0, 2]])
METHODS = ["cg", "gmres", "bicgstab"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("size", [1e-30, 1e-12, 1e12, 1e25])
def test_right_hand_sides_of_any_size(method: str, size: float) -> None:
    b = torch.tensor([[1.0, 1, 0], [2, -1, 0], [3, 1, 0]]) * torch.tensor([size, 1, 1])
    leaves = [b.clone().requires_grad_(), b.clone().requires_grad_()]
    found = ls.linalg.solve(ls.tensor(DENSE), leaves[0], method=method, rtol=1e-6)
    wanted = torch.linalg.solve(DENSE, leaves[1])
    scale = torch.tensor([size, 1, 1])
    torch.testing.assert_close(found / scale, wanted / scale)
    for solution in (found, wanted):
        (solution / scale).sum().backward()
    torch.testing.assert_close(leaves[0].grad * scale, leaves[1].grad * scale)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite(method: str, number: float) -> None:
    for a, b in ((DENSE, torch.tensor([[1.0, number], [0, 1], [0, 0]])), (DENSE * number, torch.ones(3))):
        with pytest.raises(ls.linalg.ConvergenceError, match="not finite"):
            ls.linalg.solve(ls.tensor(a), b, method=method)
