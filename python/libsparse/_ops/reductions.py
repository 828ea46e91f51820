"""Reductions over dimensions; entries that are not stored count, as in a dense tensor."""

from __future__ import annotations

import functools
import string
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime.problem import Einsum, Operand

from . import contraction
from .operands import to_operand


def sum(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The sum over `dim` (an int, several, or None for all): a dense tensor; differentiable."""
    a = to_operand(input)
    a.need_zero_fill("a sum")
    dims, ndim = dimensions(a, dim), a.ndim
    exact = a.dtype.is_floating_point or a.dtype.is_complex
    target = dtype or (a.dtype if exact else torch.int64)
    if len(dims) == ndim:
        total = a.sparsity.entries(a.values).sum(dtype=target)
        return total.reshape((1,) * ndim) if keepdim else total
    out, _ = contraction.contract(_over(dims, ndim, target), [a])
    if keepdim:
        return out.reshape([1 if d in dims else n for d, n in enumerate(a.shape)])
    return out


@functools.lru_cache(maxsize=1024)
def _over(dims: frozenset[int], ndim: int, dtype: torch.dtype) -> Einsum:
    """The sum over these dimensions."""
    letters = tuple(string.ascii_letters[:ndim])
    kept = tuple(letter for d, letter in enumerate(letters) if d not in dims)
    return Einsum((letters,), kept, contraction.dense_format(len(kept)), dtype=dtype)


def mean(input: Any, dim: Any = None, keepdim: bool = False, *, dtype: torch.dtype | None = None) -> Tensor:
    """The mean over `dim`, entries that are not stored included: a dense tensor; differentiable.

    Raises:
        DtypeError: The values are not floating.
    """
    a = to_operand(input)
    target = dtype or a.dtype
    if not (target.is_floating_point or target.is_complex):
        raise DtypeError(f"mean of {a.dtype}; expected a floating dtype: use A.to(torch.float32) or dtype=")
    count = 1
    for d in dimensions(a, dim):
        count *= a.shape[d]
    total = sum(a, dim, keepdim, dtype=dtypes.accumulator(target))
    return (total / float(count) if count else total * float("nan")).to(target)


def dimensions(a: Operand, dim: Any) -> frozenset[int]:
    """The dimensions that `dim` names.

    Raises:
        ShapeError: One is out of range or named twice.
    """
    given = () if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    ndim = a.ndim
    wrapped = frozenset([d + ndim if d < 0 else d for d in given or range(ndim)])
    if len(wrapped) < len(given) or not wrapped.issubset(range(ndim)):
        raise ShapeError(f"dim {dim} of a tensor with {ndim} dimensions: out of range, or named twice")
    return wrapped
