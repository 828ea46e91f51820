"""Where sums are taken in the expressions of `evaluate`: the rule of the reference, with dense torch beside each."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

RANDOM = torch.Generator().manual_seed(2)  # which leaves no row empty
DENSE = torch.randn(6, 5, dtype=torch.float64, generator=RANDOM) * (torch.rand(6, 5, generator=RANDOM) < 0.5)
OPERANDS = {
    "A": DENSE,
    "B": torch.randn(6, 4, dtype=torch.float64) * (torch.rand(6, 4) < 0.5),
    "E": torch.randn(6, 5, dtype=torch.float64),
    "x": torch.randn(5, dtype=torch.float64),
    "b": torch.randn(6, dtype=torch.float64),
}
RULE = {
    # each term over its own indices
    "y(i) = A(i,j) * x(j) + b(i)": lambda A, x, b: A @ x + b,
    "y(i) = A(i,j) - B(i,k) + b(i)": lambda A, B, b: A.sum(1) - B.sum(1) + b,
    # a sum in a product is a sum of terms, over the indices that only that factor has
    "y(i) = 2 * (A(i,j) * x(j) + b(i)) / b(i)": lambda A, x, b: 2 * (A @ x + b) / b,
    "y(i) = -(A(i,j) + b(i))": lambda A, b: -(A.sum(1) + b),
    "y(i) = (A(i,j) + 1) * x(j)": lambda A, x: ((A + 1) * x).sum(1),
    # a function is a part of its term, whatever it is applied to
    "y(i) = exp(A(i,j))": lambda A: A.exp().sum(1),
    "y(i) = exp(A(i,j) - b(i))": lambda A, b: (A - b[:, None]).exp().sum(1),
    "y(i) = square(A(i,j) - E(i,j))": lambda A, E: (A - E).square().sum(1),
    "y(i) = relu(A(i,j) * x(j) + b(i)) + b(i)": lambda A, x, b: (A * x + b[:, None]).relu().sum(1) + b,
    "y(i) = 1 / (2 + abs(A(i,j)) + abs(b(i)))": lambda A, b: (1 / (2 + A.abs() + b.abs()[:, None])).sum(1),
    # unless a sum is written inside of it
    "y(i) = relu(sum(A(i,j) * x(j)) + b(i))": lambda A, x, b: (A @ x + b).relu(),
    "y(i) = exp(A(i,j) - sum(B(i,k)))": lambda A, B: (A - B.sum(1, keepdim=True)).exp().sum(1),
    "y = sqrt(sum(square(A(i,j))))": lambda A: A.square().sum().sqrt(),
    # other reductions reduce the whole right side
    "y(i) max= A(i,j) + b(i)": lambda A, b: (A + b[:, None]).amax(1),
    "y(i) *= A(i,j) + b(i)": lambda A, b: (A + b[:, None]).prod(1),
    "y(i) min= abs(E(i,j)) - B(i,k)": lambda E, B: (E.abs()[:, :, None] - B[:, None]).flatten(1).amin(1),
    "y(i) max= sum(B(i,k)) + E(i,j)": lambda B, E: (B.sum(1, keepdim=True) + E).amax(1),
}


@pytest.mark.parametrize("text", RULE)
def test_where_sums_are_taken(text):
    want = RULE[text]
    names = want.__code__.co_varnames[: want.__code__.co_argcount]
    plain = [OPERANDS[name].clone().requires_grad_() for name in names]
    given = {
        name: ls.tensor(OPERANDS[name]).requires_grad_() if name in "AB" else OPERANDS[name].clone().requires_grad_()
        for name in names
    }
    with torch.no_grad():
        torch.testing.assert_close(ls.evaluate(text, **given), want(*plain))
    found, expected = ls.evaluate(text, **given), want(*plain)
    torch.testing.assert_close(found, expected)
    weight = torch.randn_like(expected)
    (found * weight).sum().backward()
    for name, leaf in zip(names, torch.autograd.grad((expected * weight).sum(), plain), strict=True):
        mine = given[name].grad
        held = isinstance(mine, ls.SparseTensor)
        torch.testing.assert_close(
            mine.to_dense() if held else mine, torch.where(OPERANDS[name] != 0, leaf, 0) if held else leaf
        )


def test_sums_count_truth_values():
    A = ls.tensor(DENSE)
    found = ls.evaluate("y(i) = sum(gt(A(i,j), 0)) + 0", A=A)
    assert found.dtype == torch.int64
    torch.testing.assert_close(found, (DENSE > 0).sum(1))


def test_a_tensor_may_be_called_sum():
    A = ls.tensor(DENSE.abs())
    found = ls.evaluate("sum(i) = A(i,j); y(i,j) = A(i,j) / sum(i)", A=A)
    torch.testing.assert_close(found.to_dense(), DENSE.abs() / DENSE.abs().sum(1, keepdim=True))


def test_reductions_run_over_the_terms_that_exist():
    """A term exists where its expression has a value: a sparse operand where it stores one, exp(...) everywhere."""
    A = ls.tensor(torch.tensor([[0.0, -2.0], [3.0, 4.0]]))
    assert ls.evaluate("y(i) max= A(i,j)", A=A).tolist() == [-2, 4]
    assert ls.evaluate("y(i) max= 2 * A(i,j)", A=A).tolist() == [-4, 8]
    assert ls.evaluate("y(i) max= A(i,j) + 0", A=A).tolist() == [0, 4]
    assert ls.evaluate("y(i) max= exp(A(i,j))", A=A)[0] == 1
    assert ls.evaluate("y(i) max= F(i,j)", F=A - 1).tolist() == [-1, 3]
    assert A.amax(1).tolist() == [0, 4]  # torch's functions count all elements


def test_means_of_terms_with_different_indices():
    a, B = torch.rand(3), torch.rand(4, 3, 5) * (torch.rand(4, 3, 5) < 0.5)
    found = ls.evaluate("y(k,i) mean= a(k) - B(j,k,i)", a=a, B=ls.tensor(B))
    torch.testing.assert_close(found, (a[:, None] - B).mean(0))
