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


@pytest.mark.parametrize("format", ["csr", "coo", "ell", "dh", "csc", "bb", None])
def test_the_fill_is_the_identity(graph, format):
    dense, A = graph
    out = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format=format)
    found = out if format is None else out.to_dense()
    torch.testing.assert_close(found, shortest(dense))
    if format is not None:
        assert out.fill_value == math.inf
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


def test_what_keeps_it_and_what_refuses_it(graph):
    dense, A = graph
    out = ls.einsum("ij,jk->ik", A, A, reduce="min", combine="add", format="csr")
    for kept in (
        out.T.T,
        out.clone(),
        out.to_format("coo"),
        copy.deepcopy(out),
        pickle.loads(pickle.dumps(out)),
        out.detach(),
    ):
        torch.testing.assert_close(kept.to_dense(), shortest(dense))
    torch.testing.assert_close((-out).to_dense(), -shortest(dense))
    for refused in (
        lambda: out @ torch.ones(3, 2),
        lambda: out * 2,
        lambda: out + A,
        lambda: out.sum(),
        lambda: out.to_torch(),
        lambda: out.to_format("bsr(2,2)"),
        lambda: ls.einsum("ij->i", out),
        lambda: A @ out,
    ):
        with pytest.raises(ls.UnsupportedError, match="inf"):
            refused()
    with pytest.raises(ls.UnsupportedError, match="bsr"):
        ls.einsum("ij,jk->ik", A, A, reduce="min", format="bsr(2,2)")
