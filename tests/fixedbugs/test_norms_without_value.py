"""Norms that have no value, or NaN: negative ones of NaN beside zero, those of nothing, and dtypes that lose a part."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import libsparse as ls


@pytest.mark.parametrize("p", [-1, -2, -0.5])
@pytest.mark.parametrize("dim", [None, 0, 1])
def test_nan_beside_zero(p: float, dim: int | None) -> None:
    dense = torch.tensor([[float("nan"), 0.0, 1], [1, -2, 3], [0, 1, 2]])
    norm = torch.linalg.vector_norm
    torch.testing.assert_close(norm(ls.tensor(dense), p, dim), norm(dense, p, dim), equal_nan=True)


def test_negative_norms_of_nothing() -> None:
    A = ls.tensor(torch.zeros(0, 4))
    with pytest.raises(ls.ShapeError, match="of no elements"):
        torch.linalg.vector_norm(A, -1, 0)
    for order in (-1, -float("inf")):
        dim = (1, 0) if order == -1 else (0, 1)
        with pytest.raises(ls.ShapeError, match="no rows or columns"):
            torch.linalg.matrix_norm(A, order, dim)


@pytest.mark.parametrize(("factor", "dtype"), [(1, torch.complex128), (1j, torch.float64)])
def test_dtypes_of_the_other_kind(dense: Tensor, factor: complex, dtype: torch.dtype) -> None:
    for norm in (torch.linalg.vector_norm, torch.linalg.matrix_norm):
        with pytest.raises(RuntimeError, match="dtype should be"):
            norm(dense * factor, dtype=dtype)
        with pytest.raises(ls.DtypeError, match=r"expected a (real|complex) dtype"):
            norm(ls.tensor(dense * factor), dtype=dtype)
