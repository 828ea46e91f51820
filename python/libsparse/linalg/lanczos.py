"""The largest eigenvalues of Hermitian matrices by thick-restart Lanczos with full reorthogonalisation.

Wu and Simon 2000, Thick-restart Lanczos method for large symmetric eigenvalue problems, algorithm 2.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .restarts import Map, draw, exceeded, normalise, remove, separate


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
        self.size = size
        self._multiply = multiply
        self._basis = torch.zeros(size + 1, n, dtype=dtype, device="cpu")
        self._spare = torch.zeros_like(self._basis)
        self._small = self._basis.real.new_zeros(size, size)
        self._kept = 0
        self._scale = 0.0
        self._least = math.inf
        draw(self._basis[:0], self._basis[0])

    def expand(self) -> tuple[Tensor, Tensor]:
        """Products until the space is full; returns Ritz values, the largest first, and estimates of residuals."""
        basis, kept = self._basis, self._kept
        diagonal: list[float] = []
        beside: list[float] = []
        for step in range(kept, self.size):
            image = self._multiply(basis[step])
            known = 0 if step == kept else step - 1  # in exact arithmetic, other parts are 0
            diagonal.append(float(remove(image, basis[known : step + 1])[-1].real))
            remove(image, basis[: step + 1])
            self._scale = max(self._scale, abs(diagonal[-1]), *beside[-1:])
            beside.append(normalise(image, basis[: step + 1], basis[step + 1], self._scale))
        self._small.diagonal()[kept:] = self._small.new_tensor(diagonal)
        self._small.diagonal(-1)[kept:] = self._small.new_tensor(beside[:-1])
        values, vectors = torch.linalg.eigh(self._small)  # which reads the lower half
        self._values, self._vectors = values.flip(0), vectors.flip(1)
        self._couplings = separate(self._values, beside[-1] * self._vectors[-1], self._vectors)
        self._least = min(self._least, float(values[0]))
        return self._values, self._couplings.abs()

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps the Ritz vectors of the largest values."""
        torch.mm(self._vectors[:, :keep].T.to(self._basis.dtype), self._basis[:-1], out=self._spare[:keep])
        self._basis, self._spare, after = self._spare, self._basis, self._basis[-1]
        self._small.zero_()
        self._small.diagonal()[:keep] = self._values[:keep]
        if fresh:
            draw(self._basis[:keep], self._basis[keep])
        else:
            self._basis[keep] = after
            self._small[keep, :keep] = self._couplings[:keep]
        self._kept = keep

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether there is an eigenvalue above the k-th outside of the space of the first k vectors."""
        bound, spread = float(self._values[k - 1]), float(self._values[0]) - self._least
        slack = max(100 * torch.finfo(self._basis.dtype).eps * self._scale, tol * abs(bound))
        return exceeded(self._multiply, self.vectors(k), bound, spread, slack, steps)

    def vectors(self, k: int) -> Tensor:
        """The first k Ritz vectors, (k, n)."""
        return torch.mm(self._vectors[:, :k].T.to(self._basis.dtype), self._basis[:-1])
