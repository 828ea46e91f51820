"""Gradients of sums of a sparse and a dense tensor: formats with padding, writes in place, batches of gradients."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd.functional import jacobian

import libsparse as ls

PLACES = torch.tensor([[1.0, 0, 0, 2], [0, 3, 0, 0], [0, 0, 4, 0], [5, 0, 0, 6]])


@pytest.mark.parametrize("format", ["bsr(2,2)", "ell", "sell(2)", "sell(2,4)", "dia", "dh", "db", "csc", "coo"])
@pytest.mark.parametrize("call", [operator.add, operator.sub, lambda a, d: d - a])
def test_gradients_stand_where_the_format_has_its_values(call: Callable[..., Any], format: str) -> None:
    A, plain = ls.tensor(PLACES, format=format).requires_grad_(), PLACES.clone().requires_grad_()
    D, other = (torch.zeros(4, 4, requires_grad=True) for _ in range(2))
    given = torch.arange(1.0, 17).reshape(4, 4)
    call(A, D).backward(given)
    call(plain, other).backward(given)
    assert A.grad is not None
    assert plain.grad is not None
    assert torch.equal(A.grad.to_dense()[PLACES != 0], plain.grad[PLACES != 0])
    assert torch.equal(D.grad, other.grad)


def test_operands_may_be_written_to_before_the_backward_pass() -> None:
    A, D = ls.tensor(PLACES).requires_grad_(), torch.zeros(4, 4)
    D += A
    D.sum().backward()
    total = A + D.detach()
    D.detach().mul_(2)
    total.sum().backward()
    assert A.grad is not None
    assert A.grad.values().tolist() == [2.0] * 6


@pytest.mark.parametrize(
    "call",
    [
        lambda A, X: (A + X) @ X,
        lambda A, X: A @ X,
        lambda A, X: torch.softmax(A, 1) @ X,
        lambda A, X: (A * X).values(),
        lambda A, X: ls.sddmm(A, X, X.T).values(),
        lambda A, X: (A.T @ A).to_dense(),
    ],
)
def test_batches_of_gradients(call: Callable[..., Any]) -> None:
    A, X = ls.random((4, 4), 0.5, dtype=torch.float64), torch.rand(4, 4, dtype=torch.float64)
    values = A.values().clone()
    found = jacobian(lambda v, x: call(A.with_values(v), x), (values, X), vectorize=True)
    for one, wanted in zip(found, jacobian(lambda v, x: call(A.with_values(v), x), (values, X)), strict=True):
        torch.testing.assert_close(one, wanted)
    large = ls.random((1000, 1000), 0.001)
    v, given = large.values().clone().requires_grad_(), torch.rand(2, 1000, 1000)
    (grads,) = torch.autograd.grad(large.with_values(v).to_dense(), v, given, is_grads_batched=True)
    assert torch.equal(grads, given[:, large.indices()[0], large.indices()[1]])


def test_many_dimensions() -> None:
    A = ls.tensor(torch.ones([1] * 26 + [2]))
    assert torch.equal(A + torch.ones(2), A.to_dense() + 1)
    assert ls.tensor(torch.ones([1] * 26 + [1 << 19])).to_dense().sum() == 1 << 19
