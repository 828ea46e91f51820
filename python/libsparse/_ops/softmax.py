"""Softmax over the stored elements of a dimension."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import MissingKernelError
from libsparse._runtime import notes

from .reductions import Groups


def softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The softmax of the stored elements over a dimension; elements that are not stored are 0. Differentiable."""
    groups, shifted = _shifted(input, dim, dtype)
    powers = notes.apply(torch.exp, shifted)
    total = groups.reduce(powers)
    values = notes.apply(torch.div, powers, groups.at_entries(total))
    return groups.source._replace(data=groups.source.sparsity.spread(values), fill=0)


def log_softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The logarithm of the softmax of the stored elements over a dimension. Differentiable."""
    groups, shifted = _shifted(input, dim, dtype)
    total = groups.reduce(notes.apply(torch.exp, shifted))
    values = notes.apply(torch.sub, shifted, groups.at_entries(notes.apply(torch.log, total)))
    return groups.source._replace(data=groups.source.sparsity.spread(values), fill=0)


def _shifted(input: Any, dim: int, dtype: torch.dtype | None) -> tuple[Groups, Tensor]:
    """The entries less the greatest of their groups, whose exponentials don't overflow."""
    groups = Groups(input, int(dim))
    if groups.source.fill != -math.inf:
        groups.source.need_zero_fill("softmax")
    entries = groups.entries if dtype is None else groups.entries.to(dtype)
    if not entries.dtype.is_floating_point:
        raise MissingKernelError(f"softmax of {entries.dtype}; expected a floating dtype: use A.float() or dtype=")
    top = groups.reduce(entries.detach(), "max")
    return groups, notes.apply(torch.sub, entries, groups.at_entries(notes.apply(_shift, top)))


def _shift(top: Tensor) -> Tensor:
    return torch.where(top == -math.inf, 0, top)
