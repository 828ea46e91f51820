"""Level kinds: how long the arrays of one level are, and what they hold, whole arrays at a time.

The compiler has the same kinds, one file each in `libsparse/format`, which say what the arrays mean and
how they are made.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import torch
from torch import Tensor

_SPACES: Final = re.compile(r"\s*([(),])\s*")
_LEVEL: Final = re.compile(r"([a-z])(?:\((\d{1,9}(?:,\d{1,9})*)\))?")
_HASH: Final = -7046029254386353131  # 0x9E3779B97F4A7C15 as int64: Fibonacci hashing

PADDED: Final = "bhplok"  # kinds with places that hold nothing
FIXED: Final = "hplokw"  # kinds that depend on all of what is stored: they are laid out, from a level of another kind
LOCATED: Final = "dbw"  # kinds with a position for every coordinate
POS: Final = "suhplokw"  # kinds with an array of positions
FULL_BLOCKS: Final = "ok"  # kinds that store more than what was given
ARGUMENTS: Final = {"l": 1, "k": 2, "w": 1}  # numbers that a kind takes


class Kind(NamedTuple):
    """A level as a format spells it.

    Attributes:
        letter: The kind.
        numbers: Height of a slice, height and width of a block, or length of a window.
    """

    letter: str
    numbers: tuple[int, ...]


class Read(NamedTuple):
    """What is stored in one level.

    Attributes:
        parent: For each stored coordinate, the number of what it is below.
        coord: The coordinates.
        place: Their positions.
        size: How many positions there are.
    """

    parent: Tensor
    coord: Tensor
    place: Tensor
    size: int


class Around(NamedTuple):
    """What surrounds a level.

    Attributes:
        extent: The extent of the level.
        rows: The extent of the level above, 1 for the first.
        size: The number of positions of the level above.
        row: The coordinate in the level above of each entry.
        parent: The position in the level above of each entry.
    """

    extent: int
    rows: int
    size: int
    row: Tensor
    parent: Tensor


def split(letters: str) -> tuple[str, ...]:
    """The levels of a format's text, each with its numbers: `"dk(4,4)"` is `("d", "k(4,4)")`; () if it is malformed."""
    compact = _SPACES.sub(r"\1", letters)
    found = tuple(m.group(0) for m in _LEVEL.finditer(compact))
    return found if sum(map(len, found)) == len(compact) else ()


def kind(level: str) -> Kind:
    """The parts of a level's text."""
    return Kind(level[0], tuple(int(n) for n in level[2:-1].split(",")) if len(level) > 1 else ())


def read(level: str, pos: Tensor | None, crd: Tensor | None, around: Around) -> Read:
    """What a level stores below the given parents, in the order of a walk."""
    letter, numbers = kind(level)
    wide = None if pos is None else pos.to(torch.int64)
    return _READ[letter](wide, crd, around, *numbers)


def size(level: str, pos: Tensor | None, crd: Tensor | None, extent: int, parents: int) -> int:
    """How many positions a level has."""
    letter, numbers = kind(level)
    if letter in LOCATED:
        return parents * extent
    if letter in "po":
        assert pos is not None
        return int(pos[0]) * parents
    assert crd is not None
    return crd.numel() * numbers[0] * numbers[1] if letter == "k" else crd.numel()


def places(level: str, length: int, parents: int) -> int:
    """How many positions a level that is laid out has, whose `crd` has some length."""
    letter, numbers = kind(level)
    if letter == "o":
        return length * parents
    return length * numbers[0] * numbers[1] if letter == "k" else length


def positions(level: str, parents: int, rows: int, extent: int) -> int:
    """The length of a level's `pos`; `rows` is the extent of the level above."""
    letter, numbers = kind(level)
    if letter == "w":
        return parents * extent
    if letter in "po":
        return 1
    if letter == "l":
        return -(-parents // numbers[0]) + 1
    if letter == "k":
        return parents // max(rows, 1) * -(-rows // numbers[0]) + 1
    return parents + 1


def hashed(coord: Tensor, size: Tensor) -> Tensor:
    """Where coordinates hash to in tables of some sizes, powers of two above one."""
    bits = torch.log2(size.to(torch.float64)).to(torch.int64)
    return ((coord * _HASH) >> (64 - bits)) & (size - 1)


# Reading --------------------------------------------------------------------------------------------------------


def _ragged(start: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
    """The numbers from `start` on, as many as `lengths` says, and whose each is."""
    owner = torch.repeat_interleave(torch.arange(lengths.numel()), lengths)
    first = torch.cumsum(lengths, 0) - lengths
    return owner, start[owner] + torch.arange(owner.numel()) - first[owner]


def _read_dense(_pos: None, _crd: None, around: Around) -> Read:
    count = around.parent.numel()
    parent = torch.arange(count).repeat_interleave(around.extent)
    coord = torch.arange(around.extent).repeat(count)
    return Read(parent, coord, around.parent[parent] * around.extent + coord, around.size * around.extent)


def _read_sorted(_pos: Tensor, crd: Tensor, around: Around, _window: int) -> Read:
    found = _read_dense(None, None, around)
    return found._replace(coord=crd[found.place].to(torch.int64))


def _read_list(pos: Tensor, crd: Tensor, around: Around) -> Read:
    parent, place = _ragged(pos[around.parent], pos[around.parent + 1] - pos[around.parent])
    return Read(parent, crd[place].to(torch.int64), place, crd.numel())


def _read_single(_pos: None, crd: Tensor, around: Around) -> Read:
    return Read(torch.arange(around.parent.numel()), crd[around.parent].to(torch.int64), around.parent, crd.numel())


def _read_bitmap(_pos: None, crd: Tensor, around: Around) -> Read:
    return _kept(_read_dense(None, None, around), lambda r: crd[r.place] != 0)


def _read_hashed(pos: Tensor, crd: Tensor, around: Around) -> Read:
    return _kept(_read_list(pos, crd, around), lambda r: r.coord >= 0)


def _read_padded(pos: Tensor, crd: Tensor, around: Around) -> Read:
    count = around.parent.numel()
    parent, step = _ragged(torch.zeros(count, dtype=torch.int64), pos.expand(count))
    place = step * around.size + around.parent[parent]
    return _kept(Read(parent, crd[place].to(torch.int64), place, crd.numel()), lambda r: r.coord >= 0)


def _read_sliced(pos: Tensor, crd: Tensor, around: Around, height: int) -> Read:
    first = pos[around.parent // height]
    widths = (pos[around.parent // height + 1] - first) // height
    parent, step = _ragged(torch.zeros_like(widths), widths)
    place = (first + around.parent % height)[parent] + step * height
    return _kept(Read(parent, crd[place].to(torch.int64), place, crd.numel()), lambda r: r.coord >= 0)


def _read_offset(pos: Tensor, crd: Tensor, around: Around) -> Read:
    count = around.parent.numel()
    parent, diagonal = _ragged(torch.zeros(count, dtype=torch.int64), pos.expand(count))
    coord = around.row[parent] + crd[diagonal]
    made = Read(parent, coord, diagonal * around.size + around.parent[parent], crd.numel() * around.size)
    return _kept(made, lambda r: (r.coord >= 0) & (r.coord < around.extent))


def _block_row(around: Around, height: int) -> Tensor:
    return around.parent // max(around.rows, 1) * -(-around.rows // height) + around.row // height


def _read_blocked(pos: Tensor, crd: Tensor, around: Around, height: int, width: int) -> Read:
    row = _block_row(around, height)
    parent, step = _ragged(pos[row] * width, (pos[row + 1] - pos[row]) * width)
    block, inner = step // width, step % width
    place = (block * height + (around.row % height)[parent]) * width + inner
    made = Read(parent, crd[block].to(torch.int64) * width + inner, place, crd.numel() * height * width)
    return _kept(made, lambda r: r.coord < around.extent)


def _kept(found: Read, used: Callable[[Read], Tensor]) -> Read:
    keep = used(found)
    return Read(found.parent[keep], found.coord[keep], found.place[keep], found.size)


_READ: Final[dict[str, Callable[..., Read]]] = {
    "d": _read_dense,
    "w": _read_sorted,
    "s": _read_list,
    "u": _read_list,
    "c": _read_single,
    "q": _read_single,
    "b": _read_bitmap,
    "h": _read_hashed,
    "p": _read_padded,
    "l": _read_sliced,
    "o": _read_offset,
    "k": _read_blocked,
}
