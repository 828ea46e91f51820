"""Fill values of results whose formats store elements that no operand stores: blocks, diagonals, dense levels."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

FORMATS = ["dia", "bsr(2,2)", "sd", "bd"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("fill", [1, float("nan")])
def test_functions_and_quotients(dense: torch.Tensor, format: str, fill: float) -> None:
    text, wanted = ("exp(A(i,j))", dense.exp()) if fill == 1 else ("A(i,j) / A(i,j)", dense / dense)
    for found in (
        ls.evaluate(f"Y(i,j) = {text}", A=ls.tensor(dense), format=format),
        ls.schedule(f"Y(i,j) = {text}", A=ls.tensor(dense), format=format).run(),
    ):
        assert found.format == format
        torch.testing.assert_close(found.to_dense(), wanted, equal_nan=True)


@pytest.mark.parametrize("format", FORMATS)
def test_identities_of_reductions(dense: torch.Tensor, format: str) -> None:
    found = ls.einsum("ij->ij", ls.tensor(dense), reduce="max", format=format)
    torch.testing.assert_close(found.to_dense(), torch.where(dense == 0, -torch.inf, dense))


@pytest.mark.parametrize("first", ["sd", "bd", "sd:1,0"])
@pytest.mark.parametrize("second", ["csr", "sd", "dia"])
def test_formats_that_are_inferred(dense: torch.Tensor, first: str, second: str) -> None:
    A, B = ls.tensor(dense, format=first), ls.tensor(dense.T.contiguous(), format=second)
    found = ls.evaluate("Y(i,j) = exp(A(i,j) + B(i,j))", A=A, B=B)
    torch.testing.assert_close(found.to_dense(), (dense + dense.T).exp())
    found = ls.evaluate("Y(i,j) = cos(A(i,j) * B(j,i))", A=A, B=B)
    torch.testing.assert_close(found.to_dense(), (dense * dense).cos())


@pytest.mark.parametrize("text", ["A(i,j) / B(i,j)", "div(A(i,j), B(i,j))"])
def test_stored_divisors_that_are_zero_or_no_numbers(text: str) -> None:
    B = ls.from_coo(torch.tensor([[0, 0, 1], [0, 1, 1]]), torch.tensor([0.0, torch.nan, 2.0]), (2, 2))
    A = ls.from_coo(torch.tensor([[1], [1]]), torch.tensor([1.0]), (2, 2))
    found = ls.evaluate(f"Y(i,j) = {text}", A=A, B=B)
    torch.testing.assert_close(found.to_dense(), A.to_dense() / B.to_dense(), equal_nan=True)
