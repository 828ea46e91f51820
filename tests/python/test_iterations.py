"""Iterations for linear equations: how many products they take, several columns at once, breakdowns and errors."""

from __future__ import annotations

import pytest
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor

import libsparse as ls

N = 200
METHODS = ["cg", "gmres", "bicgstab"]


def system(dtype: torch.dtype = torch.float64) -> ls.SparseTensor:
    """A Hermitian positive definite matrix."""
    torch.manual_seed(6)
    A = ls.random((N, N), 0.02).to(dtype)
    return A @ A.mH + ls.diag(torch.linspace(1, 3, N, dtype=dtype))


class Counted:
    """A preconditioner that does nothing but count its calls: GMRES has one for each product, and one more."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, columns: Tensor) -> Tensor:
        self.calls += 1
        return columns


def test_gmres_ends_inside_of_a_cycle() -> None:
    torch.manual_seed(0)
    A = 0.1 * ls.random((2000, 2000), 2e-3).double() + ls.eye(2000, dtype=torch.float64)
    b, counted, norms = torch.rand(2000, dtype=torch.float64), Counted(), []
    x = ls.linalg.solve(A, b, "gmres", counted, rtol=1e-8)
    assert float((b - A @ x).norm() / b.norm()) <= 1e-8
    sparse = scipy.sparse.csr_array(A.to_dense().numpy())
    scipy.sparse.linalg.gmres(sparse, b.numpy(), rtol=1e-8, callback=norms.append, callback_type="pr_norm")
    assert counted.calls <= len(norms) + 2


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.complex64, torch.complex128])
@pytest.mark.parametrize("method", METHODS)
def test_columns_of_all_kinds(method: str, dtype: torch.dtype) -> None:
    A = system(dtype)
    b = torch.rand(N, 5, dtype=dtype)
    b[:, 1] = 0
    b[:, 2] = A.to_dense()[:, 3]  # x is a unit vector
    b[:, 3] *= 1e-20
    b[:, 4] *= 1e20
    rtol = 1e-5 if dtype in (torch.float32, torch.complex64) else 1e-11
    wanted, sizes = torch.linalg.solve(A.to_dense(), b), torch.tensor([1, 1, 1, 1e-20, 1e20]).to(dtype)
    found = ls.linalg.solve(A, b, method, rtol=rtol)
    torch.testing.assert_close(found / sizes, wanted / sizes, rtol=0, atol=30 * rtol)
    for column in range(5):
        one = ls.linalg.solve(A, b[:, column], method, rtol=rtol)
        torch.testing.assert_close(one / sizes[column], wanted[:, column] / sizes[column], rtol=0, atol=30 * rtol)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("columns", [(), (3,)])
def test_starts_are_left_alone(method: str, columns: tuple[int, ...]) -> None:
    A, b, start = system(), torch.rand(N, *columns).double(), torch.rand(N, *columns).double()
    before = start.clone(), b.clone()
    x = ls.linalg.solve(A, b, method, lambda r: r, x0=start, rtol=1e-10)
    assert torch.equal(start, before[0])
    assert torch.equal(b, before[1])
    torch.testing.assert_close(A @ x, b)
    torch.testing.assert_close(ls.linalg.solve(A, b, method, x0=x, rtol=1e-9, maxiter=0), x)


@pytest.mark.parametrize("method", METHODS)
def test_spaces_that_end(method: str) -> None:
    """Krylov spaces of eigenvectors have one dimension, those of A = I, too."""
    A, b = ls.diag(torch.arange(1.0, 5.0, dtype=torch.float64)), torch.eye(4, dtype=torch.float64)
    mixed = torch.stack([b[0], b[1] + b[2], torch.ones(4), torch.zeros(4)], 1).double()
    for matrix, right in ((A, b), (A, b[2]), (A, mixed), (ls.eye(4, dtype=torch.float64), mixed)):
        x = ls.linalg.solve(matrix, right, method, rtol=1e-12)
        torch.testing.assert_close(x, torch.linalg.solve(matrix.to_dense(), right))


def test_singular_matrices() -> None:
    A = ls.diag(torch.tensor([1.0, 2.0, 0.0]))
    b = torch.tensor([1.0, 1.0, 0.0])
    for method in METHODS:
        torch.testing.assert_close(ls.linalg.solve(A, b, method)[:2], torch.tensor([1.0, 0.5]))
        with pytest.raises(ls.linalg.ConvergenceError):
            ls.linalg.solve(A, b + 1, method)
    swap = ls.tensor([[0.0, 1.0], [1.0, 0.0]])  # whose first product is orthogonal to the residual
    torch.testing.assert_close(ls.linalg.solve(swap, torch.tensor([1.0, 0.0]), "gmres"), torch.tensor([0.0, 1.0]))


@pytest.mark.parametrize("columns", [(), (2,)])
@pytest.mark.parametrize(
    ("method", "change", "told"),
    [
        ("cg", -10.0, "cg ended .* A or M is not Hermitian positive definite"),
        ("cg", float("inf"), "not finite"),
        ("gmres", float("nan"), "not finite"),
        ("bicgstab", float("inf"), "not finite"),
    ],
)
def test_errors(columns: tuple[int, ...], method: str, change: float, told: str) -> None:
    A = system() + ls.diag(torch.full((N,), change, dtype=torch.float64))
    with pytest.raises(ls.linalg.ConvergenceError, match=told):
        ls.linalg.solve(A, torch.ones(N, *columns).double(), method)
    for short in METHODS:
        with pytest.raises(ls.linalg.ConvergenceError, match=f"{short} ended after at most 2 products"):
            ls.linalg.solve(system(), torch.ones(N, *columns).double(), short, rtol=1e-10, maxiter=2)
