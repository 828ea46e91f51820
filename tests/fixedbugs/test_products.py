"""Products of sparse and dense tensors are what torch makes them, for every rank and format."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


def test_batches_of_dense_matrices_give_dense_results():
    A, X = ls.random((4, 3), 0.4), torch.rand(2, 3, 5)
    for made, want in ((A @ X, A.to_dense() @ X), (X.mT @ A.T, X.mT @ A.to_dense().T)):
        assert not isinstance(made, ls.SparseTensor)
        torch.testing.assert_close(made, want)
    B = ls.random((2, 4, 3), 0.4)
    torch.testing.assert_close(torch.bmm(B, X), B.to_dense() @ X)


@pytest.mark.parametrize("format", ["sd", "sd:1,0", "csr"])
@pytest.mark.parametrize("other", ["dcsr", "coo", "csr", "uq:1,0", "sd"])
def test_formats_with_dense_levels_below_sparse_ones(format, other):
    A, B = ls.random((8, 3), 0.5, format=format), ls.random((8, 3), 0.5, format=other)
    torch.testing.assert_close(ls.einsum("ji,ji->", A, B), (A.to_dense() * B.to_dense()).sum())
    torch.testing.assert_close(ls.einsum("ji,ji->", B, A), (A.to_dense() * B.to_dense()).sum())


def test_sparse_operands_are_repeated():
    B, X = ls.random((1, 4, 3), 0.4), torch.rand(2, 3, 5)
    torch.testing.assert_close(torch.matmul(B, X), B.to_dense() @ X)
    torch.testing.assert_close(torch.matmul(B, torch.rand(1, 3, 5).zero_()), torch.zeros(1, 4, 5))


@pytest.mark.parametrize("format", ["bsr(2,2)", "bsc(2,2)", "dia", "ell", "sd", "csc"])
def test_batches_share_a_mask_of_any_format(format):
    """Blocks and diagonals were refused: "expected dense q and kt of the same leading dimensions", which they had."""
    dense = torch.tensor([[1.0, 0, 2], [0, 0, 0], [0, 3, 0]], dtype=torch.float64)
    mask = ls.tensor(dense, format=format).requires_grad_()
    q = torch.randn(2, 1, 3, 4, dtype=torch.float64, requires_grad=True)
    kt = torch.randn(2, 1, 4, 3, dtype=torch.float64, requires_grad=True)
    weights = torch.randn(2, 1, 3, 3, dtype=torch.float64)
    wanted = dense.clone().requires_grad_()
    (wanted * (q @ kt) * weights).sum().backward()
    expected = [q.grad, kt.grad]
    q.grad = kt.grad = None
    found = ls.sddmm(mask, q, kt)
    torch.testing.assert_close(found.to_dense(), dense * (q @ kt))
    (found.to_dense() * weights).sum().backward()
    torch.testing.assert_close([q.grad, kt.grad], expected)
    kept = mask.detach().with_values(torch.ones_like(mask.values())).to_dense() != 0
    torch.testing.assert_close(mask.grad.to_dense(), wanted.grad.where(kept, 0.0))
