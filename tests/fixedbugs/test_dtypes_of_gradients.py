"""`grad_dtype` was not that of the values: to set it did nothing, and torch 2.13 compiled nothing that is trained."""

from __future__ import annotations

import torch

import libsparse as ls


def test_it_is_that_of_the_values() -> None:
    A = ls.random((5, 4), 0.5).bfloat16().requires_grad_()
    assert A.grad_dtype == torch.bfloat16
    A.grad_dtype = torch.float32
    assert A.values().grad_dtype == torch.float32
    (A.float() @ torch.rand(4, 2)).sum().backward()
    assert A.grad is not None
    assert A.grad.dtype == torch.float32
    assert ls.eye(3).with_values(None).grad_dtype == torch.bool


def test_compilers_get_an_answer() -> None:
    """Also once the wrapper has joined its values, and is no leaf any more."""
    A = ls.random((5, 4), 0.5).requires_grad_()
    function = torch.compile(lambda A, x: torch.relu(A @ x), backend="eager", fullgraph=True)
    x = torch.randn(4, 2)
    for _ in range(2):
        torch.testing.assert_close(function(A, x), torch.relu(A @ x))
        assert A.grad_dtype == torch.float32
