"""Extents that vary from call to call may be smaller than a tile, whatever stands for their class."""

import pytest
import torch

import libsparse as ls


@pytest.mark.parametrize("rows", [1, 3, 7, 8, 20])
@pytest.mark.parametrize("format", ["dsd", "dsd:1,2,0", "sdd", "dss"])
def test_results_have_fewer_rows_than_a_tile(rows: int, format: str) -> None:
    made = torch.Generator().manual_seed(rows)
    a = torch.randn(rows, 5, 7, generator=made) * (torch.rand(rows, 5, 7, generator=made) < 0.5)
    b = torch.randn(5, 7, generator=made) * (torch.rand(5, 7, generator=made) < 0.5)
    y = ls.einsum("ijk,jk->i", ls.tensor(a, format=format), ls.tensor(b, format="dia"))
    torch.testing.assert_close(y, torch.einsum("ijk,jk->i", a, b))
