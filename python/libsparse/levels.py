"""Level kinds: how the arrays of one level are built from coordinates, and read back; whole arrays at a time.

The compiler has the same kinds, one file each in `libsparse/format`, which say what the arrays mean.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, NamedTuple

import torch
from torch import Tensor

from . import memory

_WIDEST: Final = 8  # bytes of a position, or of a value
_SPACES: Final = re.compile(r"\s*([(),])\s*")
_LEVEL: Final = re.compile(r"([a-z])(?:\((\d{1,9}(?:,\d{1,9})*)\))?")
_HASH: Final = -7046029254386353131  # 0x9E3779B97F4A7C15 as int64: Fibonacci hashing

PADDED: Final = "bhplok"  # kinds with places that hold nothing
FIXED: Final = "hplok"  # kinds that kernels read and don't write
POS: Final = "suhplok"  # kinds with an array of positions
FULL_BLOCKS: Final = "ok"  # kinds that store more than what was given
ARGUMENTS: Final = {"l": 1, "k": 2}  # numbers that a kind takes


class Kind(NamedTuple):
    """A level as a format spells it.

    Attributes:
        letter: The kind.
        numbers: Height of a slice, or height and width of a block.
    """

    letter: str
    numbers: tuple[int, ...]


class Built(NamedTuple):
    """One level of concrete coordinates.

    Attributes:
        pos: Positions, None where the kind has none.
        crd: Coordinates, None where the kind has none.
        place: The position of each coordinate.
        size: How many positions there are.
    """

    pos: Tensor | None
    crd: Tensor | None
    place: Tensor
    size: int


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
        scattered: Whether entries may be in another order than their parents.
        owner: What messages call the level.
        advice: What to do where it takes more places than memory has.
    """

    extent: int
    rows: int
    size: int
    row: Tensor
    parent: Tensor
    scattered: bool = True
    owner: str = "a level"
    advice: str = ""

    def room(self, count: int) -> int:
        """`count`, if memory could hold as many places."""
        memory.check(count, _WIDEST, f"the places of {self.owner}", self.advice)
        return count


def split(letters: str) -> tuple[str, ...]:
    """The levels of a format's text, each with its numbers: `"dk(4,4)"` is `("d", "k(4,4)")`; () if it is malformed."""
    compact = _SPACES.sub(r"\1", letters)
    found = tuple(m.group(0) for m in _LEVEL.finditer(compact))
    return found if sum(map(len, found)) == len(compact) else ()


def kind(level: str) -> Kind:
    """The parts of a level's text."""
    return Kind(level[0], tuple(int(n) for n in level[2:-1].split(",")) if len(level) > 1 else ())


def build(level: str, coord: Tensor, around: Around) -> Built:
    """The arrays of a level for the coordinates below each parent, which are ascending, and distinct in unique kinds.

    Args:
        level: The level as a format spells it.
        coord: The coordinate of each entry; entries with the same parent stand side by side.
        around: Its surroundings.

    Raises:
        FormatError: There are more places than memory could hold.
    """
    letter, numbers = kind(level)
    return _BUILD[letter](coord, around, *numbers)


def read(level: str, pos: Tensor | None, crd: Tensor | None, around: Around) -> Read:
    """What a level stores below the given parents, in the order of a walk."""
    letter, numbers = kind(level)
    wide = None if pos is None else pos.to(torch.int64)
    return _READ[letter](wide, crd, around, *numbers)


def size(level: str, pos: Tensor | None, crd: Tensor | None, extent: int, parents: int) -> int:
    """How many positions a level has."""
    letter, numbers = kind(level)
    if letter in "db":
        return parents * extent
    if letter in "po":
        assert pos is not None
        return int(pos[0]) * parents
    assert crd is not None
    return crd.numel() * numbers[0] * numbers[1] if letter == "k" else crd.numel()


def places(level: str, length: int, parents: int) -> int:
    """How many positions a level of a kind in FIXED has, whose `crd` has some length."""
    letter, numbers = kind(level)
    if letter == "o":
        return length * parents
    return length * numbers[0] * numbers[1] if letter == "k" else length


def positions(level: str, parents: int, rows: int) -> int:
    """The length of a level's `pos`; `rows` is the extent of the level above."""
    letter, numbers = kind(level)
    if letter in "po":
        return 1
    if letter == "l":
        return -(-parents // numbers[0]) + 1
    if letter == "k":
        return parents // max(rows, 1) * -(-rows // numbers[0]) + 1
    return parents + 1


# Building -------------------------------------------------------------------------------------------------------


def _rank(parent: Tensor) -> Tensor:
    """For entries with equal parents side by side, the number of each among those of its parent."""
    count = parent.numel()
    numbers = torch.arange(count)
    first = torch.ones(count, dtype=torch.bool)
    first[1:] = parent[1:] != parent[:-1]
    return numbers - torch.cummax(torch.where(first, numbers, 0), 0).values if count else numbers


def _starts(lengths: Tensor) -> Tensor:
    pos = torch.zeros(lengths.numel() + 1, dtype=torch.int64)
    pos[1:] = torch.cumsum(lengths, 0)
    return pos


def _crd(count: int, place: Tensor, coord: Tensor) -> Tensor:
    return torch.full((count,), -1, dtype=torch.int64).index_put_((place,), coord)


def _build_list(coord: Tensor, around: Around) -> Built:
    pos = _starts(torch.bincount(around.parent, minlength=around.size))
    if not around.scattered:
        return Built(pos, coord, torch.arange(coord.numel()), coord.numel())
    place = pos[around.parent] + _rank(around.parent)
    return Built(pos, torch.empty_like(coord).index_put_((place,), coord), place, coord.numel())


def _build_single(coord: Tensor, around: Around) -> Built:
    if not around.scattered:
        return Built(None, coord, around.parent, coord.numel())
    return Built(None, torch.empty_like(coord).index_put_((around.parent,), coord), around.parent, coord.numel())


def _build_dense(coord: Tensor, around: Around) -> Built:
    return Built(None, None, around.parent * around.extent + coord, around.room(around.size * around.extent))


def _build_bitmap(coord: Tensor, around: Around) -> Built:
    place, count = around.parent * around.extent + coord, around.room(around.size * around.extent)
    return Built(None, torch.zeros(count, dtype=torch.uint8).index_fill_(0, place, 1), place, count)


def _build_padded(coord: Tensor, around: Around) -> Built:
    step = _rank(around.parent)
    width = int(step.max()) + 1 if step.numel() else 0
    place, count = step * around.size + around.parent, around.room(width * around.size)
    return Built(torch.tensor([width]), _crd(count, place, coord), place, count)


def _build_sliced(coord: Tensor, around: Around, height: int) -> Built:
    slices = -(-around.size // height)
    lengths = torch.zeros(slices * height, dtype=torch.int64)
    lengths[: around.size] = torch.bincount(around.parent, minlength=around.size)
    widths = lengths.reshape(slices, height).amax(1) if slices else lengths
    pos = _starts(widths * height)
    around.room(int(pos[-1]))
    place = pos[around.parent // height] + _rank(around.parent) * height + around.parent % height
    return Built(pos, _crd(int(pos[-1]), place, coord), place, int(pos[-1]))


def _build_offset(coord: Tensor, around: Around) -> Built:
    offsets, diagonal = torch.unique(coord - around.row, sorted=True, return_inverse=True)
    place, count = diagonal * around.size + around.parent, around.room(offsets.numel() * around.size)
    return Built(torch.tensor([offsets.numel()]), offsets, place, count)


def _block_row(around: Around, height: int) -> Tensor:
    return around.parent // max(around.rows, 1) * -(-around.rows // height) + around.row // height


def _build_blocked(coord: Tensor, around: Around, height: int, width: int) -> Built:
    across = max(-(-around.extent // width), 1)
    rows = around.size // max(around.rows, 1) * -(-around.rows // height)
    keys, block = torch.unique(_block_row(around, height) * across + coord // width, sorted=True, return_inverse=True)
    pos = _starts(torch.bincount(keys // across, minlength=rows))
    place = (block * height + around.row % height) * width + coord % width
    return Built(pos, keys % across, place, around.room(keys.numel() * height * width))


def hashed(coord: Tensor, size: Tensor) -> Tensor:
    """Where coordinates hash to in tables of some sizes, powers of two above one."""
    bits = torch.log2(size.to(torch.float64)).to(torch.int64)
    return ((coord * _HASH) >> (64 - bits)) & (size - 1)


def _build_hashed(coord: Tensor, around: Around) -> Built:
    lengths = torch.bincount(around.parent, minlength=around.size)
    bits = torch.ceil(torch.log2((2 * lengths).clamp(min=1).to(torch.float64))).to(torch.int64)
    pos = _starts(torch.where(lengths > 0, 1 << bits, 0))
    crd = torch.full((int(pos[-1]),), -1, dtype=torch.int64)
    place = torch.empty_like(coord)
    start, mask = pos[around.parent], (1 << bits[around.parent]) - 1
    shift = 64 - bits[around.parent]
    at = ((coord * _HASH) >> shift) & mask
    left = torch.arange(coord.numel())
    while left.numel():  # each round places the last comer at every free place that is wanted
        wanted = start[left] + at[left]
        free = crd[wanted] < 0
        crd[wanted[free]] = coord[left[free]]
        won = free & (crd[wanted] == coord[left])
        place[left[won]] = wanted[won]
        left = left[~won]
        at[left] = (at[left] + 1) & mask[left]
    return Built(pos, crd, place, crd.numel())


_BUILD: Final[dict[str, Callable[..., Built]]] = {
    "d": _build_dense,
    "s": _build_list,
    "u": _build_list,
    "c": _build_single,
    "q": _build_single,
    "b": _build_bitmap,
    "p": _build_padded,
    "l": _build_sliced,
    "o": _build_offset,
    "k": _build_blocked,
    "h": _build_hashed,
}


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
