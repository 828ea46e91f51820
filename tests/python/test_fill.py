"""Results whose elements without any term are not 0: they have a fill value, and what can't honour it says so."""

from __future__ import annotations

import copy
import math
import pickle

import pytest
import torch

import libsparse as ls


@pytest.fixture
def graph():
    dense = torch.tensor([[0.0, 2.0, 0.0], [1.0, 0.0, 4.0], [0.0, 0.0, 0.0]])
    return dense, ls.tensor(dense)


def shortest(dense: torch.Tensor) -> torch.Tensor:
    weights = torch.where(dense != 0, dense, math.inf)
    return (weights[:, :, None] + weights[None]).amin(1)


PADDED = ["bsr(2,2)", "sd", "dia", "hd:1,0", "sell(2,4)"]


@pytest.mark.parametrize("format", ["csr", "coo", "ell", "dh", "csc", "bb", None, *PADDED])
def test_the_fill_is_the_identity(graph, format):
    dense, A = graph
    out = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format=format)
    torch.testing.assert_close(out.to_dense(), shortest(dense))
    if format is not None:
        assert out.fill_value == math.inf
        if format not in PADDED:
            assert out.nnz == int((shortest(dense) < math.inf).sum())
        assert "fill_value=inf" in repr(out)


@pytest.mark.parametrize(
    ("dtype", "reduce", "fill"),
    [
        (torch.int32, "max", -(2**31)),
        (torch.uint8, "min", 255),
        (torch.float64, "prod", 1),
        (torch.bool, "all", 1),
    ],
)
def test_fills_of_other_types(graph, dtype, reduce, fill):
    _, A = graph
    out = ls.einsum("ij,jk->ik", A.to(dtype), A.to(dtype), reduce=reduce, format="csr")
    assert out.fill_value == fill
    assert out.to_dense()[2, 2] == fill


def test_evaluate_has_it_too(graph):
    dense, A = graph
    out = ls.evaluate("D(i,k) = A(i,j) * B(j,k)", A=A, B=A, reduce="min", combine="add", format="csr")
    torch.testing.assert_close(out.to_dense(), shortest(dense))


@pytest.mark.parametrize("reduce", ["min", "max", "prod", "all", "sum"])
def test_it_is_the_identity_where_nothing_is_reduced_too(reduce):
    A = ls.tensor(torch.tensor([0.0, 3.0, 0.0]))
    fill = {"min": math.inf, "max": -math.inf, "prod": 1.0, "all": 1.0, "sum": 0.0}[reduce]
    for format in ("s", "dense", None):
        out = ls.einsum("i,i->i", A, A, reduce=reduce, format=format)
        torch.testing.assert_close(out.to_dense(), torch.tensor([fill, 1.0 if reduce == "all" else 9.0, fill]))


def test_large_results_stay_sparse():
    n = 300_000  # 360 GB if it were dense
    A = ls.from_coo(torch.stack([torch.arange(n - 1), torch.arange(1, n)]), torch.ones(n - 1), (n, n))
    out = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add")
    assert out.nnz == n - 2
    assert out.fill_value == math.inf
    assert ls.matmul(A, A, reduce="max").nnz == n - 2


def test_a_semiring_goes_on_with_its_results(graph):
    dense, A = graph
    weights = torch.where(dense != 0, dense, math.inf)
    two = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format="csr")
    three = ls.einsum("ij,jk->ik", two, A, reduce="min", combine="add", format="csr")
    padded = ls.einsum("ij,jk->ik", two.to_format("bsr(2,2)"), A, reduce="min", combine="add", format="dia")
    torch.testing.assert_close(padded.to_dense(), three.to_dense())
    want = (shortest(dense)[:, :, None] + weights[None]).amin(1)
    torch.testing.assert_close(three.to_dense(), want)
    again = ls.evaluate("D(i,k) = T(i,j) * A(j,k)", T=two, A=A, reduce="min", combine="add")
    torch.testing.assert_close(again.to_dense(), want)
    torch.testing.assert_close(ls.einsum("ij->i", two, reduce="min").to_dense(), shortest(dense).amin(1))
    widest = ls.einsum("ij,jk->ik", two, two, reduce="min", combine="max")
    torch.testing.assert_close(
        widest.to_dense(), torch.maximum(shortest(dense)[:, :, None], shortest(dense)[None]).amin(1)
    )


def test_old_elements_stay_where_there_is_no_term():
    A = ls.tensor(torch.tensor([[0.0, 3.0], [0.0, 0.0]]))
    y = torch.tensor([5.0, 7.0])
    torch.testing.assert_close(ls.evaluate("y(i) min= A(i,j)", y=y, A=A), torch.tensor([3.0, 7.0]))
    x = ls.tensor(torch.tensor([0.0, 7.0]))
    out = ls.evaluate("x(i) min= A(i,j)", x=x, A=A)
    torch.testing.assert_close(out.to_dense(), torch.tensor([3.0, 7.0]))
    out = ls.evaluate("B(i,j) min= A(i,j)", B=torch.full((2, 2), 4.0), A=A)
    torch.testing.assert_close(out.to_dense(), torch.tensor([[4.0, 3.0], [4.0, 4.0]]))


def test_what_keeps_it_and_what_refuses_it(graph):
    dense, A = graph
    out = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format="csr")
    for kept in (
        out.T.T,
        out.clone(),
        out.to_format("coo"),
        *(out.to_format(format) for format in PADDED),
        out.to_format("bsr(2,2)").to_format("csr"),
        copy.deepcopy(out),
        pickle.loads(pickle.dumps(out)),
        out.detach(),
    ):
        torch.testing.assert_close(kept.to_dense(), shortest(dense))
    torch.testing.assert_close((-out).to_dense(), -shortest(dense))
    torch.testing.assert_close((out * 2).to_dense(), shortest(dense) * 2)
    torch.testing.assert_close((out + A).to_dense(), shortest(dense) + dense)
    torch.testing.assert_close(out.sum(), shortest(dense).sum())
    torch.testing.assert_close(out @ torch.ones(3, 2), shortest(dense) @ torch.ones(3, 2))
    torch.testing.assert_close(ls.einsum("ij->i", out), shortest(dense).sum(1))
    with pytest.raises(ls.UnsupportedError, match="inf"):
        out.to_torch()
