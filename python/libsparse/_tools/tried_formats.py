"""The formats into which tuners bring operands."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._storage.statistics import places

_WINDOW = 4096  # rows that are sorted among themselves
_PADDING = 3  # elements that a padded format may store for each entry


def of(pattern: Pattern, multiplied: bool) -> Iterator[str]:
    """The formats that a pattern may be converted to: compressed, narrow, and padded ones that stay small.

    `values` after a format says that values are brought into its order, too. Blocks and diagonals only where padding is
    `multiplied` (`copied_formats.multiplies`), by infinity to NaN: that is noticed.
    """
    ndim = pattern.ndim
    if ndim < 2 or ndim > 4:
        return
    for order in list(itertools.permutations(range(ndim)))[:6]:
        suffix = ":" + ",".join(map(str, order))
        for levels in ("s" * ndim, "d" + "s" * (ndim - 1)):
            format = Format(levels + suffix).text
            yield format
            if order != pattern.format.order:
                yield f"{format} values"
    lengths = pattern.statistics.lengths
    if ndim > 2 or lengths is None or not pattern.size or pattern.format.order != (0, 1):
        return
    rows, columns = pattern.shape
    most = _PADDING * pattern.size
    if rows * pattern.statistics.longest <= most:
        yield f"{Format('ell').text} values"
    for height in (8, 32):
        if places(lengths, height) <= most:
            yield f"{Format(f'sell({height})').text} values"
    for height in (8, 32):
        if places(lengths, height, _WINDOW) <= most:
            yield f"{Format(f'sell({height},{_WINDOW})').text} values"
    narrow = Format("dn")
    if columns <= (narrow.kinds[1].most or columns):
        yield narrow.text
    if multiplied:
        yield from _multiplied(pattern, most)
    if rows * columns <= 8 * most:
        yield f"{Format('db').text} values"


def _multiplied(pattern: Pattern, most: int) -> Iterator[str]:
    """The formats with elements of 0 where nothing is stored."""
    if pattern.statistics.diagonals * pattern.shape[0] <= most:
        yield f"{Format('dia').text} values"
    sides = pattern.statistics.blocks
    if sides is not None and pattern.statistics.in_blocks(*sides) <= most:
        yield f"{Format(f'bsr({sides[0]},{sides[1]})').text} values"
