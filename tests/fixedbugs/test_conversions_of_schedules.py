"""Operands that a schedule converts: padding in another order was read out of bounds, and zeros in blocks took part."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import libsparse as ls

DENSE = torch.tensor([[0.0, -2.0, 0.0], [-3.0, -1.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, -5.0]])
x = torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize("wanted", ["dp", "do", "dl(8)", "w(16)l(8)", "dk(4,4)", "dh", "hh", "ds", "bs"])
@pytest.mark.parametrize("stored", ["csc", "dp:1,0"])
def test_padding_in_another_order(stored: str, wanted: str) -> None:
    dense = DENSE.repeat(9, 7)
    A = ls.tensor(dense, format=stored)
    vector = torch.arange(21.0)
    made = ls.schedule("y(i) = A(i,j) * x(j)", A=A, x=vector).then(f"convert(A, {wanted})").run()
    torch.testing.assert_close(made, dense @ vector)


@pytest.mark.parametrize("wanted", ["dk(2,2)", "do", "sd"])
@pytest.mark.parametrize(
    ("text", "operands"),
    [
        ("y(i) max= A(i,j) * x(j)", {"A": ls.tensor(DENSE), "x": x}),
        ("y(i) = stored(A(i,j)) * x(j)", {"A": ls.tensor(DENSE), "x": x}),
        ("y(i) = A(i,j) * x(j)", {"A": ls.from_mask(DENSE != 0), "x": x}),
    ],
)
def test_zeros_that_would_take_part(text: str, operands: dict[str, Any], wanted: str) -> None:
    with pytest.raises(ls.UnsupportedError, match="stores zeros beside the entries of A"):
        ls.schedule(text, **operands).then(f"convert(A, {wanted})").run()


@pytest.mark.parametrize("wanted", ["dk(2,2)", "do", "sd"])
@pytest.mark.parametrize(
    "text", ["y(i) = 2 * A(i,j) * x(j)", "y(i) = relu(A(i,j)) * x(j)", "Y(i,j) = exp(A(i,j)) * x(j) - A(i,j)"]
)
def test_zeros_that_change_nothing(text: str, wanted: str) -> None:
    operands = {"A": ls.tensor(DENSE), "x": x}
    made = ls.schedule(text, **operands, format="dense").then(f"convert(A, {wanted})").run()
    torch.testing.assert_close(made, ls.evaluate(text, **operands, format="dense"))
