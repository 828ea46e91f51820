"""Linear algebra: against dense torch, with gradients, and SciPy on operators."""

import numpy as np
import pytest
import scipy.sparse.linalg
import torch
from covering import pairs

import libsparse as ls

N = 40


def general(dtype=torch.float64, format="csr"):
    torch.manual_seed(1)
    return (ls.random((N, N), 0.1).to(dtype) + 4 * ls.eye(N).to(dtype)).to_format(format)


def positive(dtype=torch.float64, format="csr"):
    torch.manual_seed(1)
    A = ls.random((N, N), 0.1).to(dtype)
    return (A @ A.mH + 3 * ls.eye(N).to(dtype)).to_format(format)


def right(*columns, dtype=torch.float64):
    return torch.rand((N, *columns), dtype=dtype)


METHODS = [("cg", positive), ("gmres", general), ("bicgstab", general), ("direct", general)]


@pytest.mark.parametrize(
    ("way", "format", "dtype"), pairs(METHODS, ["csr", "coo", "bsr(4,4)"], [torch.float64, torch.complex128])
)
def test_solves(way, dtype, format):
    method, make = way
    A, b = make(dtype, format), right(3, dtype=dtype)
    if dtype.is_complex:
        A = A + 0.1j * (A - A.mH)  # still Hermitian where it was
    b[:, 1] = 0
    x = ls.linalg.solve(A, b, method, rtol=1e-11)
    torch.testing.assert_close(x, torch.linalg.solve(A.to_dense(), b), rtol=1e-8, atol=1e-9)
    one = ls.linalg.solve(A, b[:, 0], method, rtol=1e-11)
    torch.testing.assert_close(one, x[:, 0], rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize(("method", "make"), METHODS)
def test_gradients(method, make):
    A, b = make(), right(2).requires_grad_()
    values = A.values().clone().requires_grad_()

    def solution(values, b):
        return ls.linalg.solve(A.with_values(values), b, method, rtol=1e-13)

    assert torch.autograd.gradcheck(solution, (values, b), atol=1e-6, fast_mode=True)
    assert torch.autograd.gradgradcheck(solution, (values, b), atol=1e-5, fast_mode=True)
    (found,) = torch.autograd.grad(solution(values, b).pow(2).sum(), values)
    dense = A.to_dense().requires_grad_()
    (wanted,) = torch.autograd.grad(torch.linalg.solve(dense, b).pow(2).sum(), dense)
    torch.testing.assert_close(found, wanted[tuple(A.indices())], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab"])
def test_preconditioners(method):
    A, b = positive(), right(2).requires_grad_()
    A = A * torch.logspace(0, 4, N, dtype=torch.float64) * torch.logspace(0, 4, N, dtype=torch.float64)[:, None]
    diagonal = A.diagonal().to_dense()
    wanted = torch.linalg.solve(A.to_dense(), b.detach())
    for M in (ls.diag(1 / diagonal), torch.diag(1 / diagonal), lambda r: r / diagonal[:, None]):
        x = ls.linalg.solve(A, b, method, M, rtol=1e-12, maxiter=200)
        torch.testing.assert_close(x, wanted, rtol=1e-5, atol=1e-8)
    (found,) = torch.autograd.grad(ls.linalg.solve(A, b, method, ls.diag(1 / diagonal), rtol=1e-12).sum(), b)
    torch.testing.assert_close(found, torch.linalg.solve(A.to_dense().T, torch.ones_like(b)), rtol=1e-4, atol=1e-8)


def test_starts_and_nothing():
    A, b = general(), right()
    x = ls.linalg.solve(A, b, "gmres")
    assert torch.equal(ls.linalg.solve(A, b, "bicgstab", x0=x, maxiter=0), x)
    assert not ls.linalg.solve(A, torch.zeros(N), "gmres").any()
    assert ls.linalg.solve(ls.eye(0), torch.zeros(0)).shape == (0,)
    assert ls.linalg.solve(A.float(), b.float(), "gmres").dtype == torch.float32


@pytest.mark.parametrize(
    ("call", "kind", "told"),
    [
        (lambda: ls.linalg.solve(general() - 8 * ls.eye(N).double(), right()), ls.linalg.ConvergenceError, "positive"),
        (lambda: ls.linalg.solve(general(), right(), "gmres", maxiter=1), ls.linalg.ConvergenceError, "maxiter"),
        (lambda: ls.linalg.solve(general()[:3], right()), ls.ShapeError, "expected a square matrix"),
        (lambda: ls.linalg.solve(general().to_dense(), right()), ls.DtypeError, "expected an ls.SparseTensor"),
        (lambda: ls.linalg.solve(general(), right()[:3]), ls.ShapeError, "b has shape"),
        (lambda: ls.linalg.solve(general(), general()), ls.DtypeError, "expected a dense tensor"),
        (lambda: ls.linalg.solve(general(), right(), x0=right(1)), ls.ShapeError, "x0 has shape"),
        (lambda: ls.linalg.solve(general(), right(), "lu"), ls.FormatError, "expected one of cg"),
        (lambda: ls.linalg.solve(general().int(), right()), ls.DtypeError, "use A.float"),
        (lambda: ls.linalg.solve(general(), right(), M=ls.eye(3)), ls.ShapeError, "M has shape"),
        (lambda: ls.linalg.solve(general(), right(), M=3), ls.DtypeError, "M is a int"),
        (lambda: ls.linalg.eigsh(positive(), 0), ls.ShapeError, "from 1 to 40"),
        (lambda: ls.linalg.eigsh(positive().half(), 2), ls.DtypeError, "float32 or float64"),
        (lambda: ls.linalg.svds(general(), 41), ls.ShapeError, "from 1 to 40"),
        (lambda: ls.linalg.power_iteration(ls.tensor([[0.0, 1], [-1, 0]])), ls.linalg.ConvergenceError, "as large"),
        (lambda: ls.linalg.power_iteration(general(), torch.ones(3)), ls.ShapeError, "x0 has shape"),
        (lambda: torch.lobpcg(ls.nn.SparseParameter(positive()), 3), ls.UnsupportedError, "ls.linalg.eigsh"),
    ],
)
def test_errors(call, kind, told):
    with pytest.raises(kind, match=told):
        call()


@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize("largest", [True, False])
def test_eigenvalues(k, largest):
    A = positive()
    values = A.values().clone().requires_grad_()
    found, vectors = ls.linalg.eigsh(A.with_values(values), k, largest)
    dense = A.to_dense().requires_grad_()
    wanted = torch.linalg.eigvalsh(dense)
    wanted = wanted[-k:].flip(0) if largest else wanted[:k]
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(A @ vectors, vectors * found.detach(), rtol=1e-4, atol=1e-5)
    weight = torch.arange(1.0, k + 1, dtype=torch.float64)
    (grad,) = torch.autograd.grad((found * weight).sum(), values)
    (other,) = torch.autograd.grad((wanted * weight).sum(), dense)
    torch.testing.assert_close(grad, other[tuple(A.indices())], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("k", [3, 20])
@pytest.mark.parametrize("shape", [(50, 30), (30, 50)])
def test_singular_values(shape, k):
    A = ls.random(shape, 0.2).double()
    U, found, V = ls.linalg.svds(A, k)
    torch.testing.assert_close(found, torch.linalg.svdvals(A.to_dense())[:k])
    torch.testing.assert_close(A @ V, U * found, rtol=1e-4, atol=1e-6)
    for vectors in (U, V):
        torch.testing.assert_close(vectors.T @ vectors, torch.eye(k, dtype=torch.float64), rtol=0, atol=1e-6)
    torch.manual_seed(3)
    wanted = torch.svd_lowrank(A.to_dense(), 8)[1]
    torch.manual_seed(3)
    torch.testing.assert_close(torch.svd_lowrank(A, 8)[1], wanted)


def test_power_iteration():
    A = ls.random((N, N), 0.3).map(torch.abs).double()
    values = A.values().clone().requires_grad_()
    found, vector = ls.linalg.power_iteration(A.with_values(values), rtol=1e-11)
    dense = A.to_dense().requires_grad_()
    spectrum = torch.linalg.eigvals(dense)
    wanted = spectrum[spectrum.abs().argmax()].real
    torch.testing.assert_close(found, wanted)
    torch.testing.assert_close(A @ vector, found.detach() * vector)
    (grad,) = torch.autograd.grad(found, values)
    (other,) = torch.autograd.grad(wanted, dense)
    torch.testing.assert_close(grad, other[tuple(A.indices())], rtol=1e-6, atol=1e-8)


def test_scipy_solves_with_operators():
    A, b = positive(), right().numpy()
    operator = A.as_linear_operator()
    assert operator.dtype == np.float64
    x, status = scipy.sparse.linalg.cg(operator, b, rtol=1e-10)
    assert status == 0
    np.testing.assert_allclose(A.to_dense().numpy() @ x, b, rtol=1e-6)
    B = (ls.random((N, 10), 0.3) * 1j + ls.random((N, 10), 0.3)).to(torch.complex64)
    other = B.as_linear_operator()
    np.testing.assert_allclose(other.H @ np.eye(N)[:, ::2], B.to_dense().mH.resolve_conj().numpy()[:, ::2], rtol=1e-6)
    np.testing.assert_allclose(other.matvec(np.ones(10, np.float32)), B.to_dense().numpy().sum(1), rtol=1e-5, atol=1e-5)
    with pytest.raises(ls.ShapeError, match="takes matrices"):
        ls.random((3, 3, 3), 0.5).as_linear_operator()
    with pytest.raises(ls.DtypeError, match="bfloat16"):
        A.bfloat16().as_linear_operator()


@pytest.mark.parametrize("method", ["cg", "gmres", "bicgstab", "direct"])
def test_transforms_of_solutions(method):
    matrix = (ls.random((6, 6), 0.4, generator=torch.Generator().manual_seed(0)) + 6 * ls.eye(6)).double()
    matrix = matrix @ matrix.T
    values, right = matrix.values().clone(), torch.linspace(0.0, 1.0, 6, dtype=torch.float64)
    ours = lambda v, b: ls.linalg.solve(matrix.with_values(v), b, method=method, rtol=1e-12)  # noqa: E731
    dense = lambda v, b: torch.linalg.solve(matrix.with_values(v).to_dense(), b)  # noqa: E731
    for transform in (torch.func.jacrev, torch.func.jacfwd, lambda f: torch.func.hessian(lambda v, b: f(v, b).sum())):
        torch.testing.assert_close(transform(ours)(values, right), transform(dense)(values, right))
    several = torch.stack([right, right.flip(0)])
    found = torch.vmap(ours, (None, 0))(values, several)
    torch.testing.assert_close(found, torch.vmap(dense, (None, 0))(values, several))
    inputs = values.requires_grad_(), right.requires_grad_()
    assert torch.autograd.gradcheck(ours, inputs, check_forward_ad=True)
