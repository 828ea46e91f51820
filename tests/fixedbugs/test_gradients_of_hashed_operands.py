"""Gradients in hashed operands, whose entries are in no order, of expressions that read another sparse operand."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("other", ["csr", "dh"])
@pytest.mark.parametrize("format", ["dh", "hd", "hh", "w(4)l(3)"])
def test_gradients_of_maxima(format: str, other: str) -> None:
    a, b = (torch.randn(6, 5).double() * (torch.rand(6, 5) < 0.5) for _ in "ab")
    A = ls.tensor(a, format=format).requires_grad_()
    ls.evaluate("y(i) = max(A(i,j), B(i,j))", A=A, B=ls.tensor(b, format=other)).square().sum().backward()
    a.requires_grad_()
    torch.maximum(a, b).sum(1).square().sum().backward()
    stored = ls.SparseTensor(A.pattern, torch.ones_like(A.values().detach())).to_dense() != 0
    assert isinstance(A.grad, ls.SparseTensor)
    torch.testing.assert_close(A.grad.to_dense()[stored & (a != b)], a.grad[stored & (a != b)])
