"""Fill values in expressions: integers as large as int64 has, complex numbers and truth values."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("number", [2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63)])
def test_integers_are_exact_where_nothing_is_stored(number: int) -> None:
    dense, other = torch.tensor([1, 0, 3]), torch.tensor([0, 0, 1])
    a, b = ls.tensor(dense), ls.tensor(other)
    sums = ls.evaluate("y(i) = A(i) + n", A=a, n=number), ls.evaluate("y(i) = F(i) + 0 * B(i)", F=a + number, B=b)
    for found in sums:
        assert found.dtype == torch.int64
        assert torch.equal(found.to_dense(), dense + number)


def test_sums_of_integers_beyond_their_fill_value_stay_integers() -> None:
    dense = torch.tensor([[1, 0, 0], [0, 1, 1]])
    a = ls.tensor(dense)
    found = ls.evaluate("y(i) = max(F(i,j) + 1, B(i,j))", F=a + 3, B=a)
    assert torch.equal(found, torch.maximum(dense + 4, dense).sum(1))


@pytest.mark.parametrize("text", ["Y(i,j) = F(i,j) * F(i,j)", "Y(i,j) = F(i,j) + B(i,j)", "Y(i,j) = F(i,j)"])
@pytest.mark.parametrize("fill", [2 + 1j, -1j, 1.0])
def test_complex_fill_values_in_expressions(text: str, fill: complex) -> None:
    dense = torch.tensor([[1 + 2j, 0, 2], [0, 0, -3]])
    names = {name: ls.tensor(dense) + (fill if name == "F" else 0) for name in "FB" if f"{name}(" in text}
    wanted = {"*": (dense + fill).square(), "+": dense + fill + dense}.get(text[16:17], dense + fill)
    found = ls.evaluate(text, **names)
    assert isinstance(found, ls.SparseTensor)
    torch.testing.assert_close(found.to_dense(), wanted)
    torch.testing.assert_close(ls.evaluate(text.replace("Y(i,j)", "y(i)"), **names), wanted.sum(1))


def test_products_of_filled_truth_values_are_truth_values(dense: Tensor) -> None:
    a = ls.tensor(dense) == 0
    for text in ("Y(i,j) = F(i,j) * F(i,j)", "y(i) max= F(i,j)", "Y(i,j) = F(i,j) + F(i,j)"):
        found = ls.evaluate(text, F=a)
        assert found.dtype == torch.bool
        assert torch.equal(found.to_dense(), dense == 0 if "j)" in text[:6] else (dense == 0).any(1))
