"""`del A.grad` raised; torch takes it for `A.grad = None`."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


def test_a_gradient_is_deleted():
    A = ls.random((6, 5), 0.5).requires_grad_()
    (A @ torch.ones(5)).sum().backward()
    del A.grad
    assert A.grad is None
    (A @ torch.ones(5)).sum().backward()
    assert torch.equal(A.grad.values(), torch.ones(A.nnz))
