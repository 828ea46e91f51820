"""Checks of the arrays of levels: lengths always, since kernels trust them, contents on request.

Everything follows from the properties and formulas of the kinds.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError, ShapeError
from libsparse._lang.records import NamedTuple

from . import levels, sorting, validate
from .format import Format
from .levels import Level


class Names(NamedTuple):
    """What messages call the arrays of a tensor: as the user passed them.

    Attributes:
        pos: The name of the positions; `pos[level]` by default.
        crd: The name of the coordinates; `crd[level]` by default.
        parent: What a coordinate of the level above stands for.
    """

    pos: str = ""
    crd: str = ""
    parent: str = "parent"

    def array(self, kind: str, level: int) -> str:
        """The name of the array of a kind, `pos` or `crd`, that a level has."""
        return getattr(self, kind) or f"{kind}[{level}]"

    def text(self, text: str) -> str:
        """A sentence about `pos`, `crd` and parents in these names."""
        for word, name in (("pos", self.pos), ("crd", self.crd), ("parent", self.parent)):
            text = re.sub(rf"\b{word}\b", name or word, text)
        return text


class _Place(NamedTuple):
    """A level with its arrays and surroundings."""

    number: int
    level: Level
    pos: Tensor | None
    crd: Tensor | None
    extent: int
    rows: int
    parents: int
    called: Names
    owner: str

    def names(self) -> dict[str, Any]:
        """The values of names in formulas."""
        names = self.level.names(self.pos, self.crd, self.extent, self.parents)
        names["rows"] = self.rows
        return names

    def wrong(self, array: str, why: str) -> FormatError:
        """The error for an array with wrong contents."""
        name, level = self.called.array(array, self.number), self.level
        return FormatError(f"{name} (level {level.text}, {level.name}): {self.called.text(why)} ({self.owner})")


def check(
    format: Format,
    shape: Sequence[int],
    pos: Sequence[Tensor | None],
    crd: Sequence[Tensor | None],
    contents: bool,
    called: Names = Names(),  # noqa: B008  # immutable
) -> None:
    """The arrays of every level are those of `format`; with `contents` their contents are right, too.

    Raises:
        ShapeError: A length is wrong.
        FormatError: Positions or order are wrong, an array is missing, or the format isn't for such extents.
        IndexBoundsError: A coordinate is out of range.
    """
    if not len(pos) == len(crd) == len(format.levels):
        raise ShapeError(
            f"format {format} has {len(format.levels)} levels; got {len(pos)} pos and {len(crd)} crd arrays "
            "(None where a level has none)"
        )
    extents = [shape[mode] for mode in format.order]
    format.check_extents(shape)
    if _are_right(format, extents, pos, crd, contents):
        return
    parents, rows = 1, 1
    owner = f"shape {tuple(shape)}, format {format}"
    for number, (level, extent) in enumerate(zip(format.kinds, extents, strict=True)):
        place = _Place(number, level, pos[number], crd[number], extent, rows, parents, called, owner)
        names = place.names()
        if level.has_pos or level.has_crd or place.pos is not None or place.crd is not None:
            _lengths(place, names, format, contents)
            if contents:
                _contents(place, names)
        parents, rows = level.formula("size", names), extent
    if contents:
        _order(format, pos, crd, called, owner)


def _are_right(
    format: Format,
    extents: Sequence[int],
    pos: Sequence[Tensor | None],
    crd: Sequence[Tensor | None],
    contents: bool,
) -> bool:
    """Whether dense and compressed levels, and singletons below distinct coordinates, are right, in one pass each.

    False also where that can't be said: the checks that follow say what is wrong.
    """
    parents = 1
    for level, extent, level_pos, level_crd in zip(format.kinds, extents, pos, crd, strict=True):
        if level_crd is None:
            if level.has_pos or level.has_crd or level_pos is not None:
                return False
            parents *= extent
            continue
        count = level_crd.numel()
        if level_pos is None:
            right = level.branchless and count == parents  # the only coordinate of each parent
            if not right or (contents and not validate.within(level_crd, extent)):
                return False
            continue
        listed = level.segmented and level.ordered and not level.padded and level.own is None
        if not listed or level_pos.dtype != level_crd.dtype or level_pos.numel() != parents + 1:
            return False
        if not contents and int(level_pos[parents]) != count:
            return False
        if contents and not sorting.rows_are_right(level_pos, level_crd, parents, extent):
            return False
        parents = count
    return True


def _lengths(place: _Place, names: dict[str, Any], format: Format, contents: bool) -> None:
    """The arrays are there, and as long as the kind says."""
    number, level, pos, crd = place[:4]
    if (pos is None) is level.has_pos or (crd is None) is level.has_crd:
        owned = [name for name, has in (("pos", level.has_pos), ("crd", level.has_crd)) if has]
        raise FormatError(
            f"level {number} ({level.text!r}, {level.name}) of format {format} has "
            f"{' and '.join(place.called.array(kind, number) for kind in owned) or 'no arrays'}; got "
            f"{_given('pos', place)} and {_given('crd', place)}: pass None for what a level doesn't have"
        )
    if pos is not None:
        length = level.formula("pos_len", names)
        if level.segmented and contents:
            assert crd is not None
            validate.positions(place.called.array("pos", number), pos, length - 1, crd.numel(), place.owner)
        elif pos.numel() != length:
            raise _length(place, "pos", pos, length)
    for invariant in level.invariants:  # kernels trust these as they trust lengths
        if invariant.of == "pos":
            _require(place, "pos", invariant.holds({**names, "element": pos}), invariant.text)
    if crd is not None:
        length = level.formula("crd_len", names)
        if crd.numel() != length:
            raise _length(place, "crd", crd, length)


def _length(place: _Place, array: str, given: Tensor, expected: int) -> ShapeError:
    """The error for an array of another length."""
    called = place.called
    return ShapeError(
        f"{called.array(array, place.number)} has {given.numel()} elements; expected {expected}: "
        f"{called.text(place.level.arrays)} ({place.owner})"
    )


def _given(kind: str, place: _Place) -> str:
    """Whether an array was passed, in words."""
    array = place.pos if kind == "pos" else place.crd
    return f"{'no ' if array is None else ''}{place.called.array(kind, place.number)}"


def _contents(place: _Place, names: dict[str, Any]) -> None:
    """The contents of the arrays fit the kind, but for the order of levels that others may follow in one list."""
    number, level, pos, crd = place[:4]
    if crd is not None:
        lo, hi = level.formula("crd_lo", names), level.formula("crd_hi", names)
        if not validate.within(crd, hi, lo):  # before the words for an error, which take as long
            validate.bounds(place.called.array("crd", number), crd, hi, lo, _meaning(place))
    if pos is not None and level.locate:
        validate.bounds(place.called.array("pos", number), pos, place.extent, meaning=_meaning(place))
    if _listed(level) or not level.has_crd:
        return
    if level.letter == "k" and pos is not None and crd is not None and pos.dtype == crd.dtype:
        rows, columns = pos.numel() - 1, level.formula("crd_hi", names)
        if sorting.rows_are_right(pos, crd, rows, columns):  # coordinates in blocks ascend as the blocks do
            return
    everyone = torch.arange(place.parents, device="cpu")
    row = everyone % max(place.rows, 1)
    around = levels.Around(place.extent, place.rows, place.parents, row, everyone)
    found = level.walk(pos, crd, around)
    steps = {**names, "parent": found.parent, "step": found.step, "coord": found.coord}
    for invariant in level.invariants:
        if invariant.of == "steps":
            _require(place, "crd", invariant.holds(steps), invariant.text)
    if pos is not None and level.locate:
        _require(place, "pos", level.formula("locate", steps) == found.place, _INVERSE)
    elif level.unique:
        _distinct(place, found)
    if level.probe:
        _reachable(place, around, found)


def _meaning(place: _Place) -> str:
    """What the arrays of a level hold, and of which tensor."""
    return f"{place.called.text(place.level.arrays)} ({place.owner})"


_INVERSE = (
    "pos says where each coordinate stands in crd, which has every one once; convert another format with to_format"
)


def _listed(level: Level) -> bool:
    """Whether a level is a list of coordinates, of which several may be one list of tuples: `_order` checks these."""
    return level.has_crd and not level.locate and not level.conversion_only


def _require(place: _Place, array: str, holds: Tensor, text: str) -> None:
    if not bool(holds.all()):
        raise place.wrong(array, text)


def _distinct(place: _Place, found: levels.Walk) -> None:
    """Below one parent, coordinates ascend where the kind is ordered, and differ where it isn't."""
    parent, coord = found.parent, found.coord
    if not place.level.ordered:
        order = torch.argsort(coord, stable=True)
        order = order[torch.argsort(parent[order], stable=True)]
        parent, coord = parent[order], coord[order]
    ascending = (parent[1:] != parent[:-1]) | (coord[1:] > coord[:-1])
    wanted = "distinct and ascending" if place.level.ordered else "distinct"
    _require(place, "crd", ascending, f"coordinates below one parent are {wanted}")


def _reachable(place: _Place, around: levels.Around, found: levels.Walk) -> None:
    """Kernels find every coordinate of a hash table from where they begin to look, and an end where there is none."""
    level, crd = place.level, place.crd
    assert crd is not None
    names = {**place.names(), "parent": around.parent}
    lo, hi = level.formula("lo", names), level.formula("hi", names)
    length, used = hi - lo, torch.bincount(found.parent, minlength=place.parents)
    _require(place, "pos", length & (length - 1) == 0, "tables have a power of two of places, or none")
    free = (length == 0) | (used < length)
    _require(place, "crd", free, "a table is full; one place of it has to hold nothing, -1")
    nothing = torch.zeros(crd.numel() + 1, dtype=torch.int64, device="cpu")  # how many places before each hold nothing
    torch.cumsum(crd < 0, 0, out=nothing[1:])
    lo, hi, at = lo[found.parent], hi[found.parent], found.place
    first = level.formula("first", {"lo": lo, "hi": hi, "coord": found.coord})
    whole = torch.where(first > at, nothing[hi] - nothing[lo], 0)  # of a search that goes around the end
    _require(
        place,
        "crd",
        nothing[at] - nothing[first] + whole == 0,
        "a coordinate stands where it is not looked for, which is the first place that was free from its hash on; "
        "convert another format with to_format",
    )


def _order(
    format: Format, pos: Sequence[Tensor | None], crd: Sequence[Tensor | None], called: Names, owner: str
) -> None:
    """Coordinates of lists ascend within each parent: those of a level that is not unique together with its singletons.

    Raises:
        FormatError: They do not.
    """
    tied: Tensor | None = None  # whether a coordinate and the one before it agree as far as was looked; None of no pair
    for number, (level, level_pos, level_crd) in enumerate(zip(format.kinds, pos, crd, strict=True)):
        if level_crd is None or not _listed(level):
            continue
        before, here = level_crd[:-1], level_crd[1:]
        if level_pos is not None:  # a parent's first coordinate may be anything
            if bool((here > before).all()):
                tied = None
                continue
            tied = torch.ones(level_crd.numel() + 1, dtype=torch.bool, device="cpu")
            tied.index_fill_(0, level_pos.to(torch.int64), False)
            tied = tied[1:-1]
        if tied is None:
            continue
        wrong = tied & (here <= before if level.unique else here < before)
        if bool(wrong.any()):
            entry = int(wrong.nonzero()[0]) + 1
            coordinate, other = int(level_crd[entry]), int(level_crd[entry - 1])
            fault = "is there twice" if coordinate == other else f"comes after {other}"
            raise FormatError(
                f"{called.array('crd', number)} (level {number}, {level.text!r}), entry {entry}: coordinate "
                f"{coordinate} {fault} below one {called.parent} ({owner}); coordinates of format {format} are sorted "
                "and distinct: use ls.from_coo, which sorts and reduces duplicates"
            )
        if number + 1 < len(format.levels):
            tied = tied & (here == before)
