"""Functions of `dglsp` on matrices whose values are in another order than their coordinates, as those of blocks."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls
from libsparse import dglsp


@pytest.mark.parametrize("format", ["bsr(2,2)", "dia"])
def test_numbers_of_rows_and_columns_go_with_their_values(format: str) -> None:
    dense = torch.arange(1.0, 9.0).view(2, 4)
    A = ls.tensor(dense, format=format)
    assert dglsp.smax(A, 1).tolist() == [4, 8]
    assert dglsp.sprod(A, 1).tolist() == [24, 1680]
    columns, rows = torch.tensor([1.0, 10.0, 100.0, 1000.0]), torch.tensor([[1.0], [10.0]])
    assert torch.equal(dglsp.sp_mul_v(A, columns).to_dense(), dense * columns)
    assert torch.equal(dglsp.sp_add_v(A, rows).to_dense(), dense + rows)
