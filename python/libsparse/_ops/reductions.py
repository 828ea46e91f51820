"""Reductions over dimensions; entries that are not stored count, as in a dense tensor."""

from __future__ import annotations

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
    dims = dimensions(a, dim)
    exact = a.dtype.is_floating_point or a.dtype.is_complex
    target = dtype or (a.dtype if exact else torch.int64)
    if len(dims) == a.ndim:
        total = a.sparsity.entries(a.values).sum(dtype=target)
        return total.reshape((1,) * a.ndim) if keepdim else total
    letters = tuple(string.ascii_letters[: a.ndim])
    kept = tuple(letter for d, letter in enumerate(letters) if d not in dims)
    question = Einsum((letters,), kept, contraction.dense_format(len(kept)), dtype=target)
    out, _ = contraction.contract(question, [a])
    if keepdim:
        return out.reshape([1 if d in dims else n for d, n in enumerate(a.shape)])
    return out


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
    if dim is None:
        return frozenset(range(a.ndim))
    given = [dim] if isinstance(dim, int) else list(dim)
    if not given:
        return frozenset(range(a.ndim))
    wrapped = [d + a.ndim if d < 0 else d for d in given]
    if any(not 0 <= d < a.ndim for d in wrapped) or len(set(wrapped)) < len(wrapped):
        raise ShapeError(f"dim {dim} of a tensor with {a.ndim} dimensions: out of range, or named twice")
    return frozenset(wrapped)
