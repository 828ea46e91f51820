"""What a review of einsum and evaluate found."""

from __future__ import annotations

import math

import pytest
import torch

import libsparse as ls

A = torch.tensor([[1.0, 2.0, 3.0], [0.0, 0.0, 4.0]])
C = torch.tensor([10.0, 20.0])
T = torch.tensor([1.0, 2.0, 5.0])
ROWS, L = torch.arange(2.0), torch.arange(3.0)


def dense(made):
    return made.to_dense() if isinstance(made, ls.SparseTensor) else made


@pytest.mark.parametrize("format", ["csr", "dense"])
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y(i) = (A(i,l) + 1) * l", ((A + 1) * L).sum(1)),
        ("y(i) = (A(i,l) + c(i)) * l", ((A + C[:, None]) * L).sum(1)),
        ("y(i) = (A(i,l) + c(i)) / (l + 1)", ((A + C[:, None]) / (L + 1)).sum(1)),
        ("y(i) = A(i,l) + l", (A + L).sum(1)),
        ("y(i) = A(i,l) - c(i) * l", (A - C[:, None] * L).sum(1)),
        ("y(i) = c(i) - t(l) * i", C - T.sum() * ROWS),
        ("y(i) = A(i,k) - t(l) * i * B(i,l)", A.sum(1) - (T * A).sum(1) * ROWS),
    ],
)
def test_index_variables_as_values_in_several_steps(text, want, format):
    given = {"A": ls.tensor(A, format), "B": ls.tensor(A, format), "c": C, "t": T}
    torch.testing.assert_close(ls.evaluate(text, **{k: v for k, v in given.items() if f"{k}(" in text}), want)


X = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("format", ["s", "dense"])
@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("y(i) *= 2", X * 2),
        ("y(i) /= 2", X / 2),
        ("y(i) max= 2", X.clamp(min=2)),
        ("y(i) min= i", torch.minimum(X, L)),
        ("y(i(0:2)) = 2", torch.tensor([2.0, 2.0, 3.0])),
        ("y(i(0:2)) *= 2", torch.tensor([2.0, 4.0, 3.0])),
        ("y(i(0:3:2)) += i", torch.tensor([1.0, 2.0, 4.0])),
    ],
)
def test_old_elements_say_how_long_an_index_is(text, want, format):
    torch.testing.assert_close(dense(ls.evaluate(text, y=ls.tensor(X, format))), want)


def test_dense_operands_of_a_semiring():
    a = torch.tensor([[0.0, 1.0], [5.0, 6.0]])
    for format in ("csr", "bsr(2,2)", "sd"):
        once = ls.einsum("ij,jk->ik", a, a, reduce="min", combine="add", format=format)
        assert once.fill_value == math.inf
        torch.testing.assert_close(once.to_dense(), (a[:, :, None] + a[None]).amin(1))
        twice = ls.einsum("ij,jk->ik", once, a, reduce="min", combine="add")
        torch.testing.assert_close(dense(twice), a)


def test_a_dimension_of_one_promotes_as_others_do():
    A = ls.tensor(torch.ones(1, 2))
    for n in (1, 2):
        assert ls.einsum("ij,k->ijk", A, torch.ones(n, dtype=torch.float64)).dtype == torch.float64
    assert ls.einsum("ij,j->ij", ls.tensor(torch.ones(2, 1)), torch.ones(1, dtype=torch.float64)).dtype == torch.float64


def test_huge_extents_are_not_made_dense():
    n = 2**33
    A = ls.from_coo([[0, 1, 1], [5, 7, n - 1]], torch.tensor([1.0, 2.0, 3.0]), (2, n), format="csr")
    want = torch.tensor([[1.0, 0.0], [0.0, 13.0]])
    torch.testing.assert_close(dense(ls.einsum("ij,kj->ik", A, A)), want)
    torch.testing.assert_close(dense(A @ A.T), want)
    torch.testing.assert_close(ls.einsum("ij,kj,k->i", A, A, torch.ones(2)), torch.tensor([1.0, 13.0]))


def test_logical_reductions_of_one_term():
    A = ls.tensor(torch.tensor([[4, 0], [2, 3]]))
    assert ls.einsum("ij->ij", A, reduce="any").to_dense().tolist() == [[1, 0], [1, 1]]


def test_temporaries_of_a_function_of_another_type():
    ls.register("eleven(a,b)", "11")
    A = ls.random((3, 4, 5), 0.3, dtype=torch.float64)
    made = ls.evaluate(
        "y(i,j,k) = eleven(A(i,j,k) + C(i,j,k), B(i,j,k))", A=A, B=A.to_format("bss"), C=A.to_format("dsh:2,0,1")
    )
    assert dense(made).dtype == torch.int64
    assert int(dense(made).sum()) == 11 * 60
