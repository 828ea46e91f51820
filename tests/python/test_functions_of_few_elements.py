"""Functions of dense operands in expressions with a matrix of many entries: each element is computed once, before."""

from __future__ import annotations

import re

import pytest
import torch
from libsparse._runtime import steps
from torch import Tensor

import libsparse as ls

ROWS, COLUMNS, WIDTH = 300, 200, 3


def matrix(dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    """Far more entries than rows or columns."""
    return ls.random((ROWS, COLUMNS), 0.5, dtype=dtype)


EXPRESSIONS = {
    "Y(i,k) = A(i,j) * tanh(d(j)) * X(j,k)": lambda A, d, e, X, b: (A * d.tanh()) @ X,
    "Y(i,k) = A(i,j) * exp(X(j,k))": lambda A, d, e, X, b: A @ X.exp(),
    "Y(i,k) = A(i,j) * X(j,k) * sigmoid(b(k))": lambda A, d, e, X, b: (A @ X) * b.sigmoid(),
    "Y(i,k) = A(i,j) * X(j,k) + exp(b(k))": lambda A, d, e, X, b: A @ X + b.exp(),
    "Y(i,k) = relu(sum(A(i,j) * log(d(j)) * X(j,k)) + b(k))": lambda A, d, e, X, b: ((A * d.log()) @ X + b).relu(),
    "Y(i,k) = relu(sum(A(i,j) * X(j,k)))": lambda A, d, e, X, b: (A @ X).relu(),
    "y(i) = exp(e(i)) * A(i,j) * log(d(j))": lambda A, d, e, X, b: e.exp() * (A @ d.log()),
    "y(i) = A(i,j) * (2 / (1 + exp(-d(j))))": lambda A, d, e, X, b: A @ (2 * d.sigmoid()),
    "y(i) = A(i,j) * gt(exp(d(j)), 2)": lambda A, d, e, X, b: A @ (d.exp() > 2).to(A.dtype),
    "y(j) = A(i,j) * tanh(e(i))": lambda A, d, e, X, b: A.T @ e.tanh(),
    "C(i,j) = A(i,j) * exp(d(j))": lambda A, d, e, X, b: A * d.exp(),
    "C(i,j) = A(i,j) * exp(e(i) + d(j))": lambda A, d, e, X, b: A * (e[:, None] + d).exp(),
}


def operands(dtype: torch.dtype, *, requires_grad: bool = False) -> dict[str, Tensor]:
    sizes = {"d": (COLUMNS,), "e": (ROWS,), "X": (COLUMNS, WIDTH), "b": (WIDTH,)}
    return {name: (torch.rand(size, dtype=dtype) + 0.2).requires_grad_(requires_grad) for name, size in sizes.items()}


def read(text: str, given: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in given.items() if re.search(rf"\b{name}\(", text)}


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_results_and_gradients_are_those_of_dense_torch(text: str) -> None:
    A = matrix()
    dense = A.to_dense().requires_grad_()
    for _ in range(3):  # the steps of calls are found out, prepared and repeated
        A = ls.SparseTensor(A.pattern, A.values().detach().requires_grad_())
        given = operands(torch.float64, requires_grad=True)
        found, wanted = ls.evaluate(text, A=A, **read(text, given)), EXPRESSIONS[text](dense, **given)
        torch.testing.assert_close(found.to_dense() if isinstance(found, ls.SparseTensor) else found, wanted)
        grad = torch.rand_like(wanted)
        tensors = [*read(text, given).values()]
        differentiable = [t for t in tensors if "gt(" not in text]
        expected = torch.autograd.grad(wanted, [dense, *differentiable], grad)
        loss = (found.to_dense() if isinstance(found, ls.SparseTensor) else found) * grad
        values, *others = torch.autograd.grad(loss.sum(), [A.values(), *differentiable])
        torch.testing.assert_close(others, list(expected[1:]))
        rows, columns = A.indices()
        torch.testing.assert_close(values, expected[0][rows, columns])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.complex64])
def test_types(dtype: torch.dtype) -> None:
    text, wide = "Y(i,k) = A(i,j) * exp(d(j)) * X(j,k)", torch.complex128 if dtype.is_complex else torch.float64
    A, given = matrix(dtype), read(text, operands(dtype))
    wanted = (A.to_dense().to(wide) * given["d"].to(wide).exp()) @ given["X"].to(wide)
    found = ls.evaluate(text, A=A, **given)
    assert found.dtype is dtype
    torch.testing.assert_close(found.to(wide), wanted, rtol=2e-2 if dtype.itemsize == 2 else 1e-4, atol=1e-3)


def test_integers_of_entries_count_in_floats() -> None:
    A = matrix(torch.float32).map(torch.ceil).to(torch.int32)
    d = torch.rand(COLUMNS)
    torch.testing.assert_close(
        ls.evaluate("y(i) = A(i,j) * exp(d(j))", A=A, d=d), A.to_dense().float() @ d.exp(), rtol=1e-4, atol=1e-4
    )


def test_the_steps_are_explained() -> None:
    explained = str(ls.explain("y(i) = A(i,j) * tanh(d(j))", A=matrix(), d=torch.rand(COLUMNS, dtype=torch.float64)))
    assert "t1(j) = tanh(d(j))" in explained


def test_calls_that_repeat_run_the_steps_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    A, text = matrix(), "Y(i,k) = A(i,j) * tanh(d(j)) * X(j,k)"
    for _ in range(4):
        ls.evaluate(text, A=A, **read(text, operands(torch.float64)))
    monkeypatch.setattr(steps.Chain, "__call__", lambda *_: pytest.fail("the steps were not known"))
    for _ in range(3):
        A = A.with_values(torch.rand(A.nnz, dtype=torch.float64))
        given = operands(torch.float64)
        torch.testing.assert_close(
            ls.evaluate(text, A=A, **read(text, given)), EXPRESSIONS[text](A.to_dense(), **given)
        )


def test_steps_with_sparse_temporaries_repeat() -> None:
    A, B, C = (ls.random((60, 60), 0.1, dtype=torch.float64) for _ in range(3))
    for _ in range(5):
        A = A.with_values(torch.rand(A.nnz, dtype=torch.float64))
        found = ls.evaluate("D(i,l) = A(i,j) * B(j,k) * C(k,l) + exp(sum(A(i,m) * C(m,l))) * B(i,l)", A=A, B=B, C=C)
        a, b, c = A.to_dense(), B.to_dense(), C.to_dense()
        torch.testing.assert_close(found.to_dense(), a @ b @ c + (a @ c).exp() * b)
