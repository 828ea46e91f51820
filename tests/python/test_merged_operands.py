"""Elementwise functions of operands with many entries, which kernels bring to the union of their patterns."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

FUNCTIONS = {
    "maximum": torch.maximum,
    "equal": lambda a, b: a == b,
    "greater": lambda a, b: a > b,
    "hypot": torch.hypot,
    "where": lambda a, b: torch.where(a > 1, b, a),
    "logical_and": torch.logical_and,
}


def drawn(density, dtype, format):
    there = torch.rand(500, 800) < density
    dense = torch.where(there, torch.randint(-4, 5, (500, 800)), 0).to(dtype)
    return dense, ls.tensor(dense, format=format)


@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.bfloat16, torch.bool, torch.complex64])
@pytest.mark.parametrize("formats", [("csr", "csr"), ("coo", "csc"), ("dcsr", "csr")])
def test_results_are_those_of_dense_tensors(formats, dtype):
    a, A = drawn(0.12, dtype, formats[0])
    b, B = drawn(0.09, dtype, formats[1])
    for function in FUNCTIONS.values():
        try:
            wanted = function(a, b)
        except (RuntimeError, TypeError):
            continue
        found = function(A, B)
        assert torch.equal(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)


def test_gradients_and_other_fill_values():
    a, A = drawn(0.12, torch.float64, "csr")
    b, B = drawn(0.09, torch.float64, "csr")
    a, b = a.requires_grad_(), b.requires_grad_()
    values = [A.values().clone().requires_grad_(), B.values().clone().requires_grad_()]
    weights = torch.rand(a.shape, dtype=torch.float64)
    (torch.maximum(A.with_values(values[0]), B.with_values(values[1])).to_dense() * weights).sum().backward()
    (torch.maximum(a, b) * weights).sum().backward()
    for tensor, own, dense in zip((A, B), values, (a, b), strict=True):
        assert own.grad is not None
        torch.testing.assert_close(tensor.with_values(own.grad).to_dense(), dense.grad * (dense.detach() != 0))
    torch.testing.assert_close(torch.maximum(A.cos(), B.cos()).to_dense(), torch.maximum(a.cos(), b.cos()).detach())
