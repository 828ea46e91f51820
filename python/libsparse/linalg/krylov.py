"""Iterative methods for linear equations with several right-hand sides, each of which stops by itself.

They know a matrix by its products alone. Scalars of an iteration are tensors with one element a right-hand side, and
those that have arrived take steps of length 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from .convergence import ConvergenceError

Map = Callable[[Tensor], Tensor]


class System(NamedTuple):
    """Equations A x = b.

    Attributes:
        multiply: The product of A with columns, (n, k) -> (n, k).
        precondition: The product of an approximate inverse of A with columns.
        b: (n, k).
        tolerance: (k,); the norms of residuals that are small enough.
        iterations: How many products with A may be computed.
    """

    multiply: Map
    precondition: Map
    b: Tensor
    tolerance: Tensor
    iterations: int

    def open(self, residual: Tensor) -> Tensor:
        """Which right-hand sides have not arrived, (k,).

        Raises:
            ConvergenceError: A residual is infinite or NaN, which it stays.
        """
        norms = _norm(residual)
        if not bool(norms.isfinite().all()):
            raise self.failed("the iteration", residual, ": A, b or M is not finite, or steps grow without bounds")
        return norms > self.tolerance

    def failed(self, method: str, residual: Tensor, why: str = "") -> ConvergenceError:
        """The error where an iteration ends too early."""
        worst = float((_norm(residual) / self.tolerance).max())
        return ConvergenceError(
            f"solve: {method} ended after at most {self.iterations} products with a residual {worst:.3g} times the "
            f"tolerance{why}; give a preconditioner M, more maxiter, a larger rtol, or method='direct'"
        )


def cg(system: System, x: Tensor) -> Tensor:
    """Conjugate gradients, Hestenes and Stiefel 1952, of a Hermitian positive definite matrix."""
    residual = system.b - system.multiply(x)
    direction = image = system.precondition(residual)
    size = _dot(residual, image)
    for _ in range(system.iterations):
        going = system.open(residual)
        if not bool(going.any()):
            return x
        product = system.multiply(direction)
        curvature = _dot(direction, product)
        if bool((going & ~(curvature.real > 0)).any()):
            raise system.failed("cg", residual, ": A or M is not Hermitian positive definite, for which it is made")
        step = _quotient(size, curvature, going)
        x = x + step * direction
        residual = residual - step * product
        image = system.precondition(residual)
        size, before = _dot(residual, image), size
        direction = image + _quotient(size, before, going) * direction
    return _arrived(system, x, "cg")


def bicgstab(system: System, x: Tensor) -> Tensor:
    """Stabilised biconjugate gradients, van der Vorst 1992."""
    residual = system.b - system.multiply(x)
    shadow = residual
    direction, size = residual, _dot(shadow, residual)
    for _ in range((system.iterations + 1) // 2):
        going = system.open(residual)
        if not bool(going.any()):
            return x
        ahead = system.precondition(direction)
        product = system.multiply(ahead)
        step = _quotient(size, _dot(shadow, product), going)
        half = residual - step * product
        turned = system.precondition(half)
        image = system.multiply(turned)
        damping = _quotient(_dot(image, half), _dot(image, image), going)
        x = x + step * ahead + damping * turned
        residual = half - damping * image
        size, before = _dot(shadow, residual), size
        factor = _quotient(size, before, going) * _quotient(step, damping, going)
        direction = residual + factor * (direction - damping * product)
        if bool((going & (factor == 0) & system.open(residual)).any()):  # begins again where it broke down
            residual = system.b - system.multiply(x)
            shadow = direction = residual
            size = _dot(shadow, residual)
    return _arrived(system, x, "bicgstab")


def gmres(system: System, x: Tensor, restart: int) -> Tensor:
    """Generalised minimal residuals, Saad and Schultz 1986, begun again after `restart` steps; M is on the right."""
    residual = system.b - system.multiply(x)
    spent = 0
    while spent < system.iterations and bool(system.open(residual).any()):
        steps = min(restart, system.iterations - spent, len(system.b))
        x = x + system.precondition(_least_squares(system, residual, steps))
        residual = system.b - system.multiply(x)
        spent += steps
    return _arrived(system, x, "gmres")


def _least_squares(system: System, residual: Tensor, steps: int) -> Tensor:
    """Of the first vectors of a Krylov space, the combination whose image is nearest to the residual."""
    n, k = residual.shape
    size = _norm(residual)
    basis = residual.new_zeros(steps + 1, n, k)
    upper = residual.new_zeros(k, steps + 1, steps)
    basis[0] = residual / torch.where(size > 0, size, 1)
    for step in range(steps):
        image = system.multiply(system.precondition(basis[step]))
        scale = _norm(image)
        for _ in range(2):  # twice, so that rounding errors don't add up
            shares = (basis[: step + 1].conj() * image).sum(1)
            image = image - (basis[: step + 1] * shares[:, None]).sum(0)
            upper[:, : step + 1, step] += shares.T
        rest = _norm(image)
        fresh = rest > torch.finfo(image.dtype).eps * scale
        upper[:, step + 1, step] = torch.where(fresh, rest, 0).to(upper.dtype)
        basis[step + 1] = image * torch.where(fresh, 1 / torch.where(fresh, rest, 1), 0)
    right = upper.new_zeros(k, steps + 1, 1)
    right[:, 0, 0] = size.to(right.dtype)
    weights: Tensor = torch.linalg.lstsq(upper, right, driver="gelsd").solution[:, :, 0]
    return (basis[:-1] * weights.T[:, None]).sum(0)


def _arrived(system: System, x: Tensor, method: str) -> Tensor:
    residual = system.b - system.multiply(x)
    if bool(system.open(residual).any()):
        raise system.failed(method, residual)
    return x


def _norm(columns: Tensor) -> Tensor:
    norm: Tensor = torch.linalg.vector_norm(columns, dim=0)
    return norm


def _dot(a: Tensor, b: Tensor) -> Tensor:
    return (a.conj() * b).sum(0)


def _quotient(a: Tensor, b: Tensor, where: Tensor) -> Tensor:
    """A / b at some places, 0 at others and where b is 0."""
    fine = where & (b != 0)
    return torch.where(fine, a / torch.where(fine, b, 1), 0)
