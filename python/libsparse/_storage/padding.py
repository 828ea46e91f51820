"""How many places a format that pads would have for some entries, which is found before it is made."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from . import ordinary
from .fakes import is_fake
from .format import Format

_FEW = 1 << 16  # places, which are made for any entries
_MOST = 16  # places for an entry: a matrix of 4 x 4 blocks has no more


def suits(format: Format, shape: Sequence[int], coords: Sequence[Tensor]) -> bool:
    """Whether a result that was not asked for in a format takes it: padding then takes at most 16 places an entry.

    Args:
        format: The format of an operand.
        shape: The extents of the result.
        coords: Its distinct coordinates, one array for each mode, in any order.
    """
    if not coords or not coords[0].numel() or is_fake(coords[0]) or ordinary.in_transform() is not None:
        return True
    return _places(format, shape, coords) <= max(_FEW, _MOST * coords[0].numel())


def _places(format: Format, shape: Sequence[int], coords: Sequence[Tensor]) -> int:
    """The places of a matrix of diagonals, blocks or padded rows; 0 of other formats."""
    if len(format.kinds) != 2 or format.kinds[0].letter not in "dw":
        return 0
    last, (outer, inner) = format.kinds[1], format.order
    rows, columns = shape[outer], shape[inner]
    row, column = coords[outer], coords[inner]
    if last.letter == "o":
        return rows * _distinct(column - row + rows - 1, rows + columns - 1)
    if last.letter == "k":
        height, width = last.numbers
        across = -(-columns // width)
        found = _distinct(row // height * across + column // width, -(-rows // height) * across)
        return height * width * found
    if last.letter == "p":
        return rows * int(_lengths(row)[1].max())
    if last.letter == "l":
        height = last.numbers[0]
        listed, lengths = _lengths(row)
        if format.kinds[0].letter == "w":  # which sorts rows, so that those of a length stand side by side
            listed, lengths = torch.arange(lengths.numel(), device="cpu"), lengths.sort().values
        slices, place = torch.unique(listed // height, return_inverse=True)
        longest = torch.zeros(slices.numel(), dtype=torch.int64, device="cpu").scatter_reduce(0, place, lengths, "amax")
        return height * int(longest.sum())
    return 0


def _distinct(numbers: Tensor, count: int) -> int:
    """How many of the numbers from 0 up to `count` there are."""
    if count > 4 * numbers.numel():
        return len(torch.unique(numbers))
    there = torch.zeros(count, dtype=torch.bool, device="cpu")
    there[numbers] = True
    return int(there.sum())


def _lengths(row: Tensor) -> tuple[Tensor, Tensor]:
    """The rows that have entries, in order, and how many each has."""
    if int(row.max()) > 4 * row.numel():
        listed, lengths = torch.unique(row, return_counts=True)
        return listed, lengths
    counts = torch.bincount(row)
    listed = counts.nonzero().squeeze(1)
    return listed, counts[listed]
