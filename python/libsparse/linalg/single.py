"""Iterative methods for linear equations with one right-hand side, whose scalars are numbers of Python.

They are those of `krylov`, and take a third of their calls of torch: of small matrices, these take most of the time.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .krylov import LOST, System, arrived


def cg(system: System, x: Tensor) -> Tensor:
    """Conjugate gradients, Hestenes and Stiefel 1952, of a Hermitian positive definite matrix; x is overwritten.

    Args:
        system: Of vectors (n,), and a tolerance with one element.
        x: Where to start, (n,).
    """
    multiply, precondition = system.multiply, system.precondition
    within = float(system.tolerance)
    residual = system.residual(x)
    image = residual if precondition is None else precondition(residual)
    direction = image.clone()
    size = _dot(residual, image).real
    for _ in range(system.iterations):
        norm = math.sqrt(size) if precondition is None else _norm(residual)
        if norm <= within:
            return x
        product = multiply(direction)
        curvature = _dot(direction, product).real
        if not (math.isfinite(norm) and math.isfinite(curvature)):
            raise system.diverged(residual * curvature)
        if not curvature > 0:
            raise system.indefinite(residual)
        step = size / curvature
        x.add_(direction, alpha=step)
        residual.sub_(product, alpha=step)
        image = residual if precondition is None else precondition(residual)
        size, before = _dot(residual, image).real, size
        torch.add(image, direction, alpha=_ratio(size, before), out=direction)
    return arrived(system, x, "cg")


def bicgstab(system: System, x: Tensor) -> Tensor:
    """Stabilised biconjugate gradients, van der Vorst 1992; x is overwritten.

    Args:
        system: Of vectors (n,), and a tolerance with one element.
        x: Where to start, (n,).
    """
    within = float(system.tolerance)
    residual = system.residual(x)
    shadow, direction = residual.clone(), residual.clone()
    size = _dot(shadow, residual)
    norm = _norm(residual)
    for _ in range((system.iterations + 1) // 2):
        if norm <= within:
            return x
        ahead = system.inverse(direction)
        product = system.multiply(ahead)
        step = _ratio(size, _dot(shadow, product))
        x.add_(ahead, alpha=step)
        residual.sub_(product, alpha=step)
        turned = system.inverse(residual)
        image = system.multiply(turned)
        damping = _ratio(_dot(image, residual), _dot(image, image))
        x.add_(turned, alpha=damping)
        residual.sub_(image, alpha=damping)
        norm = _norm(residual)
        if not math.isfinite(norm):
            raise system.diverged(residual)
        size, before = _dot(shadow, residual), size
        factor = _ratio(size, before) * _ratio(step, damping)
        if factor == 0 and norm > within:  # begins again where it broke down
            residual = system.residual(x)
            shadow, direction = residual.clone(), residual.clone()
            size = _dot(shadow, residual)
        else:
            direction.sub_(product, alpha=damping)
            torch.add(residual, direction, alpha=factor, out=direction)
    return arrived(system, x, "bicgstab")


def gmres(system: System, x: Tensor, restart: int) -> Tensor:
    """Generalised minimal residuals, Saad and Schultz 1986, begun again after `restart` steps; M is on the right.

    Args:
        system: Of vectors (n,), and a tolerance with one element.
        x: Where to start, (n,).
        restart: How many vectors are kept.
    """
    within, spent = float(system.tolerance), 0
    residual = system.residual(x)
    norm = _norm(residual)
    while norm > within and spent < system.iterations and norm < math.inf:
        steps = min(restart, system.iterations - spent, len(x))
        change, used = _least_squares(system, residual / norm, norm, within, steps)
        x = x + system.inverse(change)
        residual = system.b - system.multiply(x)
        norm = _norm(residual)
        spent += used
    if not math.isfinite(norm):
        raise system.diverged(residual)
    if norm > within:
        raise system.failed("gmres", residual)
    return x


def _least_squares(system: System, first: Tensor, norm: float, within: float, steps: int) -> tuple[Tensor, int]:
    """What `krylov` computes of the same name, of a residual that is a vector times its norm."""
    basis = first.new_empty(steps + 1, len(first))
    basis[0] = first
    upper, normal, size = torch.zeros(steps + 1, steps, dtype=first.dtype, device="cpu"), [1.0 + 0j], 1.0
    epsilon, used = torch.finfo(first.dtype).eps, steps
    for step in range(steps):
        image = system.multiply(system.inverse(basis[step]))
        scale = _norm(image)
        shares, rest = _orthogonalise(image, basis[: step + 1], scale)
        if not math.isfinite(rest):
            raise system.diverged(image)
        upper[: step + 1, step] = shares
        if rest > epsilon * scale:
            upper[step + 1, step] = rest
            torch.mul(image, 1 / rest, out=basis[step + 1])
            normal.append(-sum([a * b.conjugate() for a, b in zip(normal, shares.tolist(), strict=True)]) / rest)
            size += abs(normal[-1]) ** 2
        if rest <= epsilon * scale or norm <= within * math.sqrt(size):
            used = step + 1
            break
    right = upper.new_zeros(used + 1, 1)
    right[0] = norm
    weights = torch.linalg.lstsq(upper[: used + 1, :used], right, driver="gelsd").solution
    return torch.mv(basis[:used].T, weights[:, 0]), used


def _orthogonalise(vector: Tensor, basis: Tensor, scale: float) -> tuple[Tensor, float]:
    """Subtracts the parts of a vector (n,) along those of a basis (j, n), in place: their sizes (j,), and what is left.

    It is done twice where little is left, whose rounding errors would not be small beside it.
    """
    shares = torch.mv(basis, vector.conj()).conj().resolve_conj()
    rest = _norm(vector.addmv_(basis.T, shares, alpha=-1))
    if rest < LOST * scale:
        parts = torch.mv(basis, vector.conj()).conj().resolve_conj()
        rest = _norm(vector.addmv_(basis.T, parts, alpha=-1))
        shares = shares + parts
    return shares, rest


def _dot(a: Tensor, b: Tensor) -> complex:
    return torch.vdot(a, b).item()


def _norm(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector))


def _ratio(a: complex, b: complex) -> complex:
    """A / b, 0 where b is 0."""
    return a / b if b else 0.0
