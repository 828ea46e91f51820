"""Sums of a sparse and a dense tensor, and dense tensors made of large sparse ones."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

import libsparse as ls

SUMS = [operator.add, operator.sub, lambda a, b: b + a, lambda a, b: b - a]
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.complex64, torch.int32, torch.uint8]
DENSE = [(12, 8), (8,), (12, 1), (1, 8), (1, 1)]


@pytest.mark.parametrize(
    ("format", "dtype"),
    [("csr", dtype) for dtype in DTYPES] + [(f, torch.float32) for f in ("csc", "coo", "dcsr", "ell", "db", "dia")],
)
def test_sums_are_those_of_torch(format: str, dtype: torch.dtype) -> None:
    A = ls.tensor((torch.rand(12, 8) < 0.3).to(dtype) * 3, format=format)
    for shape in DENSE if dtype == torch.float32 else DENSE[DTYPES.index(dtype) % 2 :: 2]:
        D = torch.arange(1, 97)[: torch.Size(shape).numel()].reshape(shape).to(dtype)
        for call in SUMS:
            torch.testing.assert_close(call(A, D), call(A.to_dense(), D))
        torch.testing.assert_close(torch.add(A, D, alpha=2), torch.add(A.to_dense(), D, alpha=2))


def test_dtypes_are_promoted_and_orders_of_dense_operands_kept() -> None:
    A = ls.random((12, 8), 0.3)
    for D in (torch.ones(12, 8, dtype=torch.float64), torch.ones(12, 8, dtype=torch.int64), torch.rand(8, 12).T):
        torch.testing.assert_close(A + D, A.to_dense() + D)
        torch.testing.assert_close(D - A, D - A.to_dense())
    cube, rows = ls.random((4, 5, 6), 0.3), torch.rand(5, 1)
    torch.testing.assert_close(cube - rows, cube.to_dense() - rows)
    assert (A + torch.ones(3, 12, 8)).shape == (3, 12, 8)
    assert (ls.random((0, 8), 0.3) + torch.ones(0, 8)).shape == (0, 8)


@pytest.mark.parametrize("shape", DENSE[:3])
@pytest.mark.parametrize("call", SUMS)
def test_gradients_of_sums(call: Callable[..., Any], shape: tuple[int, ...]) -> None:
    A = ls.random((12, 8), 0.3, dtype=torch.float64)
    values = A.values().detach().clone().requires_grad_()
    D = torch.rand(shape, dtype=torch.float64, requires_grad=True)

    def total(values: torch.Tensor, D: torch.Tensor) -> Any:
        return call(A.with_values(values), D)

    assert gradcheck(total, (values, D))
    assert gradgradcheck(lambda v, d: total(v, d) ** 2, (values, D))
    for _ in range(3):  # later gradients go by the steps of the second
        given = torch.rand(12, 8, dtype=torch.float64)
        found = torch.autograd.grad(total(values, D), (values, D), given)
        plain = A.with_values(values.detach()).to_dense().requires_grad_()
        first, second = torch.autograd.grad(call(plain, D), (plain, D), given)
        torch.testing.assert_close(found, (first[A.to_dense() != 0], second))


def test_products_inside_of_sums_with_dense_operands() -> None:
    A, B, D = ls.random((9, 7), 0.4), ls.random((9, 7), 0.4), torch.rand(9, 7)
    a, b, operands = A.to_dense(), B.to_dense(), {"A": A, "B": B, "D": D}
    for expr, wanted in (
        ("C(i,j) = A(i,j) * B(i,j) + D(i,j)", a * b + D),
        ("C(i,j) = A(i,j) + B(i,j) - D(i,j)", a + b - D),
        ("C(i,j) = maximum(A(i,j), D(i,j))", torch.maximum(a, D)),
        ("C(i,j) = relu(D(i,j) - A(i,j)) * 2 + 1", torch.relu(D - a) * 2 + 1),
        ("C(j,i) = A(i,j) + D(i,j)", (a + D).T),
    ):
        given = {name: tensor for name, tensor in operands.items() if f"{name}(" in expr}
        torch.testing.assert_close(ls.evaluate(expr, **given, format="dense"), wanted)


def test_large_tensors_become_dense_by_a_kernel() -> None:
    A = ls.random((1000, 900), 0.01).requires_grad_()
    dense = A.to_dense()
    assert torch.equal(dense[tuple(A.indices())], A.values())
    assert int((dense != 0).sum()) == A.nnz
    given = torch.rand(1000, 900)
    (dense * given).sum().backward()
    assert A.grad is not None
    torch.testing.assert_close(A.grad.values(), given[tuple(A.indices())])
    wide = A.detach().to_dense(torch.float64)
    assert wide.dtype == torch.float64
    assert torch.equal(wide.float(), dense.detach())


def test_without_a_compiler_torch_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    A, D = ls.random((1000, 900), 0.01, dtype=torch.float64), torch.rand(1000, 900, dtype=torch.float64)
    wanted = torch.zeros(1000, 900, dtype=torch.float64).index_put_(tuple(A.indices()), A.values())
    monkeypatch.setattr("libsparse._compiler.kernel.find", _no_compiler)
    assert torch.equal(A.to_dense(), wanted)
    assert torch.equal(A - D, wanted - D)


def _no_compiler(*_: Any) -> Any:
    raise ls.ToolchainError("no C compiler was found")
