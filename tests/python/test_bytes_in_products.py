"""Products with dense truth values and integers of 8 bits: they are widened as vectors, for all widths."""

from __future__ import annotations

import pytest
import torch

import libsparse as ls

DTYPES = [torch.bool, torch.uint8, torch.int8]


def bytes_of(rows: int, columns: int, dtype: torch.dtype) -> torch.Tensor:
    if dtype == torch.bool:
        return torch.rand(rows, columns) < 0.4
    info = torch.iinfo(dtype)
    found = torch.randint(info.min, info.max + 1, (rows, columns), dtype=dtype)
    found[0, 0], found[-1, -1] = info.min, info.max
    return found


@pytest.mark.compiler
@pytest.mark.parametrize("width", [1, 3, 4, 10, 16, 33, 64])
@pytest.mark.parametrize("to", [torch.float32, torch.float64, torch.int32, torch.int64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_products_are_those_of_wider_numbers(dtype: torch.dtype, to: torch.dtype, width: int) -> None:
    A = ls.random((50, 40), 0.2)
    A = A.with_values((A.values() * 8).round().to(to))
    x, y = bytes_of(40, width, dtype), torch.randint(-9, 9, (50, width)).to(to)
    torch.testing.assert_close(A @ x, A.to_dense() @ x.to(to))
    torch.testing.assert_close(ls.sddmm(A, y, x.T).to_dense(), A.to_dense() * (y @ x.T.to(to)))


@pytest.mark.compiler
@pytest.mark.parametrize("dtype", DTYPES)
def test_they_are_widened_as_vectors(dtype: torch.dtype) -> None:
    A, x, y = ls.random((3000, 2000), 0.005), bytes_of(2000, 10, dtype), torch.rand(3000, 10)
    assert "i32_of_" in str(ls.explain("ij,jk->ik", A, x, stage="c"))
    assert "i32_of_" in str(ls.explain("ij,ik,jk->ij", A, y, x, stage="c"))
