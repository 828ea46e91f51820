"""Checks of what users hand over: vectorised, and precise about the entry that is wrong."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from . import packing
from .errors import DtypeError, FormatError, IndexBoundsError, ShapeError, UnsupportedError
from .format import Format

_INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)


def shape(given: Any) -> torch.Size:
    """A shape that was handed over.

    Raises:
        ShapeError: It is no sequence of non-negative ints.
    """
    try:
        result = torch.Size([operator.index(n) for n in given])
    except TypeError:
        raise ShapeError(f"shape {given!r}: expected a sequence of ints") from None
    if any(n < 0 for n in result):
        raise ShapeError(f"shape {tuple(result)}: extents are not negative")
    return result


def index_array(name: str, given: Any, ndim: int = 1) -> Tensor:
    """A private copy of an array of indices that was handed over.

    Raises:
        DtypeError: It does not hold integers.
        ShapeError: It has another rank.
        UnsupportedError: It is not on the CPU.
    """
    array = given if isinstance(given, Tensor) else torch.as_tensor(given)
    if array.numel() == 0 and not isinstance(given, Tensor):
        array = array.to(torch.int64)
    if array.dtype not in _INTEGERS:
        raise DtypeError(f"{name} has dtype {array.dtype}; expected integers")
    if array.ndim != ndim:
        raise ShapeError(f"{name} has shape {tuple(array.shape)}; expected {ndim} dimension(s)")
    if not array.is_cpu:
        raise UnsupportedError(f"{name} is on {array.device}; libsparse computes on the CPU, use .cpu()")
    wide = array.dtype if array.dtype in (torch.int32, torch.int64) else torch.int64
    return array.detach().to(wide, copy=True).contiguous()


def bounds(name: str, array: Tensor, extent: int) -> None:
    """Every coordinate is within its dimension.

    Raises:
        IndexBoundsError: One is not.
    """
    wrong = (array < 0) | (array >= extent)
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0])
        raise IndexBoundsError(f"{name}[{place}] is {int(array[place])}; expected 0 <= index < {extent}")


def positions(name: str, pos: Tensor, parents: int, children: int | None) -> None:
    """Positions start at 0, don't decrease, and end at the number of coordinates.

    Args:
        name: What to call them.
        pos: The positions.
        parents: How many coordinates the level above has.
        children: How many coordinates the level has.

    Raises:
        ShapeError: The length is wrong.
        FormatError: The contents are.
    """
    if pos.numel() != parents + 1:
        raise ShapeError(
            f"{name} has {pos.numel()} elements; expected {parents + 1}, one more than the level above has"
        )
    if int(pos[0]) != 0:
        raise FormatError(f"{name}[0] is {int(pos[0])}; positions start at 0")
    wrong = pos[1:] < pos[:-1]
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0]) + 1
        raise FormatError(f"{name}[{place}] is {int(pos[place])}, less than {int(pos[place - 1])} before it")
    if children is not None and int(pos[-1]) != children:
        raise FormatError(f"{name}[{parents}] is {int(pos[-1])}; expected {children}, the number of coordinates")


def levels(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None], check: bool
) -> None:
    """The arrays of every level are those of `format`; with `check` their contents are right, too.

    Raises:
        ShapeError: A length is wrong.
        FormatError: Positions or order are wrong, or an array is missing.
        IndexBoundsError: A coordinate is out of range.
    """
    if not len(pos) == len(crd) == len(format.levels):
        raise ShapeError(
            f"format {format} has {len(format.levels)} levels; got {len(pos)} pos and {len(crd)} crd arrays "
            "(None where a level has none)"
        )
    count = 1
    for level, (letter, extent) in enumerate(zip(format.levels, extents, strict=True)):
        level_pos, level_crd = pos[level], crd[level]
        if (level_pos is None) == (letter in "su") or (level_crd is None) == (letter != "d"):
            raise FormatError(
                f"level {level} ({letter!r}) of format {format}: 's' and 'u' have pos and crd, 'c' and 'q' only crd, "
                "'d' neither"
            )
        if level_crd is None:
            count *= extent
            continue
        if level_pos is not None:
            # Kernels trust lengths even with check=False, so the ends are always looked at.
            if check:
                positions(f"pos[{level}]", level_pos, count, level_crd.numel())
            elif level_pos.numel() != count + 1 or int(level_pos[-1]) != level_crd.numel():
                raise ShapeError(
                    f"pos[{level}] has {level_pos.numel()} elements and ends in {level_pos[-1:].tolist()}; "
                    f"expected {count + 1} and {level_crd.numel()}"
                )
        elif level_crd.numel() != count:
            raise ShapeError(f"crd[{level}] has {level_crd.numel()} elements; expected {count}")
        if check:
            bounds(f"crd[{level}]", level_crd, extent)
        count = level_crd.numel()
    if check:
        sorted_entries(format, extents, pos, crd)


def sorted_entries(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> None:
    """Coordinates ascend within each parent, without duplicates.

    Raises:
        FormatError: They do not.
    """
    coords = _above_dense(format, extents, pos, crd)
    if not coords:
        return
    # The first level in which two neighbours differ decides.
    decided = torch.zeros(max(0, coords[0].numel() - 1), dtype=torch.bool)
    wrong = torch.zeros_like(decided)
    for c in coords:
        wrong |= ~decided & (c[1:] < c[:-1])
        decided |= c[1:] != c[:-1]
    wrong |= ~decided
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0])
        here = tuple(int(c[place + 1]) for c in coords)
        before = tuple(int(c[place]) for c in coords)
        what = "is there twice" if here == before else f"comes after {before}"
        raise FormatError(
            f"entry {place + 1}: coordinate {here} (in storage order) {what}; entries of format {format} are sorted "
            "and distinct: use ls.from_coo, which sorts and reduces duplicates"
        )


def _above_dense(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]
) -> list[Tensor]:
    """The coordinates down to the last level that is not dense."""
    last = max((n for n, letter in enumerate(format.levels) if letter != "d"), default=-1)
    if last < 0:
        return []
    upper = Format(format.levels[: last + 1])
    return packing.expand_levels(upper, extents[: last + 1], pos[: last + 1], crd[: last + 1])
