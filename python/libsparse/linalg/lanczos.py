"""The largest eigenvalues of Hermitian matrices by thick-restart Lanczos with full reorthogonalisation.

Wu and Simon 2000, Thick-restart Lanczos method for large symmetric eigenvalue problems, algorithm 2.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .restarts import Basis, Map, draw, more_copies, normalise, recur, remove, separate


class Lanczos:
    """A space of a Hermitian matrix A: `A V = V T + beta v e^T`, where T is real, and tridiagonal but for a row.

    The rows of `_basis` are the columns of V, and after them v. After a restart the first rows are Ritz vectors, which
    T knows by their values and by their coupling with the next row.
    """

    def __init__(self, multiply: Map, n: int, dtype: torch.dtype, size: int) -> None:
        """Begins with a random vector.

        Args:
            multiply: The product of the matrix with a vector; what it returns is overwritten.
            n: The number of rows of the matrix, greater than `size`.
            dtype: Of the vectors.
            size: How many vectors there are at most.
        """
        self.size, self.filled = size, 0
        self._multiply = multiply
        self._basis = Basis(size + 1, n, dtype)
        self._small = torch.zeros(size, size, dtype=dtype.to_real(), device="cpu")
        self._kept = 0
        self._diagonal: list[float] = []  # of T behind what was kept
        self._beside: list[float] = []
        self._scale = 0.0
        draw(self._basis.first[0], self._basis.each[0])

    def expand(self, end: int) -> tuple[Tensor, Tensor]:
        """Products until so many vectors are there; returns Ritz values, the largest first, and sizes of residuals."""
        vectors, first = self._basis.each, self._basis.first
        diagonal, beside, kept = self._diagonal, self._beside, self._kept
        for step in range(self.filled, end):
            known = first[step + 1]
            image = self._multiply(vectors[step])
            if step == kept:
                diagonal.append(remove(image, known)[-1].item().real)
            else:
                diagonal.append(recur(image, vectors[step], vectors[step - 1], beside[-1]))
            remove(image, known)
            self._scale = max(self._scale, abs(diagonal[-1]))
            beside.append(normalise(image, known, vectors[step + 1], self._scale))
            self._scale = max(self._scale, beside[-1])
        self.filled, small = end, self._small[:end, :end]
        small.diagonal()[kept:] = small.new_tensor(diagonal)
        small.diagonal(-1)[kept:] = small.new_tensor(beside[:-1])
        values, ritz = torch.linalg.eigh(small)  # which reads the lower half
        self._values, self._ritz = values.flip(0), ritz.flip(1)
        self._couplings = separate(self._values, beside[-1] * self._ritz[-1], self._ritz)
        return self._values, self._couplings.abs()

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps the Ritz vectors of the largest values."""
        after = self._basis.each[self.filled]
        self._basis.combine(self._ritz[:, :keep])
        self._small.zero_()
        self._small.diagonal()[:keep] = self._values[:keep]
        if fresh:
            draw(self._basis.first[keep], self._basis.each[keep])
        else:
            self._basis.each[keep].copy_(after)
            self._small[keep, :keep] = self._couplings[:keep]
        self._kept = self.filled = keep
        self._diagonal, self._beside = [], []

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether a copy of one of the first k eigenvalues lacks, as far as so many products tell."""
        slack = max(100 * torch.finfo(self._values.dtype).eps * self._scale, tol * abs(float(self._values[k - 1])))
        return more_copies(self._multiply, self.vectors(k), self._values[:k].tolist(), slack, steps)

    def vectors(self, k: int) -> Tensor:
        """The first k Ritz vectors, (k, n)."""
        return self._basis.combined(self._ritz[:, :k])
