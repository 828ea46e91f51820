"""Extrema of rows, their places and gradients, which C finds: those of a dense tensor, also where numbers are odd."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import libsparse as ls

_ODD = {"plain": (), "nan": (math.nan,), "infinite": (math.inf, -math.inf), "zeros": (0.0,)}
_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8)


def _matrix(shape: tuple[int, int], dtype: torch.dtype, odd: str) -> tuple[ls.SparseTensor, Tensor]:
    """A matrix with entries of a few values, so that many are equal; stored zeros, if they are wanted, are entries."""
    stored = torch.rand(shape) < 0.5
    values = torch.randint(0 if dtype == torch.uint8 else -3, 4, shape).to(dtype)
    for number in _ODD[odd] if dtype.is_floating_point else ():
        values[torch.rand(shape) < 0.2] = number
    A = ls.from_mask(stored).to_format("csr").with_values(values[stored])
    return A, torch.where(stored, values, torch.zeros((), dtype=dtype))


@pytest.mark.parametrize("odd", _ODD)
@pytest.mark.parametrize("dtype", _DTYPES, ids=str)
def test_rows_have_the_extrema_of_dense_ones(dtype: torch.dtype, odd: str) -> None:
    torch.manual_seed(0)
    for shape in ((9, 7), (40, 3), (3, 1), (0, 4)):
        A, D = _matrix(shape, dtype, odd)
        for name in ("amax", "amin", "argmax", "argmin", "max", "min"):
            for matrix, dense, dim in ((A, D, 1), (A.T, D.T, 0), (A, D, -1)):
                found, wanted = getattr(matrix, name)(dim), getattr(dense, name)(dim)
                pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
                for one, other in pairs:
                    torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("odd", _ODD)
@pytest.mark.parametrize("name", ["amax", "amin", "max", "min"])
def test_entries_have_the_gradients_of_dense_ones(name: str, odd: str) -> None:
    torch.manual_seed(0)
    for dtype in (torch.float32, torch.float64, torch.float16):
        A, D = _matrix((9, 7), dtype, odd)
        values, dense = A.values().clone().requires_grad_(), D.clone().requires_grad_()
        found, wanted = getattr(A.with_values(values), name)(1), getattr(dense, name)(1)
        if isinstance(wanted, tuple):
            found, wanted = found[0], wanted[0]
        grad = torch.randint(1, 9, wanted.shape).to(dtype)
        (first,) = torch.autograd.grad(found, values, grad)
        (second,) = torch.autograd.grad(wanted, dense, grad)
        at = tuple(A.indices())
        torch.testing.assert_close(first, second[at], equal_nan=True)


def test_second_gradients_of_rows() -> None:
    torch.manual_seed(0)
    A, _ = _matrix((5, 4), torch.float64, "plain")
    values = torch.randperm(A.nnz).double().add(1).requires_grad_()
    for name in ("amax", "max"):

        def of(v: Tensor, name: str = name) -> Tensor:
            found = getattr(A.with_values(v), name)(1)
            return (found if isinstance(found, Tensor) else found[0]) ** 3

        assert torch.autograd.gradgradcheck(of, (values,))


def test_new_patterns_have_extrema_and_means_of_their_own() -> None:
    """A recipe of one pattern serves others with other lengths of rows, and none where it does not."""
    torch.manual_seed(0)
    for number in range(8):
        A, D = _matrix((6 + number % 3, 5 if number < 6 else 9), torch.float32, "plain")
        for name in ("amax", "amin", "mean", "sum"):
            for dim in (0, 1):
                torch.testing.assert_close(getattr(A, name)(dim), getattr(D, name)(dim))
        torch.testing.assert_close(A.max(), D.max())
        torch.testing.assert_close(A.sum(), D.sum())
        full = ls.from_torch(D.abs() + 1).to_format("csr")
        assert full.amin(1).min() == 1  # no row lacks an element
        empty = ls.from_torch(torch.zeros_like(D)).to_format("csr")
        assert not empty.amax(1).any()
        assert not empty.sum()


def test_quotients_by_vectors_have_values_where_the_dividend_has() -> None:
    torch.manual_seed(0)
    A, D = _matrix((6, 4), torch.float32, "plain")
    stored = A.with_values(torch.ones(A.nnz)).to_dense() != 0
    for shape in ((6, 1), (4,), (1, 4), (6, 4)):
        x = torch.randint(0, 3, shape).float()  # 0 / 0 is NaN where there is an entry
        found = (A / x).to_dense()
        torch.testing.assert_close(found, torch.where(stored, D / x, 0), rtol=0, atol=0, equal_nan=True)
