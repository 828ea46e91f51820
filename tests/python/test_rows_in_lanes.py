"""Sums over rows that are stored side by side: rows of all lengths, and the bits of CSR."""

from __future__ import annotations

import pytest
import torch
from covering import pairs

import libsparse as ls


@pytest.mark.parametrize(
    ("format", "dtype", "reduce"),
    pairs(
        ["sell(8)", "sell(32)", "sell(8,64)", "ell", "sell(3)"],
        [torch.float32, torch.float64, torch.int32, torch.int64, torch.uint8],
        ["max", "min"],
    ),
)
def test_rows_in_lanes(format: str, dtype: torch.dtype, reduce: str) -> None:
    """Rows whose entries stand side by side, of all lengths, in slices that are full or not."""
    torch.manual_seed(0)
    for rows in (1, 8, 37, 64):
        lengths = torch.rand(rows, 1) * (torch.arange(rows)[:, None] % 5 > 0)
        dense = torch.randint(1, 5, (rows, 20)).to(dtype) * (torch.rand(rows, 20) < lengths)
        A, x = ls.tensor(dense).to_format(format), torch.randint(1, 5, (20,)).to(dtype)
        assert torch.equal(A @ x, (dense * x).sum(1, dtype=dtype))
        found, csr = (ls.einsum("ij,j->i", m, x, reduce=reduce) for m in (A, A.to_format("csr")))
        assert torch.equal(found, csr)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_formats_change_no_bit(dtype: torch.dtype) -> None:
    """Rows are summed in one order, whether they are stored one after the other or side by side."""
    torch.manual_seed(0)
    for rows, columns, density in (
        (8, 100, 0.9),
        (64, 100, 0.1),
        (301, 100, 0.3),
        (301, 100, 0.008),
        (301, 100, 0.015),
        (150, 400, 0.6),
    ):
        A = ls.tensor((torch.randn(rows, columns) * (torch.rand(rows, columns) < density)).to(dtype))
        x = torch.randn(columns, dtype=dtype)
        with ls.options(tune_bitwise=True):  # whatever has been tuned for matrices like these
            for format in ("sell(8)", "sell(4,64)", "sell(8,256)", "ell", "dn"):
                assert torch.equal(A @ x, A.to_format(format) @ x)


@pytest.mark.parametrize("first", [1.0, torch.nan, torch.inf])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lanes_whose_row_has_ended_keep_their_bits(dtype: torch.dtype, first: float) -> None:
    """Rows of very different lengths, some empty, have the bits of CSR, whatever padding reads."""
    torch.manual_seed(0)
    for rows in (5, 64, 203):
        lengths = (torch.rand(rows, 1) ** 3 * (torch.rand(rows, 1) < 0.8)).masked_fill(
            torch.arange(rows)[:, None] == 3, 1
        )
        A = ls.tensor((torch.randn(rows, 70) * (torch.rand(rows, 70) < lengths)).to(dtype))
        x = torch.randn(70, dtype=dtype)
        x[0] = first
        with ls.options(tune_bitwise=True):
            for format in ("sell(8)", "sell(32)", "sell(4,64)", "sell(8,256)", "ell"):
                B = A.to_format(format)
                torch.testing.assert_close(B @ x, A @ x, rtol=0, atol=0, equal_nan=True)
                for reduce in ("max", "min"):
                    found, csr = (ls.einsum("ij,j->i", m, x, reduce=reduce) for m in (B, A))
                    torch.testing.assert_close(found, csr, rtol=0, atol=0, equal_nan=True)
