"""Size classes: similar sizes share a kernel and its decisions, so that a new mini-batch finds both.

Each class is named by a representative, which the compiler is told in place of the number itself.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from libsparse._storage.statistics import Statistics

UNKNOWN: tuple[int, tuple[int, ...], int] = (0, (), 0)
"""The classes of statistics that are not known."""

_WHOLE = 1 << 10  # the unit of a reach
_LARGEST = 59  # bits of the extents that are told apart: representatives have to fit in 64 with a sign


@functools.lru_cache(maxsize=1 << 12)
def width(n: int) -> int:
    """The class of an extent that no sparse level stores, as a rule the width of a layer, the same in every call.

    Below 8, for multiples of 8 up to 64 and for powers of two up to 512, a class has one member, and kernels are
    compiled for exactly that.
    """
    if n < 8:
        return n
    if n < 64:
        return n if n % 8 == 0 else 8 * (n // 8) + 1
    power = 1 << (n.bit_length() - 1)
    return n if n == power <= 512 else power + 1


def is_small_width(representative: int) -> bool:
    """Whether a representative is that of a class of `width` up to 64, which none of `extent` is."""
    return representative < 8 or (representative <= 64 and representative % 8 < 2)


@functools.lru_cache(maxsize=1 << 12)
def extent(n: int) -> int:
    """The class of an extent that a sparse level stores, of which costs need no more than the magnitude: powers of 16.

    No representative is one of `width`'s exact classes: the kernel has to take every member. The first, which has small
    members too, is of none of its classes.
    """
    return 10 if n < 64 else (256 << (min(n.bit_length(), _LARGEST) - 7) // 4 * 4) + 1


@functools.lru_cache(maxsize=1 << 12)
def finely(n: int) -> int:
    """The class of an extent where the format of a temporary depends on it: powers of two.

    The entries of a product grow with the square of its operands' entries: the classes above would decide by chance.
    No representative is one of `width`, 25 or 49, say: the kernel has to take every member.
    """
    return 10 if n < 16 else (3 << (min(n.bit_length(), _LARGEST) - 2)) + (2 if n < 64 else 1)


@functools.lru_cache(maxsize=1 << 12)
def entries(n: int, rows: int) -> int:
    """The class of a number of entries, by how many there are for each of the rows, the first level: powers of 8."""
    n, rows = max(n, 1), max(rows, 1)
    if n < rows:
        return max(1, extent(rows) // 3 >> thinning(rows // n))
    return extent(rows) * 3 << ((n // rows).bit_length() - 1) // 3 * 3


def thinning(rows: int) -> int:
    """The class of how many rows there are for each entry, as a power of two."""
    return (rows.bit_length() - 1) // 3 * 3


@functools.lru_cache(maxsize=1 << 12)
def entries_alone(n: int, rows: int) -> int:
    """The class of a number of entries of the only sparse operand: up to 16 for each of the rows, 128, 1024 and so on.

    From 16 on, several entries of a row are added at once, and copies of dense operands pay.
    """
    if n < rows:
        return entries(n, rows)
    power = max(((max(n, 1) // max(rows, 1)).bit_length() + 1) // 3, 1)
    return extent(rows) * 3 << (3 * power - 2)


@functools.lru_cache(maxsize=1 << 12)
def entries_summed(n: int, rows: int) -> int:
    """The class of a number of entries whose rows are summed: as `entries_alone`, but for up to 5 for each of the rows.

    From 6 on, eight partial sums of a row are a vector that is mostly filled.
    """
    return extent(rows) * 3 if rows <= n < 6 * rows else entries_alone(n, rows)


@functools.lru_cache(maxsize=1 << 12)
def finely_entries(n: int, rows: int) -> int:
    """The class of a number of entries by powers of two, to go with `finely`."""
    n, rows = max(n, 1), max(rows, 1)
    mean = (n // rows).bit_length() - 1 if n >= rows else -((rows // n).bit_length())
    return max(1, round(finely(rows) * 2 ** (mean + 0.5)))


def share(n: int, rows: int) -> int:
    """The class of how many coordinates of a level have entries: that of the level, halved as often as it takes."""
    return max(1, finely(rows) >> (max(rows, 1) // max(n, 1)).bit_length() - 1)


def ratio(x: float, unit: int = 1) -> int:
    """The power of two that is next to a number of units, at least 1."""
    return 1 << max(0, round(math.log2(max(x * unit, 1))))


def spread(found: Statistics, rows: int, several: bool) -> tuple[int, tuple[int, ...], int]:
    """The classes of the statistics that decide the format of a temporary: rows with entries, skew and reach.

    The last two matter where several sparse operands meet. Unknown ones are 0 or empty.
    """
    if found.lengths is None:
        return UNKNOWN
    filled = share(rows - found.empty, rows)
    if not several:
        return filled, (), 0
    reach = 0 if found.reach is None else ratio(found.reach, _WHOLE)
    return filled, tuple(map(ratio, found.skew)), reach
