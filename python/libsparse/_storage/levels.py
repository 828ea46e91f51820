"""Level kinds: lengths and contents of the arrays of a level, whole arrays at a time.

Nothing here knows a kind by name. The compiler describes each (`libsparse/format/describe.go`), and the build writes
the descriptions to `formats.json` beside this file.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor

from libsparse._lang.formula import compiled
from libsparse._lang.records import NamedTuple

_SPACES: Final = r"\s*([(),])\s*"  # re compiles it when it is first used
_FORMULAS: Final = [
    "lo",
    "hi",
    "coord",
    "place",
    "valid",
    "size",
    "pos_len",
    "crd_len",
    "crd_lo",
    "crd_hi",
    "locate",
    "first",
]
_LEVEL: Final = r"([a-z])(?:\((\d{1,9}(?:,\d{1,9})*)\))?"


class Around(NamedTuple):
    """The surroundings of a level.

    Attributes:
        extent: The extent of the level.
        rows: The extent of the level above, 1 for the first.
        size: The number of positions of the level above.
        row: The coordinate in the level above of each parent.
        parent: The positions in the level above that are read below of.
    """

    extent: int
    rows: int
    size: int
    row: Tensor
    parent: Tensor


class Walk(NamedTuple):
    """The stored coordinates of one level.

    Attributes:
        parent: For each stored coordinate, the number of the parent it is below.
        step: The steps that found them.
        coord: The coordinates.
        place: Their positions.
    """

    parent: Tensor
    step: Tensor
    coord: Tensor
    place: Tensor


class Invariant(NamedTuple):
    """A condition on the arrays of a level.

    Attributes:
        of: `pos` for each element of pos, `steps` for each step of a walk.
        holds: The condition.
        text: The condition in words.
    """

    of: str
    holds: Callable[[Mapping[str, Any]], Any]
    text: str


class Level:
    """One level of a format: its kind with its numbers. Levels with the same text are one object.

    Attributes:
        text: The level as a format spells it, such as `k(4,4)`.
        letter: The letter of the kind.
        numbers: Height of a slice, height and width of a block, or length of a window.
        name: The kind in a few words.
        arrays: The contents of the arrays, in words.
        source: The source level of a conversion-only level, "" for others.
        distinct: The kind that a level of a kind that isn't unique is where no singleton follows, "" for others.
        own: The dtype of the elements of crd where the level chooses it: bytes of a bitmap, 16-bit coordinates.
        most: The largest extent that the level's mode may have; None for any.
        lists: Whether it stores the coordinates of each parent, each once, in order, and nothing else, as CSR does.
        is_list: The same, where the elements of crd have the dtype of pos.
        grouped: Whether places of one step of neighbouring parents stand side by side, as in ELL and SELL.
        full, ordered, unique, branchless, locate, probe, padded, filling, row_relative, conversion_only, has_pos,
            has_crd, segmented: The properties that `libsparse/format/level.go` defines.
        invariants: Further conditions on its arrays.
    """

    text: str
    letter: str
    numbers: tuple[int, ...]
    name: str
    arrays: str
    source: str
    distinct: str
    own: torch.dtype | None
    most: int | None
    lists: bool
    is_list: bool
    grouped: bool
    full: bool
    ordered: bool
    unique: bool
    branchless: bool
    locate: bool
    probe: bool
    padded: bool
    filling: bool
    row_relative: bool
    conversion_only: bool
    has_pos: bool
    has_crd: bool
    segmented: bool
    invariants: tuple[Invariant, ...]

    def __init__(self, text: str, kind: dict[str, Any], numbers: tuple[int, ...]) -> None:
        """Bind a kind's description to numbers."""
        self.text, self.letter, self.numbers = text, text[0], numbers
        self.name, self.arrays = kind["name"], kind["arrays"]
        self.own, self.most = _DTYPES[kind.get("crd")], kind.get("most")
        self.source, self.distinct = kind.get("source", ""), kind.get("distinct", "")
        self.grouped = kind.get("grouped", False)
        self.__dict__.update(kind["props"])
        self.lists = self.segmented and self.ordered and self.unique and not self.padded
        self.is_list = self.lists and self.own is None
        self._formulas = {name: compiled(kind[name]) for name in _FORMULAS if kind[name] is not None}
        self._names = {f"number{n}": number for n, number in enumerate(numbers)}
        self.invariants = tuple(
            Invariant(i["of"], compiled(i["holds"]), i["text"].format(**self._names)) for i in kind["invariants"] or ()
        )

    def names(self, pos: Tensor | None, crd: Tensor | None, extent: int, parents: int) -> dict[str, Any]:
        """The values of the names in formulas of lengths and ranges."""
        length = 0 if crd is None else crd.numel()
        return {**self._names, "pos": pos, "crd": crd, "crd_len": length, "extent": extent, "parents": parents}

    def formula(self, name: str, names: Mapping[str, Any]) -> Any:
        """The value of one of the kind's formulas, such as `pos_len`."""
        return self._formulas[name](names)

    def size(self, pos: Tensor | None, crd: Tensor | None, extent: int, parents: int) -> int:
        """How many positions the level has."""
        if self.is_list and crd is not None:
            return crd.numel()
        return int(self._formulas["size"](self.names(pos, crd, extent, parents)))

    def walk(self, pos: Tensor | None, crd: Tensor | None, around: Around) -> Walk:
        """The stored coordinates below the given parents, in the order of a walk."""
        names: dict[str, Any] = {
            **self._names,
            "pos": pos,
            "crd": crd,
            "extent": around.extent,
            "rows": around.rows,
            "parents": around.size,
            "parent": around.parent,
            "row": around.row,
            "above": around.parent // max(around.rows, 1),
        }
        count = around.parent.numel()
        lo, hi = (_each(self._formulas[name](names), count) for name in ("lo", "hi"))
        owner, step = _ragged(lo, hi - lo)
        names.update(step=step, parent=around.parent[owner], row=around.row[owner], above=names["above"][owner])
        coord = self._formulas["coord"](names) if self.has_crd else step - lo[owner]
        found = Walk(owner, step, coord, self._formulas["place"](names))
        if "valid" not in self._formulas:
            return found
        keep = self._formulas["valid"](names)
        if bool(keep.all()):  # as of blocks that all lie inside
            return found
        kept = keep.nonzero().flatten()
        return Walk(*(array.index_select(0, kept) for array in found))


def are_whole(kinds: Sequence[Level], extents: Sequence[int]) -> bool:
    """Whether every value of blocks below dense levels is an entry, since the extents are multiples of theirs."""
    if kinds[-1].letter != "k" or any(level.letter != "d" for level in kinds[:-1]):
        return False
    height, width = kinds[-1].numbers
    return extents[-2] % height == 0 and extents[-1] % width == 0


def in_blocks(
    kinds: Sequence[Level], extents: Sequence[int], pos: Tensor | None, crd: Tensor | None
) -> tuple[list[Tensor], Tensor | None] | None:
    """The coordinates of blocks below dense levels in the order of their values, by level; None of other levels.

    Args:
        kinds: The levels.
        extents: The extent of each.
        pos: The positions of the last level.
        crd: The coordinates of the last level.

    Returns:
        The coordinates, and their places among the values, None where all values have coordinates.
    """
    if kinds[-1].letter != "k" or any(level.letter != "d" for level in kinds[:-1]) or pos is None or crd is None:
        return None
    (height, width), extent = kinds[-1].numbers, extents[-2]
    stripes = -(-extent // height)  # rows of blocks, below each place above
    stripe = torch.repeat_interleave(torch.arange(pos.numel() - 1, device="cpu"), pos.diff())
    outer = stripe // max(stripes, 1)
    shape = (crd.numel(), height, width)
    row = ((stripe - outer * stripes) * height)[:, None, None] + torch.arange(height, device="cpu")[:, None]
    column = (crd.to(torch.int64) * width)[:, None, None] + torch.arange(width, device="cpu")
    coords = [row.expand(shape).reshape(-1), column.expand(shape).reshape(-1)]
    for each in reversed(extents[:-2]):
        coords.insert(0, (outer % max(each, 1))[:, None, None].expand(shape).reshape(-1))
        outer = outer // max(each, 1)
    if are_whole(kinds, extents):
        return coords, None
    places = ((coords[-2] < extent) & (coords[-1] < extents[-1])).nonzero().flatten()
    return [array.index_select(0, places) for array in coords], places


def _each(value: int | Tensor, count: int) -> Tensor:
    return value if isinstance(value, Tensor) else torch.tensor(value, device="cpu").expand(count)


def _ragged(start: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers from `start` on, as many as `lengths` says, behind whose each is."""
    owner = torch.repeat_interleave(torch.arange(lengths.numel(), device="cpu"), lengths)
    first = torch.cumsum(lengths, 0) - lengths
    return owner, (start - first)[owner] + torch.arange(owner.numel(), device="cpu")


_DTYPES = {None: None, "u8": torch.uint8, "i16": torch.int16}


def _read() -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    try:
        described = json.loads(Path(__file__).with_name("formats.json").read_bytes())
    except NotADirectoryError as error:
        raise ImportError(
            "libsparse can't be imported from an archive, since the system loads its compiler and kernels as files: "
            "install the wheel with pip, or unpack the archive"
        ) from error
    return {kind["letter"]: kind for kind in described["levels"]}, described["names"]


KINDS, NAMES = _read()


def split(letters: str) -> tuple[str, ...]:
    """The levels of a format's text, each with its numbers: `"dk(4,4)"` is `("d", "k(4,4)")`; () if it is malformed."""
    compact = re.sub(_SPACES, r"\1", letters)
    found = tuple(m.group(0) for m in re.finditer(_LEVEL, compact))
    return found if sum(map(len, found)) == len(compact) else ()


@functools.cache
def parsed(text: str) -> Level:
    """The level that a format spells as `text`.

    Raises:
        KeyError: There is no such kind.
        ValueError: The kind takes another number of numbers.
    """
    kind = KINDS[text[0]]
    numbers = tuple(int(n) for n in text[2:-1].split(",")) if len(text) > 1 else ()
    if len(numbers) != kind["numbers"]:
        raise ValueError(text)
    return Level(text, kind, numbers)


def listed() -> str:
    """All kinds of levels in words, for messages."""
    return ", ".join(f"{letter} ({kind['name']})" for letter, kind in KINDS.items())
