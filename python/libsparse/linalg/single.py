"""Iterative methods for linear equations with one right-hand side, whose scalars are numbers of Python.

They are those of `krylov`, and take a third of their calls of torch: of small matrices, these take most of the time.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .krylov import System, arrived


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


def _dot(a: Tensor, b: Tensor) -> complex:
    return torch.vdot(a, b).item()


def _norm(vector: Tensor) -> float:
    return float(torch.linalg.vector_norm(vector))


def _ratio(a: complex, b: complex) -> complex:
    """A / b, 0 where b is 0."""
    return a / b if b else 0.0
