"""FactorizationMachine: all pairs of sparse features, each with a weight of low rank."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

import libsparse as ls


class FactorizationMachine(nn.Module):
    """`b + sum_i w_i x_i + sum_{i<j} <v_i, v_j> x_i x_j` of sparse features x.

    Rendle, "Factorization Machines", 2010, equation 1; computed by Lemma 3.1 in time proportional to entries times
    rank.

    Args:
        num_features: Columns of `x`.
        rank: Length of each v.
        bias: Whether there is b.
        dtype: Of the parameters.

    Attributes:
        linear: w, (num_features,).
        factors: The rows v, (num_features, rank), normal with standard deviation 0.01 at first.
        bias: b, a number, or None.

    Example:
        >>> model = ls.nn.FactorizationMachine(100, 8)
        >>> model(ls.random((5, 100), 0.1)).shape
        torch.Size([5])
    """

    def __init__(self, num_features: int, rank: int, bias: bool = True, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.num_features, self.rank = num_features, rank
        self.linear = nn.Parameter(torch.empty(num_features, dtype=dtype, device="cpu"))
        self.factors = nn.Parameter(torch.empty(num_features, rank, dtype=dtype, device="cpu"))
        self.bias = nn.Parameter(torch.empty((), dtype=dtype, device="cpu")) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the factors anew; the rest begins at 0."""
        nn.init.normal_(self.factors, std=0.01)
        for parameter in (self.linear, self.bias):
            if parameter is not None:
                nn.init.zeros_(parameter)

    def forward(self, x: Any) -> Tensor:
        """Features (n, num_features), sparse or dense, to (n,).

        Raises:
            ShapeError: `x` has another number of columns.
        """
        if x.ndim != 2 or x.shape[1] != self.num_features:
            raise ls.ShapeError(
                f"FactorizationMachine: x has shape {tuple(x.shape)}; expected (samples, {self.num_features})"
            )
        if isinstance(x, ls.SparseTensor) and not x.dtype.is_floating_point:
            x = x.to(self.factors.dtype)
        if isinstance(x, ls.SparseTensor):  # of the factors, only rows of features that are there are read
            squares = ls.evaluate("s(i) = x(i,j) * x(i,j) * v(j,k) * v(j,k)", x=x, v=self.factors, format="d")
        else:
            squares = (x * x) @ self.factors.square().sum(1)
        out: Tensor = x @ self.linear + ((x @ self.factors).square().sum(1) - squares) / 2
        return out if self.bias is None else out + self.bias

    def extra_repr(self) -> str:
        """Its extents."""
        return f"{self.num_features}, rank={self.rank}"
