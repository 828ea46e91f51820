"""Longer products of dense integers with empty sums, and columns that `from_topk` is given twice."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("dtype", [torch.int32, torch.uint8, torch.int64])
def test_products_of_three_dense_integers(dtype):
    for shapes in [((0, 2, 3), (0,), (3, 4, 5)), ((2, 2, 3), (2,), (3, 4, 5))]:
        operands = [torch.full(shape, 3, dtype=dtype) for shape in shapes]
        made = ls.einsum("jil,j,lkn->k", *operands)
        want = torch.einsum("jil,j,lkn->k", *[o.long() for o in operands]).to(dtype)
        torch.testing.assert_close(made, want)


def test_a_column_is_in_a_row_once():
    with pytest.raises(ls.FormatError, match="row 1 of indices has 4 twice"):
        ls.from_topk(torch.tensor([[0, 1], [4, 4]]), torch.ones(2, 2), 5)
    assert ls.from_topk(torch.tensor([[1, 0], [4, 2]]), torch.ones(2, 2), 5).nnz == 4
