"""The largest singular values by thick-restart Golub-Kahan-Lanczos bidiagonalisation.

Baglama and Reichel 2005, Augmented implicitly restarted Lanczos bidiagonalization methods, section 2 and algorithm 3.1
(restarts by Ritz vectors). Values are not squared, so that small ones are as accurate as large ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .restarts import Basis, Map, draw, more_copies, normalise, remove, separate

_LOST = 32  # how many times rounding errors vectors of Q may be from orthogonal


class Bidiagonal:
    """Spaces of a matrix A: `A P = Q B` and `A^H Q = P B^T + beta p e^T`, where B is real and upper bidiagonal.

    The rows of `_right` are the columns of P, and after them p; the rows of `_left` those of Q. After a restart the
    first rows are singular vectors of B in these spaces, and B has a full column behind their values.
    """

    def __init__(self, multiply: Map, adjoint: Map, shape: tuple[int, int], dtype: torch.dtype, size: int) -> None:
        """Begins with a random vector.

        Args:
            multiply: The product of the matrix with a vector; what it returns is overwritten.
            adjoint: That of its adjoint.
            shape: Of the matrix; both extents are greater than `size`.
            dtype: Of the vectors.
            size: How many vectors of each side there are at most.
        """
        self.size, self.filled = size, 0
        self._multiply, self._adjoint = multiply, adjoint
        self._left, self._right = Basis(size, shape[0], dtype), Basis(size + 1, shape[1], dtype)
        self._small = torch.zeros(size, size, dtype=dtype.to_real(), device="cpu")
        self._kept = 0
        self._diagonal: list[float] = []  # of B behind what was kept
        self._beside: list[float] = []
        self._scale = self._lost = 0.0
        draw(self._right.first[0], self._right.each[0])

    def expand(self, end: int) -> tuple[Tensor, Tensor]:
        """Products until so many vectors are there; returns singular values of B and sizes of residuals."""
        left, right, first = self._left.each, self._right.each, self._right.first
        diagonal, beside, kept = self._diagonal, self._beside, self._kept
        for step in range(self.filled, end):
            diagonal.append(self._next_left(step))
            image, known = self._adjoint(left[step]), first[step + 1]
            image.sub_(right[step], alpha=diagonal[-1])
            remove(image, known)
            beside.append(normalise(image, known, right[step + 1], self._scale))
            self._scale = max(self._scale, beside[-1])
        self.filled, small = end, self._small[:end, :end]
        small.diagonal()[kept:] = small.new_tensor(diagonal)
        small.diagonal(1)[kept:] = small.new_tensor(beside[:-1])
        self._outer, self._values, inner = torch.linalg.svd(small)
        self._inner = inner.T
        self._couplings = separate(self._values, beside[-1] * self._outer[-1], self._outer, self._inner)
        return self._values, self._couplings.abs()

    def _next_left(self, step: int) -> float:
        """Adds a vector to Q; returns the part of the product along it.

        The recurrence makes it orthogonal to the others, as those of P are (Simon and Zha 2000, Low-rank matrix
        approximation using the Lanczos bidiagonalization process with applications, section 3), but for rounding
        errors, of which a bound grows by a factor known. They are removed when that has become large.
        """
        known, place = self._left.first[step], self._left.each[step]
        image, rounding = self._multiply(self._right.each[step]), torch.finfo(self._small.dtype).eps
        if step == self._kept:
            remove(image, known)
            remove(image, known)
            lost = 0.0
        else:
            image.sub_(self._left.each[step - 1], alpha=self._beside[-1])
            lost = self._lost * self._beside[-1] + rounding * self._scale
        length = normalise(image, known, place, self._scale)
        self._scale = max(self._scale, length)
        self._lost = lost / length if length else 0.0
        if self._lost > _LOST * rounding:
            remove(place, known)
            self._lost = 0.0
        return length

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps the singular vectors of the largest values."""
        after = self._right.each[self.filled]
        self._left.combine(self._outer[:, :keep])
        self._right.combine(self._inner[:, :keep])
        self._small.zero_()
        self._small.diagonal()[:keep] = self._values[:keep]
        if fresh:
            draw(self._right.first[keep], self._right.each[keep])
        else:
            self._right.each[keep].copy_(after)
            self._small[:keep, keep] = self._couplings[:keep]
        self._kept = self.filled = keep
        self._diagonal, self._beside = [], []

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether a copy of one of the first k singular values lacks, as far as so many products tell."""
        squares = self._values[:k].square().tolist()
        slack = max(100 * torch.finfo(self._values.dtype).eps * squares[0], 2 * tol * squares[-1])
        right = self._right.combined(self._inner[:, :k])
        return more_copies(lambda x: self._adjoint(self._multiply(x)), right, squares, slack, steps)

    def vectors(self, k: int) -> tuple[Tensor, Tensor]:
        """The first k singular vectors of both sides, (k, m) and (k, n)."""
        return self._left.combined(self._outer[:, :k]), self._right.combined(self._inner[:, :k])
