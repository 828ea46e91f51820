"""Iterations on matrices with very small or large entries gave wrong numbers, and arguments that are none passed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import libsparse as ls

B = ls.random((30, 30), 0.2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
A = B @ B.T + ls.eye(30, dtype=torch.float64)
RIGHT = torch.linspace(1, 2, 30, dtype=torch.float64)


@pytest.mark.parametrize(
    ("scale", "dtype"), [(2.0**-700, torch.float64), (2.0**700, torch.float64), (2.0**-110, torch.float32)]
)
def test_eigenvalues(scale: float, dtype: torch.dtype) -> None:
    values = torch.linalg.eigvalsh(A.to_dense()).flip(0).to(dtype)
    small = (A * scale).to(dtype)
    torch.testing.assert_close(ls.linalg.eigsh(small, 2)[0] / scale, values[:2])
    torch.testing.assert_close(ls.linalg.power_iteration(small)[0] / scale, values[0])
    singular = torch.linalg.svdvals(B.to_dense()).to(dtype)
    torch.testing.assert_close(ls.linalg.svds((B * scale).to(dtype), 2)[1] / scale, singular[:2])


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
@pytest.mark.parametrize("scale", [2.0**-700, 2.0**700])
@pytest.mark.parametrize("has_inverse", [False, True])
def test_solutions(method: str, scale: float, has_inverse: bool) -> None:
    inverse = ls.diag(1 / (A.diagonal().to_dense() * scale)) if has_inverse else None
    found = ls.linalg.solve(A * scale, RIGHT, method, inverse, rtol=1e-10)
    torch.testing.assert_close(found * scale, torch.linalg.solve(A.to_dense(), RIGHT), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
@pytest.mark.parametrize("k", [2, 20])
def test_entries_that_are_not_finite(number: float, k: int) -> None:
    broken = A.with_values(torch.where(torch.arange(A.nnz) == 3, number, A.values()))
    for method in (ls.linalg.eigsh, ls.linalg.svds):
        with pytest.raises(ls.FormatError, match="infinite or NaN"):
            method(broken, k)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: ls.linalg.solve(A, RIGHT, rtol=float("nan")), ls.FormatError, "rtol=nan"),
        (lambda: ls.linalg.solve(A, RIGHT, atol=-1), ls.FormatError, "atol=-1"),
        (lambda: ls.linalg.solve(A, RIGHT, maxiter=1.5), ls.DtypeError, r"maxiter=1\.5"),  # type: ignore[arg-type]
        (lambda: ls.linalg.solve(A, RIGHT, M=lambda _: None), ls.DtypeError, "what M returns is NoneType"),
        (lambda: ls.linalg.solve(A, RIGHT, M=lambda x: x[:2]), ls.ShapeError, "what M returns has shape"),
        (lambda: ls.linalg.power_iteration(A, torch.zeros(30)), ls.FormatError, "x0 has the norm 0"),
        (lambda: ls.linalg.power_iteration(A, "x"), ls.DtypeError, "x0 is str"),  # type: ignore[arg-type]
        (lambda: ls.linalg.eigsh(A, 2, tol=float("nan")), ls.FormatError, "tol=nan"),
        (lambda: ls.linalg.eigsh(A, True), ls.ShapeError, "k=True"),
    ],
)
def test_arguments(call: Callable[[], Any], error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_direct_solutions_have_the_common_dtype() -> None:
    right: Tensor = torch.ones(3, dtype=torch.float16)
    assert ls.linalg.solve(ls.eye(3, dtype=torch.float16), right, "direct").dtype == torch.float16
