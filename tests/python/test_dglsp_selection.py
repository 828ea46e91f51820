"""Rows, columns and samples of DGL's sparse matrices."""

from __future__ import annotations

import libsparse.dglsp as dglsp
import pytest
import torch

import libsparse as ls

torch.manual_seed(0)
M, N = 9, 7
PLACES = torch.randperm(M * N)[:30]
INDICES = torch.stack([PLACES // N, PLACES % N])


def matrices(width=()):
    val = torch.rand(30, *width, dtype=torch.float64) + 0.5
    A = dglsp.spmatrix(INDICES, val, (M, N))
    yield from (A, A.coalesce(), A.T.coalesce().T)
    again = torch.cat([INDICES, INDICES[:, :9]], 1)
    yield dglsp.spmatrix(again, torch.cat([val, val[:9]]), (M, N))


@pytest.mark.parametrize("width", [(), (3,)])
@pytest.mark.parametrize("dim", [0, 1])
def test_rows_and_columns(dim, width):
    for A in matrices(width):
        numbers = torch.randint(0, A.shape[dim], (5,))
        dense = A.to_dense()
        assert torch.equal(A.index_select(dim, numbers).to_dense(), dense.index_select(dim, numbers))
        assert torch.equal(A.index_select(dim, numbers[:0]).to_dense(), dense.index_select(dim, numbers[:0]))
        assert torch.equal(A.range_select(dim, slice(2, 5)).to_dense(), dense.narrow(dim, 2, 3))
        assert torch.equal(A.range_select(dim, slice(None)).to_dense(), dense)
        leading = torch.randperm(A.shape[dim])[:3]
        for first in (None, leading):
            rest, kept = A.compact(dim, first)
            assert torch.equal(rest.to_dense(), dense.index_select(dim, kept))
            assert torch.equal(rest.val, A.val)
        assert kept[:3].tolist() == leading.tolist()


def test_gradients_of_rows_and_columns():
    val = torch.rand(30, dtype=torch.float64, requires_grad=True)
    numbers = torch.tensor([1, 1, 4])
    for dim in (0, 1):
        for function in (
            lambda v, dim=dim: dglsp.spmatrix(INDICES, v, (M, N)).index_select(dim, numbers).to_dense(),
            lambda v, dim=dim: dglsp.spmatrix(INDICES, v, (M, N)).range_select(dim, slice(1, 4)).to_dense(),
            lambda v, dim=dim: dglsp.spmatrix(INDICES, v, (M, N)).compact(dim)[0].to_dense(),
            lambda v, dim=dim: dglsp.spmatrix(INDICES, v, (M, N)).sample(dim, 99).to_dense(),
        ):
            assert torch.autograd.gradcheck(function, val)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("dim", [0, 1])
def test_samples(dim, bias):
    for A in matrices():
        numbers = torch.randint(0, A.shape[dim], (5,))
        stored = (A.coalesce().to_dense() != 0).index_select(dim, numbers)
        whole = A.sample(dim, 99, numbers, bias=bias)
        torch.testing.assert_close(whole.to_dense(), A.index_select(dim, numbers).to_dense())
        counts = torch.bincount(A.coo()[dim], minlength=A.shape[dim])[numbers]
        for replace in (False, True):
            some = A.sample(dim, 2, numbers, replace, bias)
            assert some.shape == stored.shape
            assert not (some.to_dense() != 0)[~stored].any()
            expected = counts.clamp(max=2) if not replace else (counts > 0) * 2
            assert torch.equal(torch.bincount(some.coo()[dim], minlength=5), expected)
        assert A.sample(dim, 1).shape == A.shape


def test_samples_follow_weights_and_the_generator():
    A = dglsp.from_csr(torch.tensor([0, 4]), torch.arange(4), torch.tensor([0.0, 1.0, 2.0, 5.0]))
    rows = torch.zeros(4000, dtype=torch.int64)
    for replace in (False, True):
        first = A.sample(0, 1, rows, replace, True).sum(0) / A.val.clamp(min=1) / len(rows)
        torch.testing.assert_close(first, torch.tensor([0.0, 0.125, 0.25, 0.625]), atol=0.04, rtol=0)
    pairs = A.sample(0, 2, rows, False, True)
    assert pairs.nnz == 2 * len(rows)
    assert not pairs.has_duplicate()
    torch.manual_seed(1)
    one = A.sample(0, 2, rows)
    torch.manual_seed(1)
    assert torch.equal(one.to_dense(), A.sample(0, 2, rows).to_dense())


def test_a_mini_batch():
    """As in DGL's example of GraphSAGE: columns receive."""
    A = dglsp.spmatrix(torch.randint(0, 50, (2, 400)).unique(dim=1), shape=(50, 50))
    seeds = torch.tensor([3, 30, 7])
    sampled, nodes = A.sample(1, 4, seeds).compact(0, seeds)
    assert nodes[:3].tolist() == seeds.tolist()
    x = torch.randn(50, 2)
    out = dglsp.diag(1 / sampled.sum(0)) @ sampled.T @ x[nodes]
    for number, seed in enumerate(seeds):
        rows = nodes[sampled.row[sampled.col == number]]
        assert set(rows.tolist()) <= set(A.row[A.col == seed].tolist())
        assert len(rows) == min(4, int((A.col == seed).sum()))
        torch.testing.assert_close(out[number], x[rows].mean(0))


def test_the_functions_take_any_sparse_tensor():
    for format in ("csr", "csc", "coo", "bsr(2,2)", "dcsr"):
        A = ls.tensor(torch.tensor([[0.0, 1, 0, 2], [3, 0, 0, 0]]), format=format)
        for made in (-dglsp.mul(A, -2), dglsp.add(A, A), dglsp.sp_add_v(A, torch.ones(4)), dglsp.softmax(A)):
            assert isinstance(made, dglsp.SparseMatrix)
            assert made.row.shape == made.col.shape == made.val.shape
        assert dglsp.compact(A, 1)[0].to_dense().sum() == 6
        assert dglsp.val_like(A, torch.ones(A.nnz if "bsr" not in format else 8, 2)).val.shape[1] == 2
