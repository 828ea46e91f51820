"""CP and Tucker: sparse tensors as a few factors, fitted by alternating least squares or trained by gradients."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

import libsparse as ls


class _Decomposition(nn.Module):
    """What both have: the shape, and the error from parts of which none has the shape of the tensor."""

    shape: tuple[int, ...]
    factors: nn.ParameterList

    def _check(self, T: Any) -> None:
        name = type(self).__name__
        if not isinstance(T, ls.SparseTensor):
            raise ls.DtypeError(f"{name}: T is a {type(T).__name__}; expected an ls.SparseTensor, see ls.tensor")
        if tuple(T.shape) != self.shape or T.fill_value != 0:
            raise ls.ShapeError(f"{name}: T ({T._facts()}); expected shape {self.shape}, and 0 where nothing is stored")

    def _gathered(self, indices: Tensor) -> list[Tensor]:
        """The rows of each factor at coordinates (ndim, n)."""
        if indices.ndim != 2 or indices.shape[0] != len(self.shape):
            raise ls.ShapeError(
                f"{type(self).__name__}: indices have shape {tuple(indices.shape)}; expected ({len(self.shape)}, n)"
            )
        return [factor[row] for factor, row in zip(self.factors, indices.long(), strict=True)]

    def _inner(self, T: Any) -> Tensor:
        """The inner product with a sparse tensor."""
        raise NotImplementedError

    def _norm(self) -> Tensor:
        """The squared norm of what the parameters stand for."""
        raise NotImplementedError

    def loss(self, T: Any) -> Tensor:
        """The squared error over all elements, stored or not: `|T|^2 - 2 <T, Y> + |Y|^2`; differentiable."""
        self._check(T)
        squares: Tensor = T.values().square().sum()
        return squares - 2 * self._inner(T) + self._norm()

    def error(self, T: Any) -> float:
        """The relative error `|T - Y| / |T|`.

        It is computed of sums in the dtype of the parameters, so in float32 it ends near 1e-4.
        """
        with torch.no_grad():
            norm = T.values().square().sum()
            return float((self.loss(T).clamp(min=0) / norm).sqrt())

    def extra_repr(self) -> str:
        """Its extents."""
        return f"shape={self.shape}, rank={[factor.shape[1] for factor in self.factors]}"


class CP(_Decomposition):
    """A tensor as a sum of `rank` outer products.

    Kolda and Bader, "Tensor Decompositions and Applications", 2009, section 3.

    Args:
        shape: Of the tensor.
        rank: How many outer products.
        dtype: Of the factors.

    Attributes:
        factors: One (n_k, rank) a mode.

    Example:
        >>> T = ls.tensor(torch.einsum("i,j,k->ijk", *(torch.arange(n).float() for n in (4, 5, 6))))
        >>> model = ls.nn.CP(T.shape, rank=1)
        >>> model.fit(T) < 1e-3, model(torch.tensor([[3], [4], [5]])).round().tolist()
        (True, [60.0])
    """

    def __init__(self, shape: Sequence[int], rank: int, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.shape, self.rank = tuple(shape), rank
        self.factors = nn.ParameterList(torch.empty(n, rank, dtype=dtype, device="cpu") for n in shape)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the factors anew."""
        for factor in self.factors:
            nn.init.uniform_(factor)

    def forward(self, indices: Tensor) -> Tensor:
        """The elements (n,) at coordinates (ndim, n)."""
        rows = self._gathered(indices)
        product = rows[0]
        for row in rows[1:]:
            product = product * row
        return product.sum(1)

    def fit(self, T: Any, sweeps: int = 50, tolerance: float = 1e-5) -> float:
        """Alternating least squares (figure 3.3), from the factors as they are.

        Args:
            T: A SparseTensor.
            sweeps: How often all factors are solved for, at most.
            tolerance: Ends it when the error of a sweep is less than this better than that of the last.

        Returns:
            The relative error.
        """
        self._check(T)
        error = math.inf
        with torch.no_grad():
            for _ in range(sweeps):
                for mode, factor in enumerate(self.factors):
                    gram = self._grams(without=mode)
                    right = ls.mttkrp(T, list(self.factors), mode)
                    factor.copy_(right @ torch.linalg.pinv(gram, hermitian=True))
                last, error = error, self.error(T)
                if last - error < tolerance:
                    break
        return error

    def _grams(self, without: int | None = None) -> Tensor:
        """The product, element by element, of `F.T @ F` of all factors but one."""
        grams = [factor.T @ factor for mode, factor in enumerate(self.factors) if mode != without]
        return torch.stack(grams).prod(0)

    def _inner(self, T: Any) -> Tensor:
        product: Tensor = (ls.mttkrp(T, list(self.factors), 0) * self.factors[0]).sum()
        return product

    def _norm(self) -> Tensor:
        return self._grams().sum()


class Tucker(_Decomposition):
    """A tensor as a small core, multiplied by a matrix along each mode.

    Kolda and Bader, "Tensor Decompositions and Applications", 2009, section 4.

    Args:
        shape: Of the tensor.
        ranks: Extents of the core.
        dtype: Of the parameters.

    Attributes:
        core: (r_1, r_2, ...).
        factors: One (n_k, r_k) a mode.

    Example:
        >>> T = ls.random((8, 9, 10), 0.2)
        >>> model = ls.nn.Tucker(T.shape, (3, 3, 3))
        >>> model.fit(T) < 1, model.core.shape
        (True, torch.Size([3, 3, 3]))
    """

    def __init__(self, shape: Sequence[int], ranks: Sequence[int], dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.shape, self.ranks = tuple(shape), tuple(ranks)
        if len(self.shape) != len(self.ranks):
            raise ls.ShapeError(f"Tucker: {len(self.ranks)} ranks for {len(self.shape)} dimensions; expected one each")
        for mode, (n, rank) in enumerate(zip(self.shape, self.ranks, strict=True)):
            others = math.prod(self.ranks) // max(rank, 1)
            if not 0 < rank <= min(n, others):
                raise ls.ShapeError(
                    f"Tucker: the rank of mode {mode} is {rank}; expected 1 to {min(n, others)}: the extent is {n}, "
                    f"the product of the other ranks {others}"
                )
        self.core = nn.Parameter(torch.empty(self.ranks, dtype=dtype, device="cpu"))
        sizes = zip(self.shape, self.ranks, strict=True)
        self.factors = nn.ParameterList(torch.empty(n, rank, dtype=dtype, device="cpu") for n, rank in sizes)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the parameters anew; columns of factors are orthonormal."""
        for factor in self.factors:
            nn.init.orthogonal_(factor)
        nn.init.normal_(self.core)

    def forward(self, indices: Tensor) -> Tensor:
        """The elements (n,) at coordinates (ndim, n)."""
        letters = string.ascii_lowercase[: len(self.shape)]
        text = ",".join([letters, *(f"Z{letter}" for letter in letters)])
        return torch.einsum(f"{text}->Z", self.core, *self._gathered(indices))

    def fit(self, T: Any, sweeps: int = 20, tolerance: float = 1e-5) -> float:
        """Higher-order orthogonal iteration (figure 4.4), from the factors as they are.

        Args:
            T: A SparseTensor.
            sweeps: How often all factors are computed, at most.
            tolerance: Ends it when the error of a sweep is less than this better than that of the last.

        Returns:
            The relative error.
        """
        self._check(T)
        error = math.inf
        with torch.no_grad():
            for _ in range(sweeps):
                for mode, factor in enumerate(self.factors):
                    unfolded = self._projected(T, mode).movedim(mode, 0).flatten(1)
                    factor.copy_(torch.linalg.svd(unfolded, full_matrices=False).U[:, : factor.shape[1]])
                self.core.copy_(self._projected(T))
                last, error = error, self.error(T)
                if last - error < tolerance:
                    break
        return error

    def _projected(self, T: Any, without: int | None = None) -> Any:
        """The tensor times the transposed factors of all modes but one: dense, and small but for that one."""
        modes = range(len(self.shape))
        old, new = string.ascii_lowercase[: len(self.shape)], string.ascii_uppercase[: len(self.shape)]
        inputs = [old, *(old[mode] + new[mode] for mode in modes if mode != without)]
        output = "".join(old[mode] if mode == without else new[mode] for mode in modes)
        factors = [factor for mode, factor in enumerate(self.factors) if mode != without]
        return ls.einsum(f"{','.join(inputs)}->{output}", T, *factors, format="d" * len(self.shape))

    def _inner(self, T: Any) -> Tensor:
        product: Tensor = (self._projected(T) * self.core).sum()
        return product

    def _norm(self) -> Tensor:
        modes = range(len(self.shape))
        old, new = string.ascii_lowercase[: len(self.shape)], string.ascii_uppercase[: len(self.shape)]
        inputs = [old, *(old[mode] + new[mode] for mode in modes), new]
        grams = [factor.T @ factor for factor in self.factors]
        return torch.einsum(",".join(inputs), self.core, *grams, self.core)
