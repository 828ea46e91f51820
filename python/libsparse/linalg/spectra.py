"""Eigenvalues and singular values of sparse matrices.

Values have gradients, by the vectors that belong to them (Hellmann and Feynman); vectors have none.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from .checks import count, matrix, scaled, square_matrix, taken, tolerance, vector
from .convergence import ConvergenceError


def eigsh(
    A: ls.SparseTensor, k: int = 6, largest: bool = True, *, tol: float | None = None, niter: int = 1000
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of a real symmetric matrix, with vectors, by `torch.lobpcg`.

    Args:
        A: (n, n), symmetric, which is not checked; of dtype float32 or float64.
        k: How many, at most n.
        largest: The largest in value, or the smallest.
        tol: Of the residuals of vectors, relative to the norm of A; by default the square root of the precision.
        niter: The most iterations.

    Returns:
        Values (k,), the largest first (the smallest first where these are asked for), and vectors (n, k) of length 1.
        Gradients of the values are those of simple eigenvalues.

    Raises:
        ShapeError: A is not square, or k is out of range.
        DtypeError: A is not sparse, or has another dtype.
        FormatError: An entry of A is infinite or NaN, or `tol` is negative.
        ls.linalg.ConvergenceError: The tolerance was not reached.

    Example:
        >>> A = ls.diag(torch.arange(1.0, 101.0))
        >>> [round(x, 2) for x in ls.linalg.eigsh(A, 2)[0].tolist()]
        [100.0, 99.0]
    """
    A = taken(A)
    square_matrix("eigsh", A)
    _check("eigsh", A, k, A.shape[0])
    within, niter = _within("eigsh", A, tol), count("eigsh", "niter", niter)
    constant, _ = scaled(A.detach())
    if 3 * k > A.shape[0]:  # fewer rows than lobpcg needs, so that the dense matrix is smaller than its vectors
        values, vectors = torch.linalg.eigh(constant.to_dense())
        chosen = slice(-k, None) if largest else slice(k)
        values, vectors = values[chosen], vectors[:, chosen]
        if largest:
            values, vectors = values.flip(0), vectors.flip(1)
    else:
        values, vectors = torch.lobpcg(constant, k=k, largest=largest, tol=within / 10, niter=niter)
    _check_residual("eigsh", constant, constant @ vectors - vectors * values, within)
    return (vectors * (A @ vectors)).sum(0), vectors


def svds(
    A: ls.SparseTensor, k: int = 6, *, tol: float | None = None, niter: int = 1000
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values of a real matrix, with vectors, by `torch.lobpcg` on [[0, A], [A^T, 0]].

    Args:
        A: (m, n), of dtype float32 or float64.
        k: How many, at most the smaller of m and n.
        tol: As of `eigsh`.
        niter: The most iterations.

    Returns:
        U (m, k), values (k,), the largest first, and V (n, k), as `torch.svd_lowrank`: A is near U diag(values) V^T.
        Gradients of the values are those of simple singular values.

    Raises:
        ShapeError: A is no matrix, or k is out of range.
        DtypeError: A is not sparse, or has another dtype.
        FormatError: An entry of A is infinite or NaN, or `tol` is negative.
        ls.linalg.ConvergenceError: The tolerance was not reached.

    Example:
        >>> U, values, V = ls.linalg.svds(ls.diag(torch.arange(1.0, 101.0)), 2)
        >>> [round(x, 2) for x in values.tolist()]
        [100.0, 99.0]
    """
    A = taken(A)
    matrix("svds", A)
    m, n = A.shape
    _check("svds", A, k, min(m, n))
    within, niter = _within("svds", A, tol), count("svds", "niter", niter)
    constant, _ = scaled(A.detach().to_format("coo"))
    if 3 * k > min(m, n):  # the dense matrix is smaller than the vectors of lobpcg
        U, values, Vh = torch.linalg.svd(constant.to_dense(), full_matrices=False)
        U, values, V = U[:, :k], values[:k], Vh[:k].mT
    else:
        row, col = constant.indices()
        places = torch.stack([torch.cat([row, col + m]), torch.cat([col + m, row])])
        both = ls.from_coo(places, constant.values().repeat(2), (m + n, m + n), check=False)
        _, vectors = torch.lobpcg(both, k=k, tol=within / 10, niter=niter)
        U, _ = torch.linalg.qr(vectors[:m])
        inner, values, right = torch.linalg.svd(constant.mT @ U, full_matrices=False)
        U, V = U @ right.mT, inner
    _check_residual("svds", constant, constant @ V - U * values, within)
    return U, (U * (A @ V)).sum(0), V


def power_iteration(
    A: ls.SparseTensor, x0: Tensor | None = None, *, rtol: float = 1e-5, maxiter: int = 10_000
) -> tuple[Tensor, Tensor]:
    """The eigenvalue of the largest magnitude, with a vector, by repeated products (von Mises 1929).

    It takes one vector of memory, and arrives where one eigenvalue is larger in magnitude than all others, as those of
    a graph's transition probabilities and of positive matrices are.

    Args:
        A: (n, n).
        x0: (n,), where to start; random by default.
        rtol: A result has |A x - value x| <= rtol * |value|.
        maxiter: The most products.

    Returns:
        The value, a number, and the vector (n,) of length 1. The gradient of the value takes an iteration with the
        adjoint of A.

    Raises:
        ShapeError: A is not square, or x0 does not fit.
        DtypeError: A is not sparse, or not of a floating or complex dtype.
        FormatError: x0 is 0 or not finite, or `rtol` or `maxiter` is negative.
        ls.linalg.ConvergenceError: The tolerance was not reached.

    Example:
        >>> value, vector = ls.linalg.power_iteration(ls.tensor([[2.0, 1.0], [1.0, 2.0]]))
        >>> round(float(value), 3)
        3.0
    """
    A, x0 = taken(A), taken(x0)
    square_matrix("power_iteration", A)
    if x0 is not None:
        _check_start(x0, A)
    rtol, maxiter = tolerance("power_iteration", "rtol", rtol), count("power_iteration", "maxiter", maxiter)
    constant = A.detach()
    x = _iterated(constant, x0, rtol, maxiter)
    if not (A.requires_grad and torch.is_grad_enabled()):
        return torch.vdot(x, constant @ x), x
    adjoint: Any = constant.mH
    left = _iterated(adjoint, x, rtol, maxiter)
    return torch.vdot(left, A @ x) / torch.vdot(left, x), x


def _check_start(x0: Any, A: ls.SparseTensor) -> None:
    vector("power_iteration", "x0", x0)
    if x0.shape != A.shape[:1]:
        raise ls.ShapeError(f"power_iteration: x0 has shape {tuple(x0.shape)}; expected ({A.shape[0]},), as A has rows")
    if x0.dtype.is_complex and not A.dtype.is_complex:
        raise ls.DtypeError(f"power_iteration: x0 has dtype {x0.dtype}; expected a real one, as A ({A._facts()}) has")
    length = float(torch.linalg.vector_norm(x0.detach().to(torch.promote_types(x0.dtype, A.dtype))))
    if x0.numel() and not 0 < length < math.inf:
        raise ls.FormatError(f"power_iteration: x0 has the norm {length:.3g}; expected a finite vector that is not 0")


def _iterated(A: ls.SparseTensor, x0: Tensor | None, rtol: float, maxiter: int) -> Tensor:
    x = torch.rand(A.shape[0], dtype=A.dtype, device="cpu") if x0 is None else x0.detach().to(A.dtype)
    x /= torch.linalg.vector_norm(x)
    A, factor = scaled(A)
    size = residual = 0.0
    for _ in range(maxiter):
        image = A @ x
        value = torch.vdot(x, image)
        size, residual = float(value.abs()), float(torch.linalg.vector_norm(image - value * x))
        if residual <= rtol * size:
            return x
        length = torch.linalg.vector_norm(image)
        if not (length > 0 and length.isfinite()):
            break
        x = image / length
    raise ConvergenceError(
        f"power_iteration: after {maxiter} products the residual is {residual / factor:.3g} for a value of "
        f"{size / factor:.3g}; other "
        "eigenvalues are as large, or nearly; try more maxiter, ls.linalg.eigsh, or SciPy on A.as_linear_operator()"
    )


def _check(name: str, A: ls.SparseTensor, k: Any, most: int) -> None:
    if A.dtype not in (torch.float32, torch.float64):
        raise ls.DtypeError(f"{name}: A ({A._facts()}) has dtype {A.dtype}; expected float32 or float64")
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= most:
        raise ls.ShapeError(f"{name}: k={k!r}; expected from 1 to {most}, for A ({A._facts()})")
    if not bool(A.values().isfinite().all()):
        raise ls.FormatError(f"{name}: A ({A._facts()}) has entries that are infinite or NaN; expected finite ones")


def _within(name: str, A: ls.SparseTensor, tol: float | None) -> float:
    return float(torch.finfo(A.dtype).eps ** 0.5) if tol is None else tolerance(name, "tol", tol)


def _check_residual(name: str, A: ls.SparseTensor, residual: Tensor, tol: float) -> None:
    entries = A.map(torch.abs)
    bound = float((entries.sum(0).max() * entries.sum(1).max()).sqrt())  # on the norm of A
    worst = float(torch.linalg.vector_norm(residual, dim=0).max())
    if not worst <= tol * bound:
        raise ConvergenceError(
            f"{name}: the residual of a vector is {worst:.3g}, for a matrix whose norm is at most {bound:.3g}; try "
            "more niter, a larger tol, or SciPy on A.as_linear_operator()"
        )
