"""Equations whose matrix, right-hand side and preconditioner have different dtypes, or half precision."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import libsparse as ls

pytestmark = pytest.mark.compiler

DENSE = torch.tensor([[4.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 0.0, 2.0]])
RIGHT = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
INVERSE = torch.diag(1 / DENSE.diagonal())


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
@pytest.mark.parametrize("make", [lambda: INVERSE, lambda: ls.tensor(INVERSE), lambda: lambda x: x / 4.0])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex64])
def test_preconditioners_of_other_dtypes(method: str, make: Any, dtype: torch.dtype) -> None:
    right = RIGHT.to(dtype) * (1j if dtype.is_complex else 1)
    found = ls.linalg.solve(ls.tensor(DENSE), right, method, make())
    assert found.dtype == dtype
    torch.testing.assert_close(found, torch.linalg.solve(DENSE.to(dtype), right), rtol=1e-4, atol=1e-4)


def test_results_of_preconditioners_have_the_dtype_of_the_equations() -> None:
    found = ls.linalg.solve(ls.tensor(DENSE), RIGHT.float(), "cg", lambda x: INVERSE.double() @ x.double())
    assert found.dtype == torch.float32
    with pytest.raises(ls.DtypeError, match=r"M has dtype torch.complex64; expected a real one"):
        ls.linalg.solve(ls.tensor(DENSE), RIGHT, "cg", INVERSE.to(torch.complex64))


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "direct"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(method: str, dtype: torch.dtype) -> None:
    matrix, right = ls.tensor(DENSE.to(dtype)).requires_grad_(), RIGHT.to(dtype).requires_grad_()
    inverse = None if method == "direct" else lambda x: INVERSE.to(dtype) @ x
    found = ls.linalg.solve(matrix, right, method, inverse)
    assert found.dtype == dtype
    torch.testing.assert_close(found, torch.linalg.solve(DENSE, RIGHT.float()).to(dtype))
    found.sum().backward()
    assert matrix.grad is not None
    assert matrix.grad.dtype == dtype
    torch.testing.assert_close(right.grad, torch.linalg.solve(DENSE, torch.ones(3)).to(dtype))
