"""One row or one element of a matrix with compressed rows: a slice of its arrays, and a search in that."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .entries import fill_of
from .keys import in_range

_VECTOR = Format("s")


def single(source: Operand, key: Any) -> Operand | None:
    """What a key of one or two integers names; None for another key, or another kind of tensor. Differentiable.

    Raises:
        IndexBoundsError: An integer is out of range.
    """
    pattern = source.sparsity
    if pattern.format.levels != ("d", "s") or torch.is_inference_mode_enabled() or ordinary.in_transform() is not None:
        return None
    outer, inner = pattern.format.order
    if type(key) is int and outer == 0:
        return _row(source, in_range(key, 0, pattern.shape))
    if type(key) is tuple and len(key) == 2 and type(key[0]) is int and type(key[1]) is int:
        places = [in_range(place, mode, pattern.shape) for mode, place in enumerate(key)]
        return _element(source, places[outer], places[inner])
    return None


def _row(source: Operand, place: int) -> Operand:
    """A row as a vector."""
    pattern = source.sparsity
    pos, crd = pattern.compressed(1)
    low, high = pos[place : place + 2].tolist()
    arrays = (_bounds(high - low, pos.dtype),), (crd[low:high].clone(),)
    row = Pattern._of_kernel(_VECTOR, pattern.shape[1:], *arrays, high - low, pattern.index_dtype)
    return Operand(row, None if source.data is None else source.data[low:high].clone(), source.fill)


@ordinary.kept(1024)
def _bounds(count: int, dtype: torch.dtype) -> Tensor:
    """The positions of a vector with so many entries; patterns share them, which write to no array."""
    with _disable_current_modes():
        return torch.tensor([0, count], dtype=dtype, device="cpu")


def _element(source: Operand, row: int, column: int) -> Operand:
    """An element: a dense tensor without dimensions."""
    pos, crd = source.sparsity.compressed(1)
    low, high = pos[row : row + 2].tolist()
    at = low + int(torch.searchsorted(crd[low:high], column))
    if at < high and int(crd[at]) == column:
        found: Tensor = source.values[at].clone()
        return Operand(None, found)
    return Operand(None, fill_of(source))
