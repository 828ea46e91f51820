"""Functions with regions, of sums that have no value in some rows: a sum that is zero is another matter."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

FUNCTIONS = {"unseen": ("a", "a & ~b"), "seen": ("a", "a & b"), "either": ("a + 2 * b + 1", "a ^ b")}


@pytest.fixture(autouse=True)
def functions() -> Iterator[None]:
    for name, (body, region) in FUNCTIONS.items():
        ls.register(f"{name}(a, b)", body, region=region)
    yield
    for name in FUNCTIONS:
        ls.unregister(name)


@pytest.mark.parametrize("format", [None, "csr", "dense"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_without_terms(name: str, format: str | None) -> None:
    A = torch.tensor([[1.0, 2, 0], [0, 3, 4], [5, 0, 6]])
    E = torch.tensor([[1.0, 2, 0], [0, 0, 0], [0, 0, 0]])
    first = torch.tensor([[True], [False], [False]])  # the only row with a sum
    value = torch.where(first, A if name == "seen" else 0, {"unseen": A, "seen": 0 * A, "either": A + 1}[name])
    operands = {"A": ls.tensor(A), "E": ls.tensor(E)}
    found = ls.evaluate(f"Y(i,j) = A(i,j) * {name}(A(i,j), sum(E(i,k)))", **operands, format=format)
    torch.testing.assert_close(found if type(found) is torch.Tensor else found.to_dense(), A * value)
    sums = ls.evaluate(f"y(i) = A(i,j) * {name}(A(i,j), sum(E(i,k)))", **operands)
    torch.testing.assert_close(sums, (A * value).sum(1))
