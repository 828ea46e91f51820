"""Sums of what is infinite where a sparse operand stores nothing: they were NaN in rows that store everything, too."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

D = torch.tensor([[1.0, 2.0, 0.0], [3.0, 4.0, 5.0], [0.0, 0.0, 0.0]])
X = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "dcsr"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("y(i) += x(j) / A(i,j)", (X / D).sum(1)),
        ("y(j) += x(j) / A(i,j)", (X / D).sum(0)),
        ("y(i) += x(j) * (x(j) / A(i,j))", (X * X / D).sum(1)),
        ("y(i) += pow(A(i,j), -x(j))", (D**-X).sum(1)),
        ("y(i) += remainder(x(j), A(i,j))", torch.remainder(X, D).sum(1)),
        ("y(i) += x(j) / (A(i,j) + 1)", (X / (D + 1)).sum(1)),
        ("y(i) += x(j) * exp(A(i,j))", (X * D.exp()).sum(1)),
    ],
)
def test_they_are_those_of_dense_operands(text, wanted, format) -> None:
    found = ls.evaluate(text, A=ls.tensor(D, format=format), x=X)
    torch.testing.assert_close(found, wanted, equal_nan=True)


def test_a_tensor_without_missing_elements() -> None:
    C = torch.rand(3, 4, 5) + 0.1
    found = ls.evaluate("y(i) += x(k) / A(i,j,k)", A=ls.tensor(C, format="csf"), x=torch.ones(5))
    torch.testing.assert_close(found, (1 / C).sum((1, 2)))
