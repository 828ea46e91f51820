"""Sums whose factors one instruction reads by their coordinates: the same numbers as by loads, in every format."""

from __future__ import annotations

import pytest
import torch
from covering import pairs

import libsparse as ls

CSR = "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, {turns}); vectorize(j); {gather}unroll(i, 4)"
SELL = "reorder(i, j); precompute(all, w, at=1, tile); unroll(j, {sums}); unroll(i, 8); {adjacent}{gather}"


def matrix(format: str, dtype: torch.dtype) -> ls.SparseTensor:
    """Rows of 0 to 40 entries, some of which have the columns of the row before and one more."""
    lengths = torch.arange(203) * 11 % 41
    row = torch.arange(203).repeat_interleave(lengths)
    column = torch.cat([torch.arange(n) * (1 + k % 3) + k % 50 for k, n in enumerate(lengths)])
    A = ls.from_coo(torch.stack([row, column]), torch.randn(len(row), dtype=dtype), (203, 200))
    return A.to_format(format)


@pytest.mark.parametrize(
    ("format", "dtype", "turns", "adjacent"),
    [
        *pairs(["csr", "dn"], [torch.float32, torch.float64], [2, 4], [False]),
        *pairs(["sell(8)", "sell(8,64)", "sell(32)"], [torch.float32, torch.float64], [2, 4], [False, True]),
    ],
)
def test_numbers_are_those_of_loads(format, dtype, adjacent, turns):
    torch.manual_seed(0)
    A, x = matrix(format, dtype), torch.randn(200, dtype=dtype)
    x[0], x[7] = torch.inf, torch.nan  # padding, whose coordinate is negative, must meet neither

    def by(gather: str) -> torch.Tensor:
        marks = {"gather": gather, "adjacent": "adjacent(j); " if adjacent else ""}
        text = (SELL if "sell" in format else CSR).format(turns=turns, sums=4 * turns, **marks).strip("; ")
        return ls.schedule("ij,j->i", A, x).then(text).run()

    expected = by("")
    torch.testing.assert_close(by("gather(j); "), expected, equal_nan=True)
    finite = torch.isfinite(expected)
    dense = (A.to_dense().double() @ x.nan_to_num(posinf=0).double()).to(dtype)
    torch.testing.assert_close(expected[finite], dense[finite], rtol=1e-4, atol=1e-4)
    met = (A.to_dense()[:, [0, 7]] != 0).any(1)
    assert met.any()
    assert torch.equal(~finite, met)


def test_the_instruction_is_used():
    A, x = matrix("csr", torch.float32), torch.rand(200)
    schedule = ls.schedule("ij,j->i", A, x).then(CSR.format(turns=2, gather="gather(j); "))
    text = str(schedule.explain("c"))
    assert "__builtin_ia32_gathersiv8sf" in text or "f32x8" not in text  # where vectors have fewer lanes


@pytest.mark.parametrize("format", ["sell(8)", "sell(8,64)", "dn"])
def test_formats_give_the_same_bits(format):
    A, x = matrix("csr", torch.float32), torch.randn(200)
    by_rows = ls.schedule("ij,j->i", A, x).then(CSR.format(turns=2, gather="gather(j); ")).run()
    if format == "dn":
        text = CSR.format(turns=2, gather="gather(j); ")
    else:
        text = SELL.format(sums=8, gather="gather(j)", adjacent="")
    assert torch.equal(by_rows, ls.schedule("ij,j->i", A.to_format(format), x).then(text).run())
