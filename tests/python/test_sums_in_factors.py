"""Sums that are taken in one factor, or once, before a product: what they leave is all that the rest of it needs."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, einsum

import libsparse as ls

ROWS, COLUMNS, WIDTH = 600, 400, 64

Reference = Callable[[dict[str, Tensor]], Tensor]

# The text, how many steps it takes, and what it means; P is where A has entries.
EXPRESSIONS: dict[str, tuple[int, Reference]] = {
    "y(k) = A(i,j) * X(j,k)": (2, lambda t: einsum("ij,jk->k", t["A"], t["X"])),
    "y = A(i,j) * X(j,k)": (2, lambda t: einsum("ij,jk->", t["A"], t["X"])),
    "y(k) = -(2 * e(i) * A(i,j) * X(j,k))": (2, lambda t: -2 * einsum("i,ij,jk->k", t["e"], t["A"], t["X"])),
    "y(k) = relu(A(i,j)) * X(j,k)": (2, lambda t: einsum("ij,jk->k", t["A"].relu(), t["X"])),
    "y(i) = A(i,j) * B(j,l)": (2, lambda t: einsum("ij,jl->i", t["A"], t["B"])),
    "y = A(i,j) * B(j,l)": (2, lambda t: einsum("ij,jl->", t["A"], t["B"])),
    "C(i,j) = A(i,j) * Y(i,l) * W(l,m) * X(j,m)": (
        2,
        lambda t: einsum("ij,il,lm,jm->ij", t["A"], t["Y"], t["W"], t["X"]),
    ),
    "C(i,j) = A(i,j) - sum(A(i,l)) * stored(A(i,j))": (1, lambda t: t["A"] - t["A"].sum(1, keepdim=True) * t["P"]),
    "C(i,j) = A(i,j) - sum(A(i,l)) * stored(A(i,j)) * d(j)": (
        1,
        lambda t: t["A"] - t["A"].sum(1, keepdim=True) * t["P"] * t["d"],
    ),
    "y(i) = A(i,j) * x(j) + d(j)": (2, lambda t: t["A"] @ t["x"] + t["d"].sum()),
    "y(i,k) = A(i,j) * X(j,k) + X(j,k) - b(k)": (2, lambda t: t["A"] @ t["X"] + t["X"].sum(0) - t["b"]),
    "y(i,k) = e(i) * (A(i,j) * X(j,k) - 2 * x(j))": (
        2,
        lambda t: t["e"][:, None] * (t["A"] @ t["X"] - 2 * t["x"].sum()),
    ),
    "y(i,k) = (A(i,j) - d(j)) * X(j,k)": (2, lambda t: (t["A"] - t["d"]) @ t["X"]),
    "y(i,k) = (A(i,j) - e(i)) * X(j,k)": (2, lambda t: (t["A"] - t["e"][:, None]) @ t["X"]),
    "y(i) = (A(i,j) + d(j)) * x(j) + e(i)": (1, lambda t: (t["A"] + t["d"]) @ t["x"] + t["e"]),
    "C(i,j) = A(i,j) * exp(-sum(A(m,j)) / 200)": (3, lambda t: t["A"] * (t["A"].sum(0) / -200).exp()),
    "C(i,j) = A(i,j) * rsqrt(sum(A(i,l)) * d(j))": (
        1,
        lambda t: t["A"] * (t["A"].sum(1, keepdim=True) * t["d"]).rsqrt(),
    ),
    "s(i) = A(i,j); y(i) = A(i,j) * x(j) / (s(i) + 1) + d(j)": (
        3,
        lambda t: t["A"] @ t["x"] / (t["A"].sum(1) + 1) + t["d"].sum(),
    ),
}


def operands(
    format: str, dtype: torch.dtype = torch.float64, rows: int = ROWS, columns: int = COLUMNS
) -> dict[str, Tensor]:
    sizes = {
        "X": (columns, WIDTH), "Y": (rows, WIDTH), "W": (WIDTH, WIDTH),
        "x": (columns,), "d": (columns,), "e": (rows,), "b": (WIDTH,),
    }  # fmt: skip
    given: dict[str, Tensor] = {name: torch.randint(1, 4, size).to(dtype) for name, size in sizes.items()}
    for name, shape in {"A": (rows, columns), "B": (columns, 300)}.items():
        pattern = ls.random(shape, 0.3, format=format)
        given[name] = pattern.with_values(torch.randint(1, 4, (pattern.nnz,)).to(dtype))
    return given


def read(text: str, given: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in given.items() if re.search(rf"\b{name}\(", text)}


def dense(tensor: Tensor) -> Tensor:
    return tensor.to_dense() if isinstance(tensor, ls.SparseTensor) else tensor


def wanted(text: str, given: dict[str, Tensor]) -> Tensor:
    A = given["A"]
    assert isinstance(A, ls.SparseTensor)
    there = dense(A.with_values(torch.ones_like(A.values())))
    return EXPRESSIONS[text][1]({**{name: dense(tensor) for name, tensor in given.items()}, "P": there})


@pytest.mark.parametrize("format", ["csr", "csc", "coo"])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_results_and_gradients_are_those_of_dense_torch(text: str, format: str) -> None:
    given = operands(format)
    leaves = {
        name: (t.values() if isinstance(t, ls.SparseTensor) else t).detach().clone().requires_grad_()
        for name, t in read(text, given).items()
    }

    def tensors() -> dict[str, Tensor]:
        return {
            name: t.with_values(leaves[name]) if isinstance(t := given[name], ls.SparseTensor) else leaves[name]
            for name in leaves
        }

    found, expected = dense(ls.evaluate(text, **tensors())), wanted(text, {**given, **tensors()})
    torch.testing.assert_close(found, expected)
    grad = torch.rand_like(expected)
    gradients = torch.autograd.grad(expected, list(leaves.values()), grad)
    torch.testing.assert_close(torch.autograd.grad(found, list(leaves.values()), grad), gradients)


@pytest.mark.parametrize("text", EXPRESSIONS)
def test_steps(text: str) -> None:
    steps = [line for line in str(ls.explain(text, stage="steps", **read(text, operands("csr")))).splitlines() if line]
    assert len(steps) == EXPRESSIONS[text][0], steps


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.float32, torch.bfloat16, torch.complex128])
@pytest.mark.parametrize("text", [text for text in EXPRESSIONS if not re.search("relu|sqrt|/", text)])
def test_dtypes(text: str, dtype: torch.dtype) -> None:
    given = operands("csr", dtype)
    found = dense(ls.evaluate(text, **read(text, given)))
    exact = torch.complex128 if dtype.is_complex else torch.float64
    expected = wanted(text, {name: t.to(exact) for name, t in given.items()})
    assert found.dtype == dtype
    torch.testing.assert_close(found, expected.to(dtype))


@pytest.mark.parametrize(("rows", "columns"), [(0, COLUMNS), (ROWS, 0), (0, 0)])
@pytest.mark.parametrize("text", EXPRESSIONS)
def test_operands_without_elements(text: str, rows: int, columns: int) -> None:
    given = operands("csr", rows=rows, columns=columns)
    torch.testing.assert_close(dense(ls.evaluate(text, **read(text, given))), wanted(text, given))


def test_what_no_term_reaches_is_not_multiplied() -> None:
    A = ls.random((ROWS, COLUMNS), 0.3)
    kept = A.indices()[1] != 7
    A = ls.from_coo(A.indices()[:, kept], A.values()[kept], A.shape)
    X = torch.rand(COLUMNS, WIDTH)
    X[7] = torch.inf
    assert ls.evaluate("y(k) = A(i,j) * X(j,k)", A=A, X=X).isfinite().all()
