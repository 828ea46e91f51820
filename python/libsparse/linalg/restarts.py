"""What thick-restart Lanczos methods have in common: orthogonal vectors, convergence, and a search for missed values.

A space holds orthonormal rows `v` and a small matrix that stands for the large one on them. It is expanded by products
to its full size, and begun again with the vectors that belong to its largest values, which are kept ("thick restart",
Wu and Simon 2000, Thick-restart Lanczos method for large symmetric eigenvalue problems, section 2).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from .convergence import ConvergenceError

Map = Callable[[Tensor], Tensor]

_DOUBT = 1e-4  # the probability with which `exceeded` may say that there is no larger value where there is one
# Rounding errors between values of which one may be a copy of the other; with more of them there are more restarts.
_NEAR = 2**13


class Space(Protocol):
    """A space that `converge` expands and restarts."""

    size: int

    def expand(self) -> tuple[Tensor, Tensor]:
        """Fills the space; returns the values of its small matrix, the largest first, and estimates of residuals."""

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps vectors of the first values, and goes on with the residual, or with a random vector if `fresh`."""

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether there is a value above the k-th outside of the first k vectors, as far as so many products tell."""


def converge(name: str, space: Space, k: int, tol: float, restarts: int) -> None:
    """Expands and restarts a space until its first k vectors have converged by ARPACK's rule.

    A value has converged where the estimate of its residual is at most `tol` times the value, or the rounding error of
    products. A Krylov space of one vector has one direction of the eigenspace of a multiple value, so that copies of it
    may be missing when the others have converged. They are searched for from a random vector.

    Raises:
        ConvergenceError: There were `restarts` expansions.
    """
    done, spent = 0, 0
    least = -math.inf  # what the sum of the values exceeds when a missing one is among them
    for _ in range(restarts):
        values, estimates = space.expand()
        spent += space.size
        rounding = torch.finfo(values.dtype).eps * values.abs().max()
        arrived = estimates <= (tol * values.abs()).maximum(rounding)
        done, total = int(arrived[:k].sum()), float(values[:k].sum())
        if done == k and total > least:
            if not space.misses(k, tol, spent):
                return
            least = total + float(10 * rounding)
            space.restart(k, fresh=True)
        elif done == k and bool(arrived[k]):  # the largest value outside has been found, and is none of the first
            return
        else:  # More than k are kept, so that values near the last ones keep their vectors, copies above all.
            space.restart(min(k + done + 3, (space.size + k) // 2))
    raise ConvergenceError(
        f"{name}: {done} of {k} vectors have converged after niter={restarts} expansions of a space of {space.size} "
        "vectors; try more niter, a larger tol, or SciPy on A.as_linear_operator()"
    )


def separate(values: Tensor, couplings: Tensor, *bases: Tensor) -> Tensor:
    """Rotates pairs of vectors with nearly equal values so that one has no residual, which mixtures of both have.

    Copies of a multiple value come one after the other, by rounding errors. The decomposition of the small matrix does
    not tell one that has converged from one that has not, and each mixture would have a part of the residual.

    Args:
        values: The values of a small matrix, the largest first.
        couplings: The residual of each of its vectors: a number times the common residual vector.
        bases: Matrices whose columns are the vectors, which are changed in place.

    Returns:
        The couplings of the changed vectors.
    """
    numbers, sizes = values.tolist(), couplings.tolist()
    rounding = torch.finfo(values.dtype).eps * max(map(abs, numbers))
    for i in range(len(numbers)):
        j = _partner(numbers, sizes, i, rounding)
        if j is None:
            continue
        length = math.hypot(sizes[i], sizes[j])
        cosine, sine = sizes[j] / length, sizes[i] / length
        first, second = (j, i) if j < i and numbers[j] - numbers[i] <= 10 * rounding else (i, j)
        for basis in bases:
            own, other = basis[:, i].clone(), basis[:, j].clone()
            basis[:, first], basis[:, second] = cosine * own - sine * other, sine * own + cosine * other
        sizes[first], sizes[second] = 0.0, length
    return couplings.new_tensor(sizes)


def _partner(values: list[float], sizes: list[float], i: int, rounding: float) -> int | None:
    """The vector that can take the residual of the i-th: of those with a larger one and nearly its value.

    What a rotation neglects, the difference of the values times the angle, is to be a rounding error.
    """
    own, found = abs(sizes[i]), None
    if own <= rounding:
        return None
    for step in (-1, 1):
        j = i + step
        while 0 <= j < len(values) and abs(values[i] - values[j]) <= _NEAR * rounding:
            larger = abs(sizes[j])
            if larger > own and abs(values[i] - values[j]) * own <= rounding * larger:
                found = j if found is None or larger > abs(sizes[found]) else found
            j += step
    return found


def remove(vector: Tensor, rows: Tensor) -> Tensor:
    """Subtracts from a vector, in place, its parts along orthonormal rows; returns their sizes."""
    if not vector.is_complex():
        shares = torch.mv(rows, vector)
    else:
        shares = torch.mv(rows, vector.conj().resolve_conj()).conj().resolve_conj()
    vector.addmv_(rows.T, shares, alpha=-1)
    return shares


def normalise(vector: Tensor, rows: Tensor, place: Tensor, scale: float) -> float:
    """Writes a vector divided by its norm to `place`, and a random vector where it is rounding errors alone.

    Args:
        vector: Orthogonal to `rows`, but for rounding errors, which grow where little is left of it.
        rows: Orthonormal vectors; there are fewer than a row has elements.
        place: A vector.
        scale: The norm that the vector had before it was made orthogonal, roughly.

    Returns:
        The norm, 0 for a random vector.
    """
    length = float(torch.linalg.vector_norm(vector))
    if length <= 1e-3 * scale:
        remove(vector, rows)
        length = float(torch.linalg.vector_norm(vector))
        if not length > 10 * torch.finfo(vector.dtype).eps * scale:
            draw(rows, place)
            return 0.0
    torch.mul(vector, 1 / length, out=place)
    return length


def draw(rows: Tensor, place: Tensor) -> None:
    """Writes a random vector of length 1 that is orthogonal to orthonormal rows."""
    place.normal_()
    for _ in range(3):
        remove(place, rows)
        place /= torch.linalg.vector_norm(place)


def exceeded(multiply: Map, rows: Tensor, bound: float, spread: float, slack: float, steps: int) -> bool:
    """Whether a Hermitian matrix has an eigenvalue above a bound outside of the space of some eigenvectors.

    It is Lanczos' method from a random vector, without reorthogonalisation, whose largest value is a lower bound. The
    number of steps after which that is near the largest eigenvalue but for a small probability is that of Kuczynski
    and Wozniakowski 1992, Estimating the largest eigenvalue by the power and Lanczos algorithms, theorem 4.2. The known
    eigenvalues are moved to the lower end of the spectrum, where rounding errors along their vectors do no harm.

    Args:
        multiply: The product with the matrix.
        rows: Eigenvectors, orthonormal.
        bound: Their least eigenvalue.
        spread: The largest eigenvalue of the matrix less the smallest, roughly.
        slack: By how much an eigenvalue has to be above the bound: what is due to the errors of `rows`.
        steps: The most products.
    """
    needed = math.log(1.648 * math.sqrt(rows.shape[1]) / _DOUBT) / 2
    vector, before = torch.empty_like(rows[0]), torch.zeros_like(rows[0])
    draw(rows, vector)
    diagonal: list[float] = []
    beside: list[float] = []
    look = 8
    for step in range(1, min(steps, rows.shape[1] - len(rows)) + 1):
        image = multiply(vector)
        image.addmv_(rows.T, rows.conj() @ vector, alpha=-spread)
        if beside:
            image.sub_(before, alpha=beside[-1])
        diagonal.append(float(torch.vdot(vector, image).real))
        image.sub_(vector, alpha=diagonal[-1])
        length = float(torch.linalg.vector_norm(image))
        over = length <= slack
        if step >= look or over or step == steps:
            found = torch.linalg.eigvalsh(_tridiagonal(diagonal, beside))
            least, most = float(found[0]), float(found[-1])
            if most > bound + slack or over:
                return most > bound + slack
            share = max(bound - most, slack) / max(bound - least, slack)
            if step * math.sqrt(share) >= needed:
                return False
            look = min(2 * step, max(step + 4, math.ceil(needed / math.sqrt(share))))
        beside.append(length)
        vector, before = image.div_(length), vector
    return False


def _tridiagonal(diagonal: list[float], beside: list[float]) -> Tensor:
    """A symmetric tridiagonal matrix, of which `eigvalsh` reads the lower half."""
    below = torch.tensor(beside, dtype=torch.float64, device="cpu")
    return torch.diag(torch.tensor(diagonal, dtype=torch.float64, device="cpu")) + torch.diag(below, -1)
