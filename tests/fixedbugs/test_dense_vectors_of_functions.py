"""Dense vectors of several sparse vectors and a dense one, where nothing is stored and a function makes 1 of 0."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

DENSE = {"a": torch.tensor([0.0, 1, 0, 2]), "b": torch.tensor([1.0, 0, 0, 2]), "d": torch.tensor([3.0, 2, 0, 1])}
a, b, d = DENSE.values()


@pytest.mark.parametrize("format", [None, "d", "s"])
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a(i) + cos(b(i) * d(i))", a + torch.cos(b * d)),
        ("a(i) * d(i) - sigmoid(b(i))", a * d - torch.sigmoid(b)),
        ("le(a(i) * d(i), b(i))", a * d <= b),
        ("(a(i) * d(i)) / b(i)", a * d / b),
        ("cos(a(i(0:3)) * d(i(1:4)))", torch.cos(a[:3] * d[1:])),
        ("cos(a(i) * d(i))", torch.cos(a * d)),
    ],
)
def test_vectors_have_values_where_nothing_is_stored(text: str, wanted: torch.Tensor, format: str | None) -> None:
    operands = {name: DENSE[name] for name in "abd" if f"{name}(i" in text}
    operands |= {name: ls.tensor(DENSE[name], format="s") for name in "ab" if name in operands}
    found = ls.evaluate(f"y(i) = {text}", **operands, format=format)
    found = found.to_dense() if isinstance(found, ls.SparseTensor) else found
    torch.testing.assert_close(found, wanted, equal_nan=True)
