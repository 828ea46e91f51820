"""One row, column or element of a matrix with compressed rows: a slice of its arrays, and searches in rows."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import _disable_current_modes

from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._storage.boxes import Box
from libsparse._storage.conversion import taken
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .entries import fill_of
from .keys import in_range

_VECTOR = Format("s")
_WHOLE = slice(None)


def single(source: Operand, key: Any) -> Operand | None:
    """What a key of one or two integers names, also beside `:`; None for another key or tensor. Differentiable.

    Raises:
        IndexBoundsError: An integer is out of range.
    """
    pattern = source.sparsity
    if pattern.format.levels != ("d", "s") or torch.is_inference_mode_enabled() or ordinary.in_transform() is not None:
        return None
    outer, inner = pattern.format.order
    parts = (key, _WHOLE) if type(key) is int else key
    if type(parts) is not tuple or len(parts) != 2:
        return None
    picks = {mode: in_range(n, mode, pattern.shape) for mode, n in enumerate(parts) if type(n) is int}
    if len(picks) == 2:
        return _element(source, picks[outer], picks[inner])
    if len(picks) == 1 and any([type(part) is slice and part == _WHOLE for part in parts]):
        return _row(source, picks[outer]) if outer in picks else _column(source, picks[inner])
    return None


def _row(source: Operand, place: int) -> Operand:
    """A row as a vector."""
    pattern = source.sparsity
    pos, crd = pattern.compressed(1)
    low, high = pos[place : place + 2].tolist()
    row = vector(crd[low:high].clone(), pattern.shape[pattern.format.order[1]], pattern.index_dtype)
    return Operand(row, None if source.data is None else source.data[low:high].clone(), source.fill)


def _column(source: Operand, place: int) -> Operand | None:
    """A column as a vector; None where another way has to find it."""
    pattern = source.sparsity
    rows = pattern.shape[pattern.format.order[0]]
    box = Box.of(pattern, rows, place, place + 1)
    if box is None:
        return None
    there, places = box.firsts()
    data = None if source.data is None else taken(source.data, places)
    return Operand(vector(there, rows, pattern.index_dtype), data, source.fill)


def vector(coordinates: Tensor, extent: int, dtype: torch.dtype) -> Pattern:
    """The pattern of a vector, of coordinates of an index dtype that has room for the extent."""
    size = len(coordinates)
    return Pattern._of_kernel(_VECTOR, torch.Size([extent]), (_bounds(size, dtype),), (coordinates,), size, dtype)


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
