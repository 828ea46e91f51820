"""Slices, splits and products with repeated tensors took memory for the extents of huge shapes, not for the entries."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

ROWS, COLUMNS = 2**40 + 5, 2**31 + 11
PLACES = torch.tensor([[0, 2**32, 2**40, ROWS - 1], [0, 5, 2**31, COLUMNS - 1]])


def _huge(format: str) -> torch.Tensor:
    return ls.from_coo(PLACES, torch.arange(1.0, 5), (ROWS, COLUMNS), format=format)


@pytest.mark.parametrize("format", ["coo", "dcsr", "dcsc"])
def test_slices_and_pieces(format: str) -> None:
    a = _huge(format)
    part = a[2**32 :: 2, 5:]
    assert part.shape == (2**39 - 2**31 + 3, COLUMNS - 5)
    assert part.indices()[:, part.indices()[0].argsort()].tolist() == [
        [0, 2**39 - 2**31, part.shape[0] - 1],
        [0, 2**31 - 5, COLUMNS - 6],
    ]
    assert [piece.nnz for piece in a.split([2**32, ROWS - 2**32])] == [1, 3]
    assert [piece.nnz for piece in a.chunk(2, 1)] == [2, 2]
    assert torch.take(a[: 2**30, : 2**30], torch.tensor([0, 2**60 - 1])).tolist() == [1, 0]
    assert a.trace() == 1


@pytest.mark.parametrize("format", ["coo", "dcsr", "dcsc"])
def test_products_with_repeated_sparse_tensors(format: str) -> None:
    row = ls.from_coo([[0, COLUMNS - 1]], torch.tensor([10.0, 20.0]), (COLUMNS,))
    for found in (_huge(format) * row, row[None] * _huge(format)):
        assert found.shape == (ROWS, COLUMNS)
        assert found.sum() == 90
        assert found.nnz == 2


def test_gradients_of_products_with_repeated_sparse_tensors() -> None:
    dense = [torch.tensor([[1.0, 0, 2], [0, 3, 4]]), torch.tensor([[5.0, 0, 6]]), torch.tensor([[7.0], [0]])]
    leaves = [[ls.tensor(d).requires_grad_() for d in dense], [d.clone().requires_grad_() for d in dense]]
    for a, row, column in leaves:
        (a * row * column).square().sum().backward()
    for found, wanted in zip(*leaves, strict=True):
        torch.testing.assert_close(found.grad.to_dense(), torch.where(wanted == 0, 0, wanted.grad))
