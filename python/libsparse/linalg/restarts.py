"""What thick-restart Lanczos methods have in common: orthogonal vectors, convergence, and a search for missed copies.

A space holds orthonormal rows `v` and a small matrix that stands for the large one on them. It is expanded by products
to its full size, and begun again with the vectors that belong to its largest values, which are kept ("thick restart",
Wu and Simon 2000, Thick-restart Lanczos method for large symmetric eigenvalue problems, section 2).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Protocol

import torch
from torch import Tensor

from .convergence import ConvergenceError

Map = Callable[[Tensor], Tensor]

_DOUBT = 1e-4  # the probability with which `more_copies` may say that there is no further copy where there is one
_KNOWN = 1e-4  # the part along known eigenvectors with which it goes on
# Rounding errors between values of which one may be a copy of the other; with more of them there are more restarts.
_NEAR = 2**13


_ROOM = 4  # a space that so many vectors would fill is filled


class Basis:
    """Orthonormal rows, with views that are made once: for small matrices they take as long as products.

    Attributes:
        each: The rows.
        first: `first[i]` are the first i rows.
    """

    def __init__(self, count: int, length: int, dtype: torch.dtype) -> None:
        """Memory for so many rows, which are written before they are read."""
        self.each, self.first = self._views(torch.empty(count, length, dtype=dtype, device="cpu"))
        self._spare = self._views(torch.empty_like(self.first[-1]))

    @staticmethod
    def _views(rows: Tensor) -> tuple[tuple[Tensor, ...], list[Tensor]]:
        return rows.unbind(), [rows[:i] for i in range(len(rows) + 1)]

    def combined(self, weights: Tensor, place: Tensor | None = None) -> Tensor:
        """Sums of the first rows; their weights are the columns of a real matrix."""
        rows = self.first[len(weights)]
        return torch.mm(weights.T.to(rows.dtype), rows, out=place)

    def combine(self, weights: Tensor) -> None:
        """Puts sums of the first rows in their place; the rows so far stay in memory until the next call."""
        self.combined(weights, self._spare[1][weights.shape[1]])
        (self.each, self.first), self._spare = self._spare, (self.each, self.first)


class Space(Protocol):
    """A space that `converge` expands and restarts."""

    size: int  # how many vectors there are at most
    filled: int

    def expand(self, end: int) -> tuple[Tensor, Tensor]:
        """Fills the space so far; returns the values of its small matrix, the largest first, and sizes of residuals."""

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps vectors of the first values, and goes on with the residual, or with a random vector if `fresh`."""

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether a copy of one of the first k values lacks, as far as so many products tell."""


class Pace:
    """How many vectors it takes until residuals are small, by how they became smaller with the last ones."""

    def __init__(self, most: int, tol: float) -> None:
        """Of a space of so many vectors; residuals are as large as values at first.

        Two thirds of the space are filled before the first look, which may be all that it takes.
        """
        self._most, self.steps = most, 2 * most // 3
        self._before = -math.log(tol)

    def note(self, steps: int, excess: float) -> None:
        """After so many vectors, the largest residual was so many times too large."""
        now = math.log(excess)
        gain = (self._before - now) / steps
        self.steps = max(2, math.ceil(now / gain)) if gain > 0 else self._most
        self._before = now


def converge(name: str, space: Space, k: int, tol: float, restarts: int) -> None:
    """Expands and restarts a space until its first k vectors have converged by ARPACK's rule.

    A value has converged where the estimate of its residual is at most `tol` times the value, or the rounding error of
    products. A Krylov space of one vector has one direction of the eigenspace of a multiple value, so that copies of it
    may be missing when the others have converged. They are searched for from a random vector.

    Raises:
        ConvergenceError: There were `restarts` expansions.
    """
    done, spent, pace = 0, 0, Pace(space.size, tol)
    least = -math.inf  # what the sum of the values exceeds when a missing one is among them
    for _ in range(restarts):
        while True:
            before, end = space.filled, space.filled + pace.steps
            values, estimates = space.expand(space.size if end > space.size - _ROOM else end)
            spent += space.filled - before
            rounding = torch.finfo(values.dtype).eps * values.abs().max()
            within = (tol * values.abs()).maximum(rounding)
            arrived = estimates <= within
            done, total = int(arrived[:k].sum()), float(values[:k].sum())
            if done == k:
                break
            pace.note(space.filled - before, float((estimates / within)[:k].max()))
            if space.filled == space.size:
                break
        if done == k and total > least:
            if not space.misses(k, tol, spent):
                return
            least, pace = total + float(10 * rounding), Pace(space.size, tol)
            space.restart(k, fresh=True)
        elif done == k and bool(arrived[k]):  # the largest value outside has been found, and is none of the first
            return
        else:  # More than k are kept, so that values near the last ones keep their vectors, copies above all.
            space.restart(min(k + done + 3, k + (space.filled - k) // 3))
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
    if all(before - after > _NEAR * rounding for before, after in itertools.pairwise(numbers)):
        return couplings
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


def recur(image: Tensor, vector: Tensor, before: Tensor, beside: float) -> float:
    """Subtracts from the image of a vector, in place, its parts along the vector, and along the one before it.

    Args:
        image: The product of a Hermitian matrix with the vector.
        vector: The last vector of a space.
        before: The one before it.
        beside: The part along that, which is known.

    Returns:
        The part along the vector.
    """
    image.sub_(before, alpha=beside)
    diagonal = torch.vdot(vector, image).item().real
    image.sub_(vector, alpha=diagonal)
    return diagonal


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
    norm = torch.linalg.vector_norm(vector)
    if norm.item() <= 1e-3 * scale:
        remove(vector, rows)
        norm = torch.linalg.vector_norm(vector)
        if not norm.item() > 10 * torch.finfo(vector.dtype).eps * scale:
            draw(rows, place)
            return 0.0
    torch.div(vector, norm, out=place)
    return float(norm)


def draw(rows: Tensor, place: Tensor) -> None:
    """Writes a random vector of length 1 that is orthogonal to orthonormal rows."""
    place.normal_()
    for _ in range(3):
        remove(place, rows)
        place /= torch.linalg.vector_norm(place)


def more_copies(multiply: Map, rows: Tensor, values: list[float], slack: float, steps: int) -> bool:
    """Whether a Hermitian matrix has more copies of some eigenvalues than there are eigenvectors of them.

    It is Lanczos' method from a random vector that is orthogonal to the eigenvectors, without reorthogonalisation. A
    pivot of the tridiagonal matrix less a number says whether it has a larger eigenvalue, which is a lower bound of one
    of the large matrix. Of the polynomials that are orthonormal with regard to the parts of the vector along unknown
    eigenvectors, the sum of the squares at an eigenvalue is at most the reciprocal of the square of its part
    (Christoffel). The search ends when that part would have to be smaller than a random one is.

    What rounding errors bring back of known eigenvectors grows as the polynomials do, and is removed now and then.

    Args:
        multiply: The product with the matrix.
        rows: Eigenvectors, orthonormal.
        values: Their eigenvalues, the largest first. Copies of the last one are not searched for.
        slack: By how much values differ that are no copies; residuals are not larger.
        steps: The most products.
    """
    above = [value for value in values if value > values[-1] + slack]
    if not above:
        return False
    points = ((above[-1] + values[-1]) / 2, above[-1], values[0])
    pivots = [math.inf] * 3
    known = first = max(torch.finfo(rows.dtype).eps, slack / (values[0] - values[-1]) / 100)
    vector, before = torch.empty_like(rows[0]), torch.zeros_like(rows[0])
    draw(rows, vector)
    beside, polynomial, total = 0.0, 1.0, 1.0
    for _ in range(min(steps, rows.shape[1] - len(rows))):
        image = multiply(vector)
        diagonal = recur(image, vector, before, beside)
        pivots = [point - diagonal - beside**2 / pivot for point, pivot in zip(points, pivots, strict=True)]
        if pivots[0] <= 0:
            return True
        beside = float(torch.linalg.vector_norm(image))
        if beside <= slack:
            return False
        polynomial *= pivots[1] / beside
        total += polynomial**2
        if total * _DOUBT**2 >= rows.shape[1]:
            return False
        vector, before = image.div_(beside), vector
        known *= pivots[2] / beside
        if known > _KNOWN:
            remove(vector, rows)
            remove(before, rows)
            known = first
    return False
