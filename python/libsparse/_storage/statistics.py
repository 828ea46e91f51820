"""Statistics of a pattern: how its entries are spread. Each is computed when it is first read, once for a pattern.

No call of a kernel waits for them, but for `stored`, and for `scattered`, `uneven` and `ragged`, of samples: kernels
divide their work by the positions themselves.
"""

from __future__ import annotations

import operator
from array import array
from collections.abc import Sequence
from ctypes import string_at

import torch
from torch import Tensor

from libsparse._lang.records import cached_property

from . import memory, sorting
from .format import Format
from .levels import Level

_BLOCK = 4
FEW = 1 << 12  # entries up to which how they are spread hardly matters
_RUNS, _RUN = 8, 17  # how many runs of neighbouring entries a sample has, and how many entries each
_NEIGHBOURS = 0.25  # the share of entries beside the one before from which on processors guess what is read next
_BELOW = 0.6  # the same for entries of which rows just above have the column before, as on grids
_ROWS = 1 << 15  # rows up to which a processor learns in some ten calls how long each is
_SHORT, _LONG = 7, 24  # mean entries of rows between which it takes long that ends of rows are not foreseen
RAGGED_ROWS = 1 << 12  # rows up to which processors learn within some hundred calls how many entries each has
_VECTOR = 4  # entries that are added at once
_ALIKE = 0.5  # the share of neighbouring rows of equally many vectors from which on processors foresee their ends
_MERGED = 5  # mean entries of two rows from which on it matters how they are merged
_MERGES, _STEPS = 8, 64  # runs of rows that a sample of a merge has, and steps of each
# The share of surprises up to which branches in a merge take less time than what has none, also where entries have
_SURPRISES, _MOST_SURPRISES = 0.15, 0.3  # no neighbours; and where they have
_WINDOW = 32  # how many entries above are looked at, at most
_LANES = 8  # rows that are summed at once in slices
_GROUPS = 64  # of as many rows, which a sample has
# Heights and widths of blocks, and the time for an element of one beside its part of what the block's rows load
# together (measured: 64 columns, five matrices: 0.4 to 0.7).
_SIDES = (2, 2), (3, 3), (4, 4), (6, 6), (8, 8), (2, 4), (2, 8), (4, 8), (8, 4), (16, 4)
_BEGUN = 0.5
_HALF = 0.55  # how full blocks of 2 x 2 or 3 x 3 are at least where larger ones are looked at
_STRIP = 48  # rows of a sample for blocks, a multiple of heights
_STRIPS, _READ = 16, 1 << 12  # of as many rows, and about how many entries are looked at
_ADJACENT = 0.75  # the share of their steps at which columns follow each other, from which on a test for that pays


def _dense(level: Level) -> bool:
    return level.full and level.ordered


def _alike(begins: Tensor, rows: int, vector: int) -> int:
    """Of a sample of rows, how many have as many vectors of so many entries as the row before."""
    at, size, runs, run = memory.address(begins), begins.element_size(), 2 * _RUNS, _RUN - 1
    in_c = sorting.in_c()
    if in_c is not None:
        return in_c.alike_rows(at, size == 8, rows, runs, run, vector)  # type: ignore[no-any-return]
    alike = 0
    for n in range(runs):
        ends = array("iq"[size == 8], string_at(at + n * (rows // runs) * size, (run + 2) * size))
        vectors = [-(-length // vector) for length in map(operator.sub, ends[1:], ends)]
        alike += sum(map(operator.eq, vectors[1:], vectors))
    return alike


def _neighbours(coordinates: Tensor, above: int) -> tuple[int, int]:
    """Of a sample of entries, how many stand beside the one before, and how many have the column before near above."""
    at, size, count = memory.address(coordinates), coordinates.element_size(), coordinates.numel()
    in_c = sorting.in_c()
    if in_c is not None and size > 2:
        return in_c.neighbours(at, size == 8, count, above, _RUNS, _RUN)  # type: ignore[no-any-return]
    # Torch's operators would take several times as long, most of all the first time.
    beside = below = 0
    for n in range(_RUNS):
        window = array(
            {2: "h", 4: "i", 8: "q"}[size], string_at(at + n * (count // _RUNS) * size, (above + _RUN) * size)
        )
        near, run = set(window), window[above:]
        below += sum([coordinate - 1 in near for coordinate in run])
        beside += list(map(operator.sub, run[1:], run)).count(1)
    return beside, below


def places(lengths: Tensor, height: int, window: int = 1) -> int:
    """The places of slices of rows of these lengths, which are sorted within windows where those are larger than 1."""
    if window > 1:
        lengths = _cut(lengths, window).sort(1, descending=True).values.reshape(-1)
    return height * int(_cut(lengths, height).amax(1).sum())


def _cut(lengths: Tensor, height: int) -> Tensor:
    """A row for each slice of the rows, the last one filled up with rows that are empty."""
    return torch.nn.functional.pad(lengths, (0, -lengths.numel() % height)).reshape(-1, height)


class Statistics:
    """Counts of a pattern's arrays; `Pattern.statistics` has them."""

    def __init__(
        self,
        format: Format,
        extents: Sequence[int],
        pos: Sequence[Tensor | None],
        crd: Sequence[Tensor | None],
        size: int,
    ) -> None:
        """Take the arrays of a pattern, not the pattern, which holds this; nothing is scanned yet."""
        self._format = format
        self._pos, self._crd = pos, crd
        self._rows, self._columns = extents[0], extents[-1]
        self._size = size
        kinds = format.kinds
        self._listed = len(kinds) == 2 and _dense(kinds[0]) and kinds[1].lists  # CSR or CSC

    @cached_property
    def lengths(self) -> Tensor | None:
        """How many entries lie below each position of the first level; None where its second level has no positions."""
        kinds = self._format.kinds
        if len(kinds) < 2 or not (_dense(kinds[0]) or kinds[0].lists) or not kinds[1].lists:
            return None
        begins = self._pos[1]
        assert begins is not None
        for level in range(2, len(kinds)):
            below = self._pos[level]
            if kinds[level].lists and below is not None:
                begins = below.index_select(0, begins)
            elif not _dense(kinds[level]):
                return None
        return begins.diff()

    @property
    def begins(self) -> Tensor | None:
        """Where the rows of a matrix in CSR begin and end, or the columns of one in CSC; None of anything else."""
        return self._pos[1] if self._listed else None

    @cached_property
    def stored(self) -> int:
        """How many places hold an entry, where coordinates mark those that don't, as in ELL and SELL; elsewhere all."""
        last, coordinates = self._format.kinds[-1], self._crd[-1]
        if coordinates is None or not last.padded or last.own is not None or last.filling:
            return self._size
        return int((coordinates >= 0).sum())

    @cached_property
    def longest(self) -> int:
        """The number of entries of the fullest row; 0 where rows are not known."""
        return int(self.lengths.max()) if self.lengths is not None and len(self.lengths) else 0

    @cached_property
    def empty(self) -> int:
        """How many coordinates of the first mode have no entry; 0 where rows are not known."""
        if self.lengths is None:
            return 0
        return self._rows - int((self.lengths > 0).sum())

    @cached_property
    def half(self) -> float:
        """The share of the rows that half of the entries are in: 0.5 where rows are equal, near 0 for a power law."""
        if self.lengths is None or not self.longest:
            return 0.5
        order = self.lengths.sort(descending=True).values.cumsum(0)
        return (int(torch.searchsorted(order, (int(order[-1]) + 1) // 2)) + 1) / max(self._rows, 1)

    @cached_property
    def skew(self) -> tuple[float, ...]:
        """For each level, how unevenly entries are spread over its coordinates: 1 where all have equally many.

        The sum of the squares of their numbers, as a multiple of the least that it could be; up to the first level of
        which that isn't known.
        """
        if self.lengths is None or not self._size:
            return ()
        squares = [(self.lengths, self._rows)]
        columns = self._crd[-1]
        if self._listed and columns is not None:
            squares.append((torch.bincount(columns, minlength=self._columns), self._columns))
        return tuple(float(n.double().square().sum()) * extent / self._size**2 for n, extent in squares)

    @cached_property
    def reach(self) -> float | None:
        """How far from the diagonal rows go on average, as a share of the columns, of a matrix in CSR or CSC."""
        columns = self._crd[-1]
        if not self._listed or self.lengths is None or columns is None or not self._size:
            return None
        ends = self.lengths.cumsum(0)
        filled = self.lengths.nonzero().squeeze(1)
        last = ends[filled] - 1
        first = last + 1 - self.lengths[filled]
        diagonal = filled * (self._columns / self._rows)
        # A row's columns ascend, so that its ends are the farthest.
        far = torch.maximum((columns[first] - diagonal).abs(), (columns[last] - diagonal).abs())
        return float(far.mean()) / self._columns

    @cached_property
    def scattered(self) -> bool:
        """Whether coordinates of neighbouring entries are seldom neighbours, which no processor guesses ahead.

        Neighbours are entries beside each other, and those of rows below each other. Of a sample, so that it takes the
        same time for every pattern; few entries count as not scattered.
        """
        coordinates, kind = self._crd[-1], self._format.kinds[-1]
        count = 0 if coordinates is None else coordinates.numel()
        if coordinates is None or count < FEW or not (kind.lists or kind.branchless):
            return False
        every = count // _RUNS
        above = min(2 * self._size // max(self._rows, 1) + 2, _WINDOW, every - _RUN)
        beside, below = _neighbours(coordinates, above)
        entries = _RUNS * _RUN
        return beside < _NEIGHBOURS * entries and below < _BELOW * entries

    def foretells(self, other: Statistics) -> bool | None:
        """Whether processors foresee which of two patterns has the next entry where their rows are merged, by a sample.

        So they do where one has the columns of the other, or has them moved by one, however these are scattered. None
        where no sample says it.
        """
        in_c, least = sorting.in_c(), max(FEW, _MERGED * self._rows)
        listed = self._listed and other._listed and self._rows == other._rows
        if in_c is None or not listed or self._size + other._size < least or not min(self._size, other._size):
            return None
        arrays = [a for a in (self._pos[1], self._crd[1], other._pos[1], other._crd[1]) if a is not None]
        if len({a.dtype for a in arrays}) > 1:
            return None
        wide = arrays[0].dtype is torch.int64
        wrong, steps = in_c.surprises(*map(memory.address, arrays), wide, self._rows, _MERGES, _STEPS)
        few = wrong < _SURPRISES * steps or (wrong < _MOST_SURPRISES * steps and not self.scattered)
        return bool(few) if steps else None

    @cached_property
    def uneven(self) -> bool:
        """Whether neighbours differ so often in vectors of entries that no processor foresees the ends of rows."""
        return self._rows >= _ROWS and _SHORT * self._rows <= self._size and self._differ(_VECTOR)

    @cached_property
    def ragged(self) -> bool:
        """Whether neighbours differ so often in their entries that no processor foresees the ends of rows."""
        return RAGGED_ROWS <= self._rows <= self._size and self._differ(1)

    def _differ(self, vector: int) -> bool:
        """Whether most neighbours, of a sample of short rows, have other numbers of vectors of so many entries."""
        begins, rows = self._pos[1] if self._listed else None, self._rows
        if begins is None or self._size > _LONG * rows:
            return False
        return _alike(begins, rows, vector) < _ALIKE * 2 * _RUNS * (_RUN - 1)

    @cached_property
    def adjacent(self) -> bool:
        """Whether the entries of neighbouring rows mostly have neighbouring columns, as on diagonals, of a sample.

        Of a matrix by rows, or in slices of rows that are summed in lanes. Coordinates of a slice are looked at where
        they stand, with its rows in whatever order.
        """
        columns, kind = self._crd[-1], self._format.kinds[-1]
        if columns is None or not len(columns) or self._rows < _LANES:
            return False
        if kind.grouped:
            height = next(iter(kind.numbers), _LANES)
            lanes = height if height % _LANES else _LANES
            steps = columns[: len(columns) // lanes * lanes].reshape(-1, lanes)
            steps = steps[:: max(len(steps) // (_GROUPS * _LANES), 1)]
            found, count = (steps >= 0).all(1), int((steps >= 0).any(1).sum())
        elif self._listed and (begins := self._pos[1]) is not None:
            groups = torch.arange(0, self._rows - _LANES + 1, _LANES, device=columns.device)
            groups = groups[:: max(len(groups) // _GROUPS, 1)]
            firsts = begins[groups[:, None] + torch.arange(_LANES + 1, device=columns.device)]
            lengths, step = firsts.diff().clamp(max=_WINDOW), torch.arange(_WINDOW, device=columns.device)
            steps = columns[(firsts[:, :-1, None] + step).clamp(max=len(columns) - 1)].transpose(1, 2)
            found, count = step < lengths.amin(1, keepdim=True), int(lengths.amax(1).sum())
        else:
            return False
        together = (steps.diff() == 1).all(-1) & found
        return int(together.sum()) >= max(_ADJACENT * count, 1)

    @cached_property
    def blocks(self) -> tuple[int, int] | None:
        """The height and width of blocks that rows are multiplied by many columns fastest in, by a sample.

        Of a matrix by rows; None where blocks are too empty for that. Rows of a block share what they load, and its
        empty elements are multiplied, too.
        """
        columns = self._crd[-1]
        if not self._listed or columns is None or self._size < FEW or (begins := self._pos[1]) is None:
            return None
        wanted = min(max(_READ * self._rows // (self._size * _STRIP), 2), _STRIPS)
        entry = torch.arange(wanted, device=columns.device, dtype=begins.dtype) * (self._size // wanted)
        strips = torch.unique((torch.searchsorted(begins, entry, right=True) - 1) // _STRIP) * _STRIP
        rows = (strips[:, None] + torch.arange(_STRIP, device=columns.device)).reshape(-1)
        rows = rows[rows < self._rows]
        firsts, lengths = begins[rows], (begins[rows + 1] - begins[rows]).clamp(max=2 * _READ // len(rows))
        entry = torch.arange(int(lengths.sum()), device=columns.device)
        of = torch.repeat_interleave(lengths)
        column = columns[firsts[of] + entry - (lengths.cumsum(0) - lengths)[of]].long()

        def fill(height: int, width: int) -> float:
            found = torch.unique((rows[of] // height) * self._columns + column // width)
            return len(entry) / (len(found) * height * width)

        if not len(entry) or (fill(2, 2) < _HALF and fill(3, 3) < _HALF):
            return None
        costs = {(h, w): (1 / h + _BEGUN) / fill(h, w) for h, w in _SIDES}
        best = min(costs, key=costs.__getitem__)
        return best if costs[best] < 1 + _BEGUN / 2 else None

    @cached_property
    def bandwidth(self) -> int:
        """The largest distance of an entry from the diagonal, of a matrix in CSR or CSC; 0 of anything else."""
        places = self._places()
        return 0 if places is None else int((places[1] - places[0]).abs().max())

    @cached_property
    def diagonals(self) -> int:
        """How many diagonals have entries, of a matrix in CSR or CSC; 0 of anything else."""
        places = self._places()
        return 0 if places is None else len(torch.unique(places[1] - places[0]))

    @cached_property
    def block_fill(self) -> float:
        """How full the 4 x 4 blocks that have entries are on average, of a matrix in CSR or CSC; 0 of anything else."""
        places = self.in_blocks(_BLOCK, _BLOCK)
        return self._size / places if places else 0.0

    def in_blocks(self, height: int, width: int) -> int:
        """How many elements the blocks have that have entries, of a matrix in CSR or CSC; 0 of anything else."""
        places = self._places()
        if places is None:
            return 0
        rows, columns = places[0].long() // height, places[1].long() // width
        return len(torch.unique(rows * (int(columns.max()) + 1) + columns)) * height * width

    def _places(self) -> tuple[Tensor, Tensor] | None:
        """Rows and columns of a matrix that isn't empty, as stored."""
        columns = self._crd[-1]
        if not self._listed or self.lengths is None or columns is None or not len(columns):
            return None
        return torch.repeat_interleave(self.lengths), columns

    def __str__(self) -> str:
        """A line for people."""
        if self.lengths is None or not self._size:
            return ""
        mean = self._size / max(self._rows, 1)
        text = f"{mean:.3g} entries a row on average, {self.longest} at most"
        if self.empty:
            text += f", {self.empty} rows empty"
        text += f"; half of the entries are in {self.half:.1%} of the rows"
        if self.block_fill:
            text += f"; bandwidth {self.bandwidth}; blocks of {_BLOCK} x {_BLOCK} are {self.block_fill:.1%} full"
        return text
