"""A number that is 0 and has a gradient, such as a bias that training begins with, had a part of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler

FUNCTIONS: list[Callable[[Tensor, Tensor], Tensor]] = [
    lambda a, s: a + s,
    lambda a, s: s - a,
    lambda a, s: torch.where(a > 0, a, s),
    lambda a, s: torch.maximum(a, s),
    lambda a, s: torch.addcmul(s, a, a),
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_number_that_is_0_has_a_gradient_where_nothing_is_stored(function, dense: Tensor) -> None:
    zero = torch.zeros((), requires_grad=True)
    with pytest.raises(ls.UnsupportedError, match="depends on a number that has a gradient"):
        function(ls.tensor(dense), zero)
    with pytest.raises(ls.UnsupportedError, match="gradient"):
        torch.func.jvp(lambda s: function(ls.tensor(dense), s).sum(), (torch.zeros(()),), (torch.ones(()),))
    assert function(ls.tensor(dense), zero.detach()).fill_value == 0


def test_factors_that_are_0_have_gradients(dense: Tensor) -> None:
    for function in (torch.mul, lambda a, s: a / (s + 1), lambda a, s: torch.atan2(a, s + 1)):
        numbers = [torch.zeros((), requires_grad=True) for _ in range(2)]
        for number, a in zip(numbers, (dense, ls.tensor(dense)), strict=True):
            function(a, number).sum().backward()
        assert numbers[0].grad == numbers[1].grad
    pairs = torch.func.vmap(torch.func.grad(lambda s: (ls.tensor(dense) * s).sum()))(torch.zeros(2))
    assert torch.equal(pairs, torch.full((2,), 6.0))
