"""The largest singular values by thick-restart Golub-Kahan-Lanczos bidiagonalisation.

Baglama and Reichel 2005, Augmented implicitly restarted Lanczos bidiagonalization methods, section 2 and algorithm 3.1
(restarts by Ritz vectors). Values are not squared, so that small ones are as accurate as large ones.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .restarts import Map, draw, exceeded, normalise, remove, separate


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
        self.size = size
        self._multiply, self._adjoint = multiply, adjoint
        self._left = torch.zeros(size, shape[0], dtype=dtype, device="cpu")
        self._right = torch.zeros(size + 1, shape[1], dtype=dtype, device="cpu")
        self._small = self._left.real.new_zeros(size, size)
        self._kept = 0
        self._scale = 0.0
        draw(self._right[:0], self._right[0])

    def expand(self) -> tuple[Tensor, Tensor]:
        """Products until the spaces are full; returns singular values of B and estimates of residuals."""
        left, right, kept = self._left, self._right, self._kept
        diagonal: list[float] = []
        beside: list[float] = []
        for step in range(kept, self.size):
            image = self._multiply(right[step])
            known = 0 if step == kept else step - 1  # in exact arithmetic, other parts are 0
            remove(image, left[known:step])
            remove(image, left[:step])
            diagonal.append(normalise(image, left[:step], left[step], self._scale))
            self._scale = max(self._scale, diagonal[-1])
            image = self._adjoint(left[step])
            remove(image, right[step : step + 1])
            remove(image, right[: step + 1])
            beside.append(normalise(image, right[: step + 1], right[step + 1], self._scale))
            self._scale = max(self._scale, beside[-1])
        self._small.diagonal()[kept:] = self._small.new_tensor(diagonal)
        self._small.diagonal(1)[kept:] = self._small.new_tensor(beside[:-1])
        self._outer, self._values, inner = torch.linalg.svd(self._small)
        self._inner = inner.T
        self._couplings = separate(self._values, beside[-1] * self._outer[-1], self._outer, self._inner)
        return self._values, self._couplings.abs()

    def restart(self, keep: int, fresh: bool = False) -> None:
        """Keeps the singular vectors of the largest values."""
        self._left[:keep], kept = self.vectors(keep)
        after = self._right[-1].clone()
        self._right[:keep] = kept
        self._small.zero_()
        self._small.diagonal()[:keep] = self._values[:keep]
        if fresh:
            draw(self._right[:keep], self._right[keep])
        else:
            self._right[keep] = after
            self._small[:keep, keep] = self._couplings[:keep]
        self._kept = keep

    def misses(self, k: int, tol: float, steps: int) -> bool:
        """Whether there is a singular value above the k-th outside of the space of the first k vectors."""
        bound, spread = float(self._values[k - 1]) ** 2, float(self._values[0]) ** 2
        slack = max(100 * torch.finfo(self._left.dtype).eps * spread, 2 * tol * bound)
        return exceeded(lambda x: self._adjoint(self._multiply(x)), self.vectors(k)[1], bound, spread, slack, steps)

    def vectors(self, k: int) -> tuple[Tensor, Tensor]:
        """The first k singular vectors of both sides, (k, m) and (k, n)."""
        dtype = self._left.dtype
        left = self._outer[:, :k].T.to(dtype) @ self._left
        return left, self._inner[:, :k].T.to(dtype) @ self._right[:-1]
