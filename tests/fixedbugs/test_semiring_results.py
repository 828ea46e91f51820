"""What a review of results with a fill value found."""

from __future__ import annotations

import math

import pytest
import torch

import libsparse as ls

GRAPH = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0], [4.0, 0.0, 0.0]])


def dense(made):
    return made.to_dense() if isinstance(made, ls.SparseTensor) else made


@pytest.mark.parametrize("reduce", ["max", "min"])
@pytest.mark.parametrize("format", ["bsr(2,2)", "sd", "dia", "csr", None])
def test_matmul_has_zeros_where_there_is_no_term(format, reduce):
    A = ls.tensor(torch.tensor([[0.0, 2.0, 0.0], [0.0, 0.0, -3.0], [0.0, 0.0, 0.0]]))
    X = torch.tensor([[1.0, -2.0], [3.0, 4.0], [5.0, 6.0]])
    want = torch.zeros(3, 3)
    want[0, 2] = -6
    torch.testing.assert_close(dense(ls.matmul(A, A, reduce=reduce, format=format)), want)
    want = torch.tensor([[6.0, 8.0], [-15.0, -18.0], [0.0, 0.0]])
    torch.testing.assert_close(dense(ls.matmul(A, X, reduce=reduce, format=format)), want)


def test_products_of_complex_terms():
    A = ls.tensor(GRAPH.to(torch.complex64))
    want = ls.einsum("ij,jk->ik", A, A, reduce="prod", format="dense")
    for format in ("csr", "bsr(2,2)", None):
        torch.testing.assert_close(dense(ls.einsum("ij,jk->ik", A, A, reduce="prod", format=format)), want)


@pytest.mark.parametrize("combine", ["add", "mul", "first"])
@pytest.mark.parametrize("dtype", [torch.int32, torch.float32])
@pytest.mark.parametrize("format", ["bsr(2,2)", "sd", "dia"])
def test_padding_makes_no_terms(format, dtype, combine):
    A = ls.tensor(GRAPH.to(dtype))
    two = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format="csr")
    want = ls.einsum("ij,jk->ik", two, -A, reduce="min", combine=combine, format="csr")
    found = ls.einsum("ij,jk->ik", two.to_format(format), -A, reduce="min", combine=combine)
    torch.testing.assert_close(dense(found), want.to_dense())


def test_scaling_old_elements_keeps_their_pattern():
    n = 200_000
    diagonal = torch.arange(n)
    A = ls.from_coo(torch.stack([diagonal, diagonal]), torch.ones(n), (n, n))
    for text in ("A(i,j) *= 2", "A(i,j) *= x(i)", "A(i,j) /= 0.5"):
        made = ls.evaluate(text, A=A, **({"x": torch.full((n,), 2.0)} if "x(" in text else {}))
        assert made.nnz == n
        assert bool((made.values() == 2).all())
    y = torch.tensor([1.0, 0.0, 2.0])
    assert dense(ls.evaluate("y(i) *= 2", y=ls.tensor(y))).tolist() == [2, 0, 4]


def test_several_assignments_with_a_reduction():
    A = ls.tensor(GRAPH)
    kept = torch.where(GRAPH != 0, GRAPH, -math.inf)
    torch.testing.assert_close(
        ls.evaluate("e(i,j) = A(i,j) * 2; y(i) = relu(e(i,j))", A=A, reduce="max"), (2 * kept).amax(1)
    )
    weights = torch.where(GRAPH != 0, GRAPH, math.inf)
    two = (weights[:, :, None] + weights[None]).amin(1)
    step = ls.evaluate("T(i,k) = A(i,j) * B(j,k); T(i,k) min= A(i,k)", A=A, B=A, reduce="min", combine="add")
    torch.testing.assert_close(dense(step), torch.minimum(two, weights))


def test_logical_reductions_take_old_numbers_as_truth_values():
    y, A = torch.tensor([0, 3, 0]), ls.tensor(torch.tensor([4, 0, 0]))
    assert dense(ls.evaluate("y(i) |= A(i)", y=y, A=A)).tolist() == [1, 1, 0]


def test_the_fill_value_is_converted_too():
    A = ls.tensor(GRAPH)
    two = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format="csr")
    assert two.to(torch.float64).fill_value == math.inf
    with pytest.raises(ls.UnsupportedError, match="infinity"):
        two.to(torch.int32)
    ones = ls.einsum("ij,jk->ik", A, A, reduce="prod", format="csr").to(torch.int32)
    assert ones.to_dense()[0, 1] == 1


def test_functions_of_one_tensor_take_the_fill_value_along():
    B = ls.SparseTensor(ls.eye(2).pattern, torch.tensor([-4.0, 9.0]), -float("inf"))
    for function in (torch.sign, torch.neg, torch.abs, torch.relu):
        assert torch.equal(function(B).to_dense(), function(B.to_dense()))


def test_replacing_a_part_keeps_no_wrong_fill_value():
    B = ls.SparseTensor(ls.eye(4).pattern, torch.ones(4), float("inf"))
    with pytest.raises(ls.UnsupportedError, match="inf"):
        ls.evaluate("B(i(0:2),j) = A(i,j)", A=ls.eye(2, 4), B=B)
