"""A function has the same bits in every kernel, so that gradients of extrema find the greatest terms again."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

WHOLE = "exp exp2 expm1 log log2 log10 log1p sin cos tan atan sinh cosh tanh asinh erf erfc cbrt"
PARTS = "asin acos atanh"  # of a third


def of_all(term: str) -> str:
    """The sum of all functions of a term."""
    return " + ".join([*(f"{f}({term})" for f in WHOLE.split()), *(f"{f}({term} / 3)" for f in PARTS.split())])


def in_torch(x: torch.Tensor) -> torch.Tensor:
    found = sum(getattr(torch, f)(x) for f in WHOLE.split() if f != "cbrt") + x ** (1 / 3)
    return found + sum(getattr(torch, f)(x / 3) for f in PARTS.split())


@pytest.mark.parametrize("format", ["csr", "bsc(3,2)"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_each_greatest_term_has_its_gradient(dtype: torch.dtype, format: str) -> None:
    dense = torch.rand(6, 40, dtype=dtype, generator=torch.Generator().manual_seed(0)) + 0.5
    A = ls.tensor(dense, format=format).requires_grad_()
    result = ls.evaluate(f"Y(k) max= {of_all('A(j,k)')}", A=A)
    (found,) = torch.autograd.grad(result.sum(), A)
    x = dense.clone().requires_grad_()
    expected = in_torch(x).amax(0)
    torch.testing.assert_close(result, expected)
    torch.testing.assert_close(found.to_dense(), torch.autograd.grad(expected.sum(), x)[0])


@pytest.mark.parametrize("columns", [3, 21])
def test_products_have_it_too_where_columns_are_no_whole_vectors(columns: int) -> None:
    generator = torch.Generator().manual_seed(0)
    dense, x = (torch.rand(s, generator=generator) + 0.5 for s in ((5, 9), (9, columns)))
    A, X = ls.tensor(dense).requires_grad_(), x.clone().requires_grad_()
    ours = ls.evaluate("Y(i,k) min= tanh(A(i,j) * X(j,k)) * exp(A(i,j)) + pow(A(i,j), X(j,k))", A=A, X=X)
    found = torch.autograd.grad(ours.sum(), [A, X])
    a, b = dense.clone().requires_grad_(), x.clone().requires_grad_()
    terms = torch.tanh(a[:, :, None] * b) * a.exp()[:, :, None] + a[:, :, None] ** b
    expected = torch.autograd.grad(terms.amin(1).sum(), [a, b])
    torch.testing.assert_close(found[0].to_dense(), expected[0])
    torch.testing.assert_close(found[1], expected[1])


def test_gradients_of_the_largest_of_four_are_compiled_in_time():
    torch.manual_seed(0)
    dense = [torch.rand(5, 6, dtype=torch.float64) * (torch.rand(5, 6) > 0.5) for _ in range(4)]
    X = torch.rand(6, 3, dtype=torch.float64)
    sparse = {f"A{k}": ls.tensor(D).requires_grad_() for k, D in enumerate(dense)}
    text = "Y(i,k) = max(max(max(A0(i,j), A1(i,j)), A2(i,j)), A3(i,j)) * X(j,k)"
    out = ls.evaluate(text, X=X, **sparse)
    leaves = [D.clone().requires_grad_() for D in dense]
    want = torch.stack(leaves).amax(0) @ X
    torch.testing.assert_close(out, want)
    found = torch.autograd.grad(out.square().sum(), list(sparse.values()))
    for D, gradient, wanted in zip(dense, found, torch.autograd.grad(want.square().sum(), leaves), strict=True):
        torch.testing.assert_close(gradient.to_dense(), wanted * (D != 0))


@pytest.mark.parametrize(
    "text", ["A(i,j) * x(j)", "A(i,j) + x(j) * stored(A(i,j))", "A(i,j)", "stored(A(i,j)) * exp(x(j))"]
)
@pytest.mark.parametrize("reduce", ["max", "min"])
def test_second_gradients_where_no_term_is(text: str, reduce: str) -> None:
    A = ls.tensor(torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]], dtype=torch.float64))
    leaves = A.values().clone().requires_grad_(), torch.tensor([1.0, 2, 4], dtype=torch.float64, requires_grad=True)
    given = {name: leaf for name, leaf in zip("Ax", leaves, strict=True) if f"{name}(" in text.replace("stored(A", "")}
    operands = {"A": A, **given, **({"A": A.with_values(leaves[0])} if "A" in given else {})}
    found = ls.evaluate(f"y(i) {reduce}= {text}", **operands)
    weights = torch.tensor([1.0, 2, 3], dtype=torch.float64, requires_grad=True)
    first = torch.autograd.grad(found, list(given.values()), weights, create_graph=True)
    second = torch.autograd.grad(sum(t.sum() for t in first), weights)[0]
    assert second.isfinite().all()
    assert second[1] == 0
    assert (second[[0, 2]] != 0).all()
