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

LOST = 0.1  # the share of a vector that is left of it below which it is made orthogonal a second time


class System(NamedTuple):
    """Equations A x = b.

    Attributes:
        multiply: The product of A with columns, (n, k) -> (n, k), in memory of its own.
        precondition: The product of an approximate inverse of A with columns; None where there is none.
        b: (n, k).
        tolerance: (k,); the norms of residuals that are small enough.
        iterations: How many products with A may be computed.
    """

    multiply: Map
    precondition: Map | None
    b: Tensor
    tolerance: Tensor
    iterations: int

    def inverse(self, columns: Tensor) -> Tensor:
        """What `precondition` makes of columns: themselves without it."""
        return columns if self.precondition is None else self.precondition(columns)

    def residual(self, x: Tensor) -> Tensor:
        """What A x leaves of b, in memory of its own; a product with zeros is not computed."""
        return self.b - self.multiply(x) if bool(x.any()) else self.b.clone()

    def open(self, residual: Tensor) -> Tensor:
        """Which right-hand sides have not arrived, (k,).

        Raises:
            ConvergenceError: A residual is infinite or NaN, which it stays.
        """
        return self.above(_norm(residual), residual)

    def above(self, norms: Tensor, residual: Tensor) -> Tensor:
        """As `open`, for norms of residuals that are known."""
        if not bool(norms.isfinite().all()):
            raise self.diverged(residual)
        return norms > self.tolerance

    def diverged(self, residual: Tensor) -> ConvergenceError:
        """The error of numbers that are infinite or NaN."""
        return self.failed("the iteration", residual, ": A, b or M is not finite, or steps grow without bounds")

    def indefinite(self, residual: Tensor) -> ConvergenceError:
        """The error of conjugate gradients where they find a direction in which the matrix is not positive."""
        return self.failed("cg", residual, ": A or M is not Hermitian positive definite, for which it is made")

    def failed(self, method: str, residual: Tensor, why: str = "") -> ConvergenceError:
        """The error where an iteration ends too early."""
        worst = float((_norm(residual) / self.tolerance).max())
        return ConvergenceError(
            f"solve: {method} ended after at most {self.iterations} products with a residual {worst:.3g} times the "
            f"tolerance{why}; give a preconditioner M, more maxiter, a larger rtol, or method='direct'"
        )


def cg(system: System, x: Tensor) -> Tensor:
    """Conjugate gradients, Hestenes and Stiefel 1952, of a Hermitian positive definite matrix; x is overwritten."""
    residual = system.residual(x)
    image = system.inverse(residual)
    direction = image.clone()
    size = _dot(residual, image)
    for _ in range(system.iterations):
        norms = size.real.sqrt() if system.precondition is None else _norm(residual)
        going = system.above(norms, residual)
        if not bool(going.any()):
            return x
        product = system.multiply(direction)
        curvature = _dot(direction, product)
        if bool((going & ~((curvature.real > 0) & (curvature.real < torch.inf))).any()):
            finite = bool(curvature.isfinite().all())
            raise system.indefinite(residual) if finite else system.diverged(residual * curvature)
        step = _quotient(size, curvature, going)
        x.addcmul_(direction, step)
        residual.addcmul_(product, step, value=-1)
        image = system.inverse(residual)
        size, before = _dot(residual, image), size
        torch.addcmul(image, direction, _quotient(size, before, going), out=direction)
    return arrived(system, x, "cg")


def bicgstab(system: System, x: Tensor) -> Tensor:
    """Stabilised biconjugate gradients, van der Vorst 1992; x is overwritten."""
    residual = system.residual(x)
    shadow, direction = residual.clone(), residual.clone()
    size = _dot(shadow, residual)
    for _ in range((system.iterations + 1) // 2):
        going = system.open(residual)
        if not bool(going.any()):
            return x
        ahead = system.inverse(direction)
        product = system.multiply(ahead)
        step = _quotient(size, _dot(shadow, product), going)
        x.addcmul_(ahead, step)
        residual.addcmul_(product, step, value=-1)
        turned = system.inverse(residual)
        image = system.multiply(turned)
        damping = _quotient(_dot(image, residual), _dot(image, image), going)
        x.addcmul_(turned, damping)
        residual.addcmul_(image, damping, value=-1)
        size, before = _dot(shadow, residual), size
        factor = _quotient(size, before, going) * _quotient(step, damping, going)
        direction.addcmul_(product, damping, value=-1)
        torch.addcmul(residual, direction, factor, out=direction)
        if bool((going & (factor == 0) & system.open(residual)).any()):  # begins again where it broke down
            residual = system.residual(x)
            shadow, direction = residual.clone(), residual.clone()
            size = _dot(shadow, residual)
    return arrived(system, x, "bicgstab")


def gmres(system: System, x: Tensor, restart: int) -> Tensor:
    """Generalised minimal residuals, Saad and Schultz 1986, begun again after `restart` steps; M is on the right."""
    residual = system.residual(x)
    spent = 0
    while spent < system.iterations and bool(system.open(residual).any()):
        steps = min(restart, system.iterations - spent, len(system.b))
        change, used = _least_squares(system, residual, steps)
        x = x + system.inverse(change)
        residual = system.b - system.multiply(x)
        spent += used
    if bool(system.open(residual).any()):
        raise system.failed("gmres", residual)
    return x


def _least_squares(system: System, residual: Tensor, steps: int) -> tuple[Tensor, int]:
    """Of the first vectors of a Krylov space, the combination whose image is nearest to the residual.

    The small Hessenberg matrix H has one row more than columns, so that there is a vector z with z^H H = 0. With 1 as
    its first element, the least residual is that of the start divided by the norm of z (Ayachour 2003, A fast
    implementation for GMRES method, section 3), and each step adds one element. So no steps follow a small residual.

    Returns:
        The combination, (n, k), and how many steps there were.
    """
    n, k = residual.shape
    size = _norm(residual)
    basis = residual.new_empty(k, steps + 1, n)
    upper = residual.new_zeros(k, steps + 1, steps)
    normal = residual.new_zeros(k, steps + 1)
    basis[:, 0] = (residual / torch.where(size > 0, size, 1)).T
    normal[:, 0] = 1
    used = steps
    for step in range(steps):
        image = system.multiply(system.inverse(basis[:, step].T)).T.contiguous()
        scale = torch.linalg.vector_norm(image, dim=1)
        shares = _orthogonalise(image, basis[:, : step + 1], scale)
        rest = torch.linalg.vector_norm(image, dim=1)
        if not bool(rest.isfinite().all()):
            raise system.diverged(image.T)
        fresh = rest > torch.finfo(image.dtype).eps * scale
        upper[:, : step + 1, step] = shares
        upper[:, step + 1, step] = torch.where(fresh, rest, 0)
        inverse = torch.where(fresh, 1 / torch.where(fresh, rest, 1), 0)
        torch.mul(image, inverse[:, None], out=basis[:, step + 1])
        found = -(normal[:, : step + 1] * shares.conj()).sum(1) * inverse
        normal[:, step + 1] = torch.where(fresh, found, torch.inf)  # no further step makes the residual smaller
        if not bool((size > system.tolerance * torch.linalg.vector_norm(normal[:, : step + 2], dim=1)).any()):
            used = step + 1
            break
    right = upper.new_zeros(k, used + 1, 1)
    right[:, 0, 0] = size
    weights = torch.linalg.lstsq(upper[:, : used + 1, :used], right, driver="gelsd").solution
    return torch.bmm(weights.mT, basis[:, :used])[:, 0].T, used


def _orthogonalise(vectors: Tensor, basis: Tensor, scale: Tensor) -> Tensor:
    """Subtracts the parts of vectors (k, n) along those of a basis (k, j, n), in place; returns their sizes (k, j).

    It is done twice where little is left of one, whose rounding errors would not be small beside it.
    """
    shares = torch.zeros_like(basis[:, :, 0])
    for _ in range(2):
        parts = torch.bmm(basis, vectors.conj().resolve_conj()[:, :, None]).conj().resolve_conj()
        vectors[:, None].baddbmm_(parts.mT, basis, alpha=-1)
        shares += parts[:, :, 0]
        if not bool((torch.linalg.vector_norm(vectors, dim=1) < LOST * scale).any()):
            break
    return shares


def arrived(system: System, x: Tensor, method: str) -> Tensor:
    """The solution where its residual is small enough.

    Raises:
        ConvergenceError: It is not.
    """
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
