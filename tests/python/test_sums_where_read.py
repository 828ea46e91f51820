"""Sums of dense operands that are only read where a sparse operand has entries."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.autograd import gradcheck

import libsparse as ls

CASES = {
    "C(i,j) = A(i,j) * sigmoid(sum(X(i,k) * Y(j,k)))": lambda a, s, x, y: a * torch.sigmoid(x @ y.T),
    "C(i,j) = stored(A(i,j)) * exp(sum(X(i,k) * Y(j,k)) - sum(X(i,l)))": lambda a, s, x, y: (
        s * torch.exp(x @ y.T - x.sum(1)[:, None])
    ),
    "C(i,j) = A(i,j) * exp(-sum(square(X(i,k) - Y(j,k))))": lambda a, s, x, y: a * torch.exp(-(torch.cdist(x, y) ** 2)),
    "r(i) = A(i,j) * (X(i,k) * Y(j,k) - Y(j,k) * Y(j,k))": lambda a, s, x, y: (a * (x @ y.T - (y * y).sum(1))).sum(1),
    "L = stored(A(i,j)) * square(A(i,j) - sum(X(i,k) * Y(j,k)))": lambda a, s, x, y: (s * (a - x @ y.T) ** 2).sum(),
    "L = square(A(i,j) - stored(A(i,j)) * sum(X(i,k) * Y(j,k)))": lambda a, s, x, y: ((a - s * (x @ y.T)) ** 2).sum(),
    "C(i,j) = A(i,j) + sigmoid(sum(X(i,k) * Y(j,k)))": lambda a, s, x, y: a + torch.sigmoid(x @ y.T),
    "C(i,j) = A(i,j) * exp(sum(X(i,k) * Y(j,k))) + X(i,k) * Y(j,k)": lambda a, s, x, y: (
        a * torch.exp(x @ y.T) + x @ y.T
    ),
}


FORMATS = ["csr", "csc", "coo", "dcsr", "ell"]


@pytest.mark.parametrize(
    ("expr", "format"), [(expr, format) for n, expr in enumerate(CASES) for format in ("csr", FORMATS[1 + n % 4])]
)
def test_values_and_gradients(expr: str, format: str) -> None:
    A = ls.random((7, 6), 0.3, format=format, dtype=torch.float64)
    X, Y = (torch.rand(n, 3, dtype=torch.float64, requires_grad=True) for n in (7, 6))

    def call(X: torch.Tensor, Y: torch.Tensor) -> Any:
        found = ls.evaluate(expr, A=A, X=X, Y=Y)
        return found.to_dense() if isinstance(found, ls.SparseTensor) else found

    dense = A.to_dense()
    torch.testing.assert_close(call(X, Y), CASES[expr](dense, (dense != 0).double(), X, Y))
    assert gradcheck(call, (X, Y))


def test_large_shapes_have_no_dense_temporary() -> None:
    n = 1 << 20  # a dense matrix would have 2^40 elements
    index = torch.stack([torch.arange(0, n, 1024), torch.arange(n - 1, -1, -1024)])
    A = ls.from_coo(index, torch.ones(index.shape[1]), (n, n))
    X, Y = torch.rand(n, 2).requires_grad_(), torch.rand(n, 2)
    C = ls.evaluate("C(i,j) = A(i,j) * sigmoid(sum(X(i,k) * Y(j,k)))", A=A, X=X, Y=Y)
    torch.testing.assert_close(C.values(), torch.sigmoid((X[index[0]] * Y[index[1]]).sum(1)))
    C.sum().backward()
    assert X.grad is not None
    assert int((X.grad != 0).any(1).sum()) == A.nnz
