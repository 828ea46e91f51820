"""Numbers of rows in results of other patterns: a row without entries of one operand may have some of another one."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler


@pytest.mark.parametrize("format", ["db", "bb", "dh", "csr", "dense", None])
def test_rows_that_the_sum_has_no_entries_of(format: str | None) -> None:
    A = torch.tensor([[1.0, 2, 0], [0, 0, 0], [0, 3, 0]])
    D = torch.tensor([[1.0, 0, 0], [0, 5, 0], [0, 3, 7]])
    sums = A.sum(1, keepdim=True)
    for text, wanted in {
        "Y(i,j) = sum(A(i,k)) - D(i,j)": sums - D,
        "Y(i,j) = exp(sum(A(i,k))) * D(i,j)": sums.exp() * D,
    }.items():
        found = ls.evaluate(text, A=ls.tensor(A), D=ls.tensor(D), format=format)
        torch.testing.assert_close(found if type(found) is torch.Tensor else found.to_dense(), wanted)
