"""Operands that a schedule converts: padding in another order was read out of bounds."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DENSE = torch.tensor([[0.0, -2.0, 0.0], [-3.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -5.0]])


@pytest.mark.parametrize("wanted", ["dp", "do", "dl(8)", "w(16)l(8)", "dk(4,4)", "dh", "hh", "ds", "bs"])
@pytest.mark.parametrize("stored", ["csc", "dp:1,0"])
def test_padding_in_another_order(stored: str, wanted: str) -> None:
    dense = DENSE.repeat(9, 7)
    A = ls.tensor(dense, format=stored)
    vector = torch.arange(21.0)
    made = ls.schedule("y(i) = A(i,j) * x(j)", A=A, x=vector).then(f"convert(A, {wanted})").run()
    torch.testing.assert_close(made, dense @ vector)
