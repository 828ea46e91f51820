"""Batches that torch.autograd makes of directions and gradients, one tensor that hides several."""

from __future__ import annotations

import pytest
import torch
from torch.autograd.functional import jacobian

import libsparse as ls

pytestmark = pytest.mark.compiler

A = ls.random((6, 5), 0.5, dtype=torch.float64)
FUNCTIONS = {
    "product": lambda x: A @ x,
    "two products": lambda x: A.T @ (A @ x),
    "maximum": lambda x: ls.matmul(A, x, reduce="max"),
    "mean": lambda x: ls.matmul(A, x, reduce="mean"),
    "expression": lambda x: ls.evaluate("y(i,k) = exp(A(i,j)*x(j,k))", A=A, x=x),
    "softmax": lambda x: torch.softmax(A * x[:, 0], 1) @ x,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_jacobians_in_forward_mode(name):
    x = torch.randn(5, 3, dtype=torch.float64)
    found = jacobian(FUNCTIONS[name], x, vectorize=True, strategy="forward-mode")
    torch.testing.assert_close(found, jacobian(FUNCTIONS[name], x))


def test_gradients_are_checked_in_batches_in_both_modes():
    leaves = A.values().clone().requires_grad_(), torch.randn(5, 3, dtype=torch.float64, requires_grad=True)
    batches = {"check_batched_grad": True, "check_batched_forward_grad": True}
    assert torch.autograd.gradcheck(lambda v, x: A.with_values(v) @ x, leaves, check_forward_ad=True, **batches)


def test_gradients_of_a_sparse_leaf():
    leaf, x = A.clone().requires_grad_(), torch.randn(5, 2, dtype=torch.float64)
    directions = torch.randn(4, 6, 2, dtype=torch.float64)
    (found,) = torch.autograd.grad(leaf @ x, leaf, directions, is_grads_batched=True)
    wanted = torch.stack([torch.autograd.grad(leaf @ x, leaf, each)[0].to_dense() for each in directions])
    torch.testing.assert_close(found.to_dense(), wanted)
