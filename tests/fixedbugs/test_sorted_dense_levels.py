"""Dense levels that are sorted within windows: what other loops want to read in another order."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("other", ["w(4)d:1,0", "dd:1,0", "w(8)d", "csc"])
def test_their_modes_change_places(other: str) -> None:
    dense = torch.randn(65, 40)
    found = ls.tensor(dense, format="w(4)d").to_format(other)
    assert torch.equal(found.to_dense() if isinstance(found, ls.SparseTensor) else found, dense)


def test_products_that_are_summed_whole() -> None:
    dense, x = torch.randn(65, 40).double(), torch.randn(16, 65).double()
    found = ls.einsum("ki,lk->", ls.tensor(dense, format="w(4)d"), x)
    torch.testing.assert_close(found, torch.einsum("ki,lk->", dense, x))
