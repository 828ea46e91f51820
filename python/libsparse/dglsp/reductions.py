"""Reductions of stored values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

import libsparse as ls

from .matrices import coordinates, in_one_order

if TYPE_CHECKING:
    from libsparse import SparseTensor

_KNOWN = (torch.float32, torch.float64)
_OF_ALL: dict[str, Any] = {
    "sum": torch.sum,
    "smax": torch.amax,
    "smin": torch.amin,
    "smean": torch.mean,
    "sprod": torch.prod,
}
_REDUCTIONS = {"sum": "sum", "smax": "amax", "smin": "amin", "smean": "mean", "sprod": "prod"}


def reduce(input: SparseTensor, dim: int | None = None, rtype: str = "sum") -> Tensor:
    """The sum, maximum, minimum, mean or product of the stored values of each row (`dim=1`), column (`dim=0`), or all.

    Elements that are not stored don't count, unlike in `A.amax(1)` and `A.mean(1)`. Rows that store nothing give 0.

    Args:
        input: With values (nnz,) or (nnz, d).
        dim: The dimension that is reduced; None for both.
        rtype: "sum", "smax", "smin", "smean" or "sprod".

    Raises:
        UnsupportedError: `rtype` is another one.
        ShapeError: `dim` is neither 0 nor 1.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.reduce(ls.tensor([[0.0, -2.0], [0.0, 0.0]]), 1, "smax").tolist()
        [-2.0, 0.0]
    """
    if rtype not in _REDUCTIONS:
        raise ls.UnsupportedError(f"reduce: rtype is {rtype!r}; expected one of {', '.join(_REDUCTIONS)}")
    if dim not in (None, 0, 1, -1, -2):
        raise ls.ShapeError(f"reduce: dim is {dim}; expected 0 for columns, 1 for rows, or None")
    input = in_one_order(input)
    val, known = input.values().reshape(-1, *input.shape[2:]), input.dtype in _KNOWN
    if dim is None and known and (rtype == "sum" or len(val)):
        of_all: Tensor = _OF_ALL[rtype](val, 0)
        return of_all
    kept = 0 if dim in (1, -1) else 1
    if dim is not None and known and rtype in ("sum", "smean") and input.fill_value == 0:
        return _summed(input, kept, rtype == "smean")
    row, col = coordinates(input)
    index = torch.zeros_like(row) if dim is None else (row, col)[kept]
    places = index.to(torch.int64).view(-1, *[1] * (val.ndim - 1)).expand_as(val)
    out = val.new_zeros(1 if dim is None else input.shape[kept], *val.shape[1:])
    out = out.scatter_reduce(0, places, val, _REDUCTIONS[rtype], include_self=False)
    return out[0] if dim is None else out


def _summed(input: SparseTensor, kept: int, mean: bool) -> Tensor:
    """The sums or means of rows or columns: a product with ones, which is compiled for the format."""
    inner = "k"[: input.ndim - 2]
    total: Tensor = ls.einsum(f"ij{inner}->{'ij'[kept]}{inner}", input, format="d" * (input.ndim - 1))
    if not mean:
        return total

    def count() -> Tensor:
        return torch.bincount(coordinates(input)[kept], minlength=input.shape[kept]).clamp(min=1)

    known = not torch.compiler.is_compiling()
    counts = input.pattern.derive(("stored values of rows or columns", kept), count) if known else count()
    return total / counts.to(total.dtype).view(-1, *[1] * len(inner))


def sum(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by sums.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sum(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "sum")


def smax(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by maxima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smax(-ls.eye(3), 0).tolist()
        [-1.0, -1.0, -1.0]
    """
    return reduce(input, dim, "smax")


def smin(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by minima.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smin(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smin")


def smean(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by means.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.smean(ls.eye(3), 0).tolist()
        [1.0, 1.0, 1.0]
    """
    return reduce(input, dim, "smean")


def sprod(input: SparseTensor, dim: int | None = None) -> Tensor:
    """`reduce` by products.

    Example:
        >>> from libsparse import dglsp
        >>> dglsp.sprod(ls.eye(3) * 2, 0).tolist()
        [2.0, 2.0, 2.0]
    """
    return reduce(input, dim, "sprod")
