"""Compiled functions that read a sparse tensor inside of `torch.no_grad()` first had no gradient, or raised."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


def product(A: ls.SparseTensor, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        y = A @ x
    return y + A @ x


def scaled(A: ls.SparseTensor, x: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        B = A * 2
    return (B * A) @ x


@pytest.mark.parametrize("function", [product, scaled])
@pytest.mark.parametrize("followed", [(True, False), (False, True), (True, True)])
def test_gradients_are_those_of_eager_calls(function, followed):
    torch._dynamo.reset()
    operands = ls.random((6, 6), 0.4), torch.randn(6, 3)
    found = []
    for call in (function, torch.compile(function, backend="aot_eager", fullgraph=True)):
        leaves = [o.clone().requires_grad_(yes) for o, yes in zip(operands, followed, strict=True)]
        result = call(*leaves)
        result.square().sum().backward()
        found.append(
            [
                result.detach(),
                *(leaf.grad.values() if leaf is leaves[0] else leaf.grad for leaf in leaves if leaf.requires_grad),
            ]
        )
    torch.testing.assert_close(*found)


def test_the_reason_why_values_can_not_be_changed():
    torch._dynamo.reset()
    compiled = torch.compile(lambda A: (A * 1).mul_(2).sum(1), backend="aot_eager", fullgraph=True)
    with pytest.raises(Exception, match="can't take over values that autograd follows"):
        compiled(ls.random((6, 6), 0.4).requires_grad_())
