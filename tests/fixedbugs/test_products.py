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
