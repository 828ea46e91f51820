"""A matrix times a tensor without dimensions, as often as calls go on in other formats: the 67th raised IndexError."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("format", ["csr", "csc"])
@pytest.mark.parametrize("equation", ["ij,->i", "ij,->j", "ij,->", ",ij->i"])
def test_calls_that_repeat(equation: str, format: str) -> None:
    A = ls.random((5, 6), density=0.5, dtype=torch.float64).to_format(format)
    operands = [A, torch.tensor(2.0, dtype=torch.float64)]
    if equation.startswith(","):
        operands.reverse()
    expected = torch.einsum(equation, *(o.to_dense() for o in operands))
    for _ in range(150):
        torch.testing.assert_close(ls.einsum(equation, *operands), expected)
