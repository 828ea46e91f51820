"""sum(...) of bool tensors inside an expression is bool, as sums over indices are; truth values are counted."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

A = torch.tensor([[True, True, False], [False, True, False], [False, False, False]])


@pytest.mark.parametrize("format", ["csr", "coo", "dense"])
def test_sums_inside_of_expressions(format: str) -> None:
    tensor, found = ls.tensor(A, format=format), {}
    for text in ("y(i) = sum(A(i,k))", "Y(i,j) = A(i,j) * sum(A(i,k))", "y(i) = sum(truth(A(i,k)))"):
        result = ls.evaluate(text, A=tensor)
        found[text] = result if type(result) is torch.Tensor else result.to_dense()
    wanted = [A.any(1), A, A.sum(1)]
    for result, value in zip(found.values(), wanted, strict=True):
        torch.testing.assert_close(result, value)
