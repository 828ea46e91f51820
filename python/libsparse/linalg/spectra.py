"""Eigenvalues and singular values of sparse matrices.

Values have gradients, and these have gradients; vectors have none.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

import libsparse as ls

from . import resolvents
from .bidiagonal import Bidiagonal
from .checks import count, greatest, matrix, scaled, square_matrix, taken, tolerance, vector
from .convergence import ConvergenceError
from .lanczos import Lanczos
from .perturbation import values_of
from .restarts import converge

_SMALL = 100  # rows of a dense matrix whose decomposition takes no longer than an iteration


def eigsh(
    A: ls.SparseTensor, k: int = 6, largest: bool = True, *, tol: float | None = None, niter: int = 1000
) -> tuple[Tensor, Tensor]:
    """The largest or smallest eigenvalues of a symmetric or Hermitian matrix, with vectors, by Lanczos' method.

    The method is thick-restart Lanczos with full reorthogonalisation (Wu and Simon 2000, Thick-restart Lanczos method
    for large symmetric eigenvalue problems, algorithm 2). It keeps max(2 k + 1, k + 30) vectors, and begins with a
    random one: `torch.manual_seed` repeats a result. Each copy of a multiple eigenvalue is found, since the space
    outside of the vectors is searched for missed ones. Small matrices are made dense.

    Args:
        A: (n, n), symmetric or Hermitian, of dtype float32, float64, complex64 or complex128.
        k: How many, at most n.
        largest: The largest in value, or the smallest.
        tol: A vector has converged where its residual `|A x - value x|` is estimated to be at most `tol * |value|`, or
            what rounding errors leave of it; by default, and where 0 is given, the precision of the dtype, as in SciPy.
        niter: The most restarts, each of which takes some max(2 k / 3, 20) products.

    Returns:
        Values (k,), real, the largest first (the smallest first where these are asked for), and vectors (n, k) of
        length 1. Gradients of the values, first and second ones, are those of simple eigenvalues; vectors have none.

    Raises:
        ShapeError: A is not square, or k is out of range.
        DtypeError: A is not sparse, or has another dtype.
        FormatError: An entry of A is infinite or NaN, A is not Hermitian, or `tol` is negative.
        ls.linalg.ConvergenceError: The tolerance was not reached.

    Example:
        >>> A = ls.diag(torch.arange(1.0, 101.0))
        >>> [round(x, 2) for x in ls.linalg.eigsh(A, 2)[0].tolist()]
        [100.0, 99.0]
    """
    A = taken(A)
    square_matrix("eigsh", A)
    k = _checked("eigsh", A, k, A.shape[0])
    within, niter = _within("eigsh", A, tol), count("eigsh", "niter", niter)
    rows: Any = A.to_format("csr")
    return values_of(rows, _Eigenvalues("eigsh", rows.pattern, True, k, largest, within, niter))


@dataclass(frozen=True)
class _Eigenvalues:
    name: str
    pattern: ls.Pattern
    real: bool
    k: int
    largest: bool
    tol: float
    niter: int

    def find(self, A: ls.SparseTensor) -> tuple[Tensor, Tensor]:
        constant = _constant(self.name, A)
        _check_hermitian(self.name, constant)
        n, k, size = A.shape[0], self.k, _size(self.k)
        if n <= max(size, 3 * k, _SMALL):
            _, vectors = torch.linalg.eigh(constant.to_dense())
            vectors = vectors[:, -k:].flip(1) if self.largest else vectors[:, :k]
        else:
            turned = constant if self.largest else constant.with_values(-constant.values())
            space = Lanczos(lambda x: turned @ x, n, A.dtype, size)
            converge("eigsh", space, k, self.tol, self.niter)
            vectors = space.vectors(k).T
        return _quotients(A, vectors, vectors), vectors.contiguous()

    def sides(self, A: ls.SparseTensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        return vectors, vectors

    def respond(
        self, A: ls.SparseTensor, C: ls.SparseTensor, vectors: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        constant, factor = scaled(A)
        values, sign = _quotients(constant, vectors, vectors), 1 if self.largest else -1
        right = (C @ vectors + C.mH @ vectors) * (weights * factor / 2)  # what makes A less symmetric changes no value
        found = resolvents.hermitian(self.name, lambda x: constant @ x, vectors, values, sign, right)
        return found, found


def svds(
    A: ls.SparseTensor, k: int = 6, *, tol: float | None = None, niter: int = 1000
) -> tuple[Tensor, Tensor, Tensor]:
    """The largest singular values of a matrix, with vectors, by Lanczos' bidiagonalisation.

    The method is thick-restart Golub-Kahan-Lanczos bidiagonalisation with full reorthogonalisation (Baglama and Reichel
    2005, Augmented implicitly restarted Lanczos bidiagonalization methods, algorithm 3.1). It does not square the
    values, so that small ones are accurate, too. The rest is as of `eigsh`.

    Args:
        A: (m, n), of dtype float32, float64, complex64 or complex128.
        k: How many, at most the smaller of m and n.
        tol: As of `eigsh`, relative to the singular value.
        niter: The most restarts, each of which takes some max(2 k / 3, 20) products with A and its adjoint.

    Returns:
        U (m, k), values (k,), real, the largest first, and V (n, k), as `torch.svd_lowrank`: A is near
        U diag(values) V^H. Gradients of the values, first and second ones, are those of simple singular values above 0;
        vectors have none.

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
    least = min(A.shape)
    k = _checked("svds", A, k, least)
    within, niter = _within("svds", A, tol), count("svds", "niter", niter)
    rows: Any = A.to_format("csr")
    values, vectors = values_of(rows, _SingularValues("svds", rows.pattern, True, k, within, niter))
    return vectors[: A.shape[0]], values, vectors[A.shape[0] :]


@dataclass(frozen=True)
class _SingularValues:
    """Singular values are eigenvalues of the matrix that has A and its adjoint beside the diagonal."""

    name: str
    pattern: ls.Pattern
    real: bool
    k: int
    tol: float
    niter: int

    def find(self, A: ls.SparseTensor) -> tuple[Tensor, Tensor]:
        constant, least, k, size = _constant(self.name, A), min(A.shape), self.k, _size(self.k)
        if least <= max(size, 3 * k, _SMALL):
            U, _, Vh = torch.linalg.svd(constant.to_dense(), full_matrices=False)
            U, V = U[:, :k], Vh[:k].mH
        else:
            U, V = _singular_vectors(constant, k, size, self.tol, self.niter)
        return _quotients(A, U, V), torch.cat([U, V])

    def sides(self, A: ls.SparseTensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        return vectors[: A.shape[0]], vectors[A.shape[0] :]

    def respond(
        self, A: ls.SparseTensor, C: ls.SparseTensor, vectors: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        constant, factor = scaled(A)

        def doubled(matrix: Any, columns: Tensor) -> Tensor:
            left, right = self.sides(A, columns)
            return torch.cat([matrix @ right, matrix.mH @ left])

        values, half = _quotients(constant, *self.sides(A, vectors)), vectors * 0.5**0.5
        right = doubled(C, vectors) * (weights * factor)
        found = resolvents.hermitian(self.name, lambda x: doubled(constant, x), half, values, 1, right)
        return self.sides(A, found)


def _singular_vectors(A: ls.SparseTensor, k: int, size: int, tol: float, niter: int) -> tuple[Tensor, Tensor]:
    """The singular vectors of both sides, (m, k) and (n, k); the iteration is that of the shorter side."""
    adjoint: Any = A.mH
    adjoint = adjoint.to_format("csr")
    first, second = (A, adjoint) if A.shape[0] >= A.shape[1] else (adjoint, A)
    space = Bidiagonal(lambda x: first @ x, lambda x: second @ x, tuple(first.shape), A.dtype, size)
    converge("svds", space, k, tol, niter)
    left, right = (vectors.T.contiguous() for vectors in space.vectors(k))
    return (left, right) if first is A else (right, left)


def power_iteration(
    A: ls.SparseTensor, x0: Tensor | None = None, *, rtol: float = 1e-5, maxiter: int = 10_000
) -> tuple[Tensor, Tensor]:
    """The eigenvalue of the largest magnitude, with a vector, by repeated products (von Mises 1929).

    It takes one vector of memory, and arrives where one eigenvalue is larger in magnitude than all others, as those of
    a graph's transition probabilities and of positive matrices are.

    Args:
        A: (n, n).
        x0: (n,), where to start; random by default.
        rtol: A result has `|A x - value x| <= rtol * |value|`.
        maxiter: The most products.

    Returns:
        The value, a number, and the vector (n,) of length 1. The gradient of the value takes an iteration with the
        adjoint of A, and that of its gradient solutions of equations by GMRES.

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
    rows: Any = A.to_format("csr")
    values, vectors = values_of(
        rows, _Dominant("power_iteration", rows.pattern, not A.dtype.is_complex, x0, rtol, maxiter)
    )
    return values[0], vectors[:, 0]


@dataclass(frozen=True)
class _Dominant:
    name: str
    pattern: ls.Pattern
    real: bool
    x0: Tensor | None
    rtol: float
    maxiter: int

    def find(self, A: ls.SparseTensor) -> tuple[Tensor, Tensor]:
        x = _iterated(A, self.x0, self.rtol, self.maxiter)
        return torch.vdot(x, A @ x)[None], x[:, None]

    def sides(self, A: ls.SparseTensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
        adjoint: Any = A.mH
        left = _iterated(adjoint, vectors[:, 0], self.rtol, self.maxiter)
        return (left / torch.vdot(left, vectors[:, 0]).conj())[:, None], vectors

    def respond(
        self, A: ls.SparseTensor, C: ls.SparseTensor, vectors: Tensor, weights: Tensor
    ) -> tuple[Tensor, Tensor]:
        constant, factor = scaled(A)
        adjoint: Any = constant.mH
        left, right = self.sides(A, vectors)
        value = (left.conj() * (constant @ right)).sum(0)
        own, other = (C.mH @ left) * (weights * factor), (C @ right) * (weights.conj() * factor)
        return (
            resolvents.general(self.name, lambda x: adjoint @ x, left, right, value.conj(), own),
            resolvents.general(self.name, lambda x: constant @ x, right, left, value, other),
        )


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
    x = torch.div(x, torch.linalg.vector_norm(x))  # x0 is the caller's
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


def _checked(name: str, A: ls.SparseTensor, k: Any, most: int) -> int:
    k = int(k) if not isinstance(k, bool) and isinstance(k, Integral) else k
    if A.dtype not in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        raise ls.DtypeError(
            f"{name}: A ({A._facts()}) has dtype {A.dtype}; expected float32 or float64, complex64 or complex128"
        )
    if not isinstance(k, int) or isinstance(k, bool) or not 1 <= k <= most:
        raise ls.ShapeError(f"{name}: k={k!r}; expected from 1 to {most}, for A ({A._facts()})")
    return k


def _check_hermitian(name: str, A: ls.SparseTensor) -> None:
    """Raises unless x^H A y and y^H A x are conjugate for two random vectors, which others hardly ever have."""
    x, y = torch.randn(2, A.shape[0], dtype=A.dtype, device="cpu")
    across, back = torch.vdot(x, A @ y), torch.vdot(y, A @ x)
    size = float(torch.linalg.vector_norm(A.values()))
    if float((across - back.conj()).abs()) <= torch.finfo(A.dtype).eps ** 0.5 * size:
        return
    difference: Any = A - A.mH
    place = int(difference.values().abs().argmax())
    i, j = (int(index[place]) for index in difference.indices())
    raise ls.FormatError(
        f"{name}: A ({A._facts()}) is not {'Hermitian' if A.dtype.is_complex else 'symmetric'}: entries ({i}, {j}) and "
        f"({j}, {i}) differ; take (A + A.mH) / 2, or ls.linalg.svds for singular values, or SciPy's eigs on "
        "A.as_linear_operator() for eigenvalues of such a matrix"
    )


def _constant(name: str, A: ls.SparseTensor) -> ls.SparseTensor:
    """The matrix with entries near 1, which have to be finite."""
    if not math.isfinite(greatest(A)) and not bool(A.values().isfinite().all()):  # the quicker of them first
        raise ls.FormatError(f"{name}: A ({A._facts()}) has entries that are infinite or NaN; expected finite ones")
    return scaled(A)[0]


def _quotients(A: Any, left: Tensor, right: Tensor) -> Tensor:
    """The values that belong to vectors: `l^H A r`, real."""
    values: Tensor = (left.conj() * (A @ right)).sum(0)
    return values.real if values.is_complex() else values


def _within(name: str, A: ls.SparseTensor, tol: float | None) -> float:
    return max(torch.finfo(A.dtype).eps, 0.0 if tol is None else tolerance(name, "tol", tol))


def _size(k: int) -> int:
    """How many vectors a space holds: with fewer there are more products, with more they are orthogonalised longer."""
    return max(2 * k + 1, k + 30)
