"""Schedules by hand with levels in no order that are walked with others only where an operand has no entry."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

TEXT = "Y(i,j) = where(gt(A(i,j), B(i,j)), A(i,j), x(j))"


@pytest.mark.parametrize("format", ["csr", "coo", "sell(4)"])
@pytest.mark.parametrize("rows", ["bd", "sd"])
def test_merges_in_rows_that_are_absent_need_an_order(rows: str, format: str) -> None:
    x = torch.zeros(33)
    x[[0, 14, 18, 19, 26, 27, 30]] = 1
    A = ls.from_coo([[], []], torch.zeros(0), shape=(1, 33)).to_format(rows)
    operands = {"A": A, "B": ls.tensor(-torch.ones(1, 33), format=format), "x": ls.tensor(x, format="h")}
    assert torch.equal(ls.evaluate(TEXT, **operands, format="dense"), torch.zeros(1, 33))
    with pytest.raises(ls.UnsupportedError, match=r"needs the coordinates of x\(j\) in order"):
        ls.schedule(TEXT, **operands, format="dense").run()
    found = ls.schedule(TEXT, **operands, format="dense").convert("x", "s").run()
    assert torch.equal(found, torch.zeros(1, 33))
