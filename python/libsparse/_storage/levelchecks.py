"""Checks of the arrays of every level kind: lengths always, since kernels trust them, contents where asked."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError, IndexBoundsError, ShapeError

from . import levels, validate
from .format import Format


def check(
    format: Format, extents: Sequence[int], pos: Sequence[Tensor | None], crd: Sequence[Tensor | None], contents: bool
) -> None:
    """The arrays of every level are those of `format`; with `contents` what they hold is right, too.

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
    count, rows = 1, 1
    for number, (level, extent) in enumerate(zip(format.levels, extents, strict=True)):
        level_pos, level_crd = pos[number], crd[number]
        if (level_pos is None) == (level[0] in levels.POS) or (level_crd is None) == (level != "d"):
            raise FormatError(
                f"level {number} ({level!r}) of format {format}: s, u, h, p, l, o, k and w have pos and crd, b, c and "
                "q only crd, d neither"
            )
        if level_crd is not None:
            _lengths(number, level, (extent, rows, count), level_pos, level_crd, contents)
            if contents and level[0] == "w":
                assert level_pos is not None
                _permuted(number, level, (extent, rows, count), level_pos, level_crd)
            elif contents and level[0] in levels.PADDED:
                _contents(number, level, (extent, rows, count), level_pos, level_crd)
            elif contents:
                validate.bounds(f"crd[{number}]", level_crd, extent)
        count, rows = levels.size(level, level_pos, level_crd, extent, count), extent
    if contents:
        _order(format, pos, crd)


def _lengths(
    number: int, level: str, around: tuple[int, int, int], pos: Tensor | None, crd: Tensor, contents: bool
) -> None:
    """Positions are as many as there are parents, or groups of them, and end where the coordinates do."""
    extent, rows, parents = around
    letter, numbers = levels.kind(level)
    if pos is None:
        expected = parents * extent if letter == "b" else parents
        if crd.numel() != expected:
            raise ShapeError(f"crd[{number}] has {crd.numel()} elements; expected {expected}")
        return
    if letter == "w":
        if not pos.numel() == crd.numel() == parents * extent:
            raise ShapeError(
                f"level {number} ({level}): pos has {pos.numel()} elements and crd {crd.numel()}; expected "
                f"{parents * extent} each, one for every coordinate"
            )
        return
    if letter in "po":
        expected = int(pos[0]) * (parents if letter == "p" else 1) if pos.numel() == 1 else -1
        if crd.numel() != expected:
            raise ShapeError(
                f"level {number} ({level}): pos has {pos.numel()} elements and crd {crd.numel()}; expected pos to hold "
                f"one number n, and crd {'n for each of ' + str(parents) + ' rows' if letter == 'p' else 'n offsets'}"
            )
        return
    groups = parents
    if letter == "l":
        groups = -(-parents // numbers[0])
    elif letter == "k":
        groups = parents // max(rows, 1) * -(-rows // numbers[0])
    if contents:
        validate.positions(f"pos[{number}]", pos, groups, crd.numel())
    elif pos.numel() != groups + 1 or int(pos[-1]) != crd.numel():
        raise ShapeError(
            f"pos[{number}] has {pos.numel()} elements and ends in {pos[-1:].tolist()}; "
            f"expected {groups + 1} and {crd.numel()}"
        )
    if letter == "l" and bool((pos % numbers[0] != 0).any()):
        raise FormatError(f"pos[{number}] (level {level}): slices hold a multiple of {numbers[0]} places")


def _contents(number: int, level: str, around: tuple[int, int, int], pos: Tensor | None, crd: Tensor) -> None:
    """Coordinates are in range, and distinct and ascending (in a hash table: distinct) below each parent."""
    extent, rows, parents = around
    letter, numbers = levels.kind(level)
    if letter == "o":
        wrong = (crd <= -max(rows, 1)) | (crd >= max(extent, 1))
        if bool(wrong.any()):
            place = int(wrong.nonzero()[0])
            raise IndexBoundsError(
                f"crd[{number}][{place}] is {int(crd[place])}; expected {-max(rows, 1)} < offset < {max(extent, 1)}"
            )
        if bool((crd[1:] <= crd[:-1]).any()):
            raise FormatError(f"crd[{number}] (level {level}): offsets ascend")
        return
    if letter == "b":
        if bool((crd > 1).any()) or bool((crd < 0).any()):
            raise FormatError(f"crd[{number}] (level {level}): a bitmap holds zeros and ones")
        return
    most, least = (-(-extent // numbers[1]), 0) if letter == "k" else (extent, -1)
    wrong = (crd < least) | (crd >= most)
    if bool(wrong.any()):
        place = int(wrong.nonzero()[0])
        raise IndexBoundsError(
            f"crd[{number}][{place}] is {int(crd[place])}; expected {least} <= index < {most}"
            + (", -1 where a place holds nothing" if least else ", counted in blocks")
        )
    everyone = torch.arange(parents)
    row = everyone % max(rows, 1)
    found = levels.read(level, pos, crd, levels.Around(extent, rows, parents, row, everyone))
    parent, coord = found.parent, found.coord
    if letter == "h":
        order = torch.argsort(coord, stable=True)
        order = order[torch.argsort(parent[order], stable=True)]
        parent, coord = parent[order], coord[order]
    if bool(((parent[1:] == parent[:-1]) & (coord[1:] <= coord[:-1])).any()):
        what = "distinct" if letter == "h" else "distinct and ascending"
        raise FormatError(f"crd[{number}] (level {level}): coordinates below one parent are {what}")
    if letter == "h":
        assert pos is not None
        _table(number, pos.to(torch.int64), crd.to(torch.int64))


def _permuted(number: int, level: str, around: tuple[int, int, int], pos: Tensor, crd: Tensor) -> None:
    """Below each parent, crd is a permutation of coordinates that leaves each in its window, and pos its inverse."""
    extent, _, parents = around
    for name, given in (("pos", pos), ("crd", crd)):
        validate.bounds(f"{name}[{number}]", given, extent)
    (window,) = levels.kind(level).numbers
    everyone = torch.arange(extent).repeat(parents)
    first = torch.arange(parents).repeat_interleave(extent) * extent
    if bool((crd // window != everyone // window).any()):
        raise FormatError(f"crd[{number}] (level {level}): a coordinate is outside of its window of {window}")
    if bool((pos[first + crd] != everyone).any()):
        raise FormatError(
            f"pos[{number}] (level {level}): pos says where each coordinate stands in crd, which has every one once; "
            "convert another format with to_format"
        )


def _table(number: int, pos: Tensor, crd: Tensor) -> None:
    """Kernels look for a coordinate from the place of its hash on, around the end, up to a place that holds nothing."""
    length = pos[1:] - pos[:-1]
    if bool((length & (length - 1) != 0).any()):
        raise FormatError(f"pos[{number}] (level 'h'): tables have a power of two of places, or none")
    nothing = torch.zeros(crd.numel() + 1, dtype=torch.int64)
    torch.cumsum(crd < 0, 0, out=nothing[1:])
    if bool(((nothing[pos[1:]] == nothing[pos[:-1]]) & (length > 0)).any()):
        raise FormatError(f"crd[{number}] (level 'h'): a table is full; one place of it has to hold nothing, -1")
    place = (crd >= 0).nonzero().squeeze(1)
    table = torch.searchsorted(pos, place, right=True) - 1
    first = pos[table] + levels.hashed(crd[place], length[table])
    around = torch.where(first > place, nothing[pos[table + 1]] - nothing[pos[table]], 0)
    if bool((nothing[place] - nothing[first] + around != 0).any()):
        raise FormatError(
            f"crd[{number}] (level 'h'): a coordinate stands where it is not looked for, which is the first place that "
            "was free from its hash on; convert another format with to_format"
        )


def _order(format: Format, pos: Sequence[Tensor | None], crd: Sequence[Tensor | None]) -> None:
    """Coordinates ascend within each parent: strictly in an 's'; in a 'u' with its singletons, all of them together.

    Raises:
        FormatError: They do not.
    """
    tied = torch.empty(0, dtype=torch.bool)  # whether a coordinate and the one before it agree as far as was looked
    for level, (letter, level_pos, level_crd) in enumerate(zip(format.levels, pos, crd, strict=True)):
        if level_crd is None or letter not in "sucq":
            continue
        if level_pos is not None:  # a parent's first coordinate may be anything
            tied = torch.ones(level_crd.numel() + 1, dtype=torch.bool)
            tied[level_pos.to(torch.int64)] = False
            tied = tied[1:-1]
        before, here = level_crd[:-1], level_crd[1:]
        same = tied & (here == before)
        wrong = tied & (here < before)
        if letter in "sq":
            wrong |= same
        if bool(wrong.any()):
            place = int(wrong.nonzero()[0]) + 1
            coordinate, other = int(level_crd[place]), int(level_crd[place - 1])
            what = "is there twice" if coordinate == other else f"comes after {other}"
            raise FormatError(
                f"crd[{level}] (level {level}, {letter!r}), entry {place}: coordinate {coordinate} {what} below one "
                f"parent; coordinates of format {format} are sorted and distinct: use ls.from_coo, which sorts and "
                "reduces duplicates"
            )
        tied = same
