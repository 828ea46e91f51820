"""Sorting coordinates, and dropping those that come again."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from types import ModuleType

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.errors import IndexBoundsError
from libsparse._lang.records import NamedTuple
from libsparse._lang.waiting import Waiting

from . import memory, ordinary
from .fakes import is_fake
from .threads import shared, team

_KEY_LIMIT = 2**63 - 1
MODES = 16  # of coordinates that C can read
_SLOW = 1 << 20  # entries that may take a second
_MANY = 1 << 14  # entries from which on a second thread is worth its start
_WINDOW, _LONG = 64, 255  # rows that are sorted by their lengths together, and the length from which on they are alike
_INDICES = (torch.int32, torch.int64)
_ANY, _WEAK, _STRICT = 0, 1, 2  # orders of coordinates: none, ascending, and without repeats
_OUTSIDE = -1  # what C says of coordinates out of range
_PART = 1 << 20  # entries that are compared or gathered at a time, so that what is needed for a while stays small


@functools.cache
def in_c() -> ModuleType | None:
    """The module that sorts in C, None where the package was built without a C compiler."""
    try:
        from . import _radix
    except ImportError:
        return None
    return _radix


def linear_keys(coords: Sequence[Tensor], extents: Sequence[int]) -> Tensor | None:
    """One int64 key a coordinate that sorts as the coordinates do; None where keys would overflow."""
    if math.prod(extents) > _KEY_LIMIT:
        return None
    keys = coords[0].to(torch.int64, copy=True)
    for crd, extent in zip(coords[1:], extents[1:], strict=True):
        keys.mul_(extent).add_(crd)
    return keys


class Sorted(NamedTuple):
    """Distinct coordinates in lexicographic order.

    Attributes:
        coords: One array a mode, which may be those that were given.
        order: Where the first of each was among those that were given; None where they were sorted already.
        again: Where those were that came again.
        group: The numbers of these among the distinct ones, in ascending order.
    """

    coords: list[Tensor]
    order: Tensor | None
    again: Tensor
    group: Tensor


def sort(coords: Sequence[Tensor], extents: Sequence[int], dtype: torch.dtype, threads: int) -> Sorted:
    """Sorts coordinates and drops those that come again.

    Args:
        coords: One array a mode, int32 or int64.
        extents: The extent of each mode.
        dtype: Of coordinates that have to move, which has room for all extents.
        threads: How many threads may work.

    Raises:
        IndexBoundsError: Coordinates that nobody checked are out of range.
    """
    ascending = order_of(coords, extents)
    if ascending == _STRICT:
        return _distinct(list(coords), None, none_again=True)
    if ascending:
        return _distinct(list(coords), None)
    count = coords[0].numel()
    if count < _SLOW:
        return _moved(coords, extents, dtype, threads)
    with Waiting(f"sorting {count:,} entries"):
        return _moved(coords, extents, dtype, threads)


def _moved(coords: Sequence[Tensor], extents: Sequence[int], dtype: torch.dtype, threads: int) -> Sorted:
    count, radix = coords[0].numel(), in_c()
    coords = [c.contiguous() for c in coords]
    if radix is not None and len(coords) <= MODES and 0 < count <= INT32_MAX and all(map(is_plain, coords)):
        moved = [torch.empty(count, dtype=dtype, device="cpu") for _ in coords]
        place = torch.empty(count, dtype=torch.int32, device="cpu")
        given = addresses(coords), tuple(extents), addresses(moved), place.data_ptr()
        again = radix.sort(*given, count, threads, team())
        if again == _OUTSIDE:
            raise outside()
        if again >= 0:
            return _in_order(moved, place, again)
    order = sort_order(coords, extents)
    assert order is not None
    return _distinct([_gathered(c, order, dtype) for c in coords], order)


def _in_order(coords: list[Tensor], place: Tensor, again: int) -> Sorted:
    """Coordinates that C has sorted, of which so many come again, and where each was."""
    repeated, group = torch.empty((2, again), dtype=torch.int64, device="cpu")
    radix, count = in_c(), place.numel()
    if again and radix is not None:
        kept = radix.drop_repeats(addresses(coords), count, place.data_ptr(), repeated.data_ptr(), group.data_ptr())
        *coords, place = [a[:kept] if kept > count // 8 * 7 else a[:kept].clone() for a in (*coords, place)]
    return Sorted(coords, place, repeated, group)


def addresses(arrays: Sequence[Tensor]) -> tuple[tuple[int, bool], ...]:
    """Of arrays of int32 or int64, for C: where each is, and whether it has int64."""
    return tuple([(memory.address(a), a.dtype == torch.int64) for a in arrays])


class Rows(NamedTuple):
    """Distinct coordinates in compressed rows.

    Attributes:
        pos: Where each row starts.
        crd: The column of each.
        order: As of `Sorted`, and so are the others.
    """

    pos: Tensor
    crd: Tensor
    order: Tensor | None
    again: Tensor
    group: Tensor


def compress(coords: Sequence[Tensor], extents: Sequence[int], threads: int) -> Rows | None:
    """Sorts coordinates of two modes, as `sort` does; None where that takes more than counting and short sorts.

    Raises:
        IndexBoundsError: Coordinates are out of range.
    """
    radix, count = in_c(), coords[0].numel()
    threads = min(threads, count // _MANY + 1, (4 * count + _MANY) // max(1, extents[0]))  # each counts all rows
    if radix is None or threads < 1 or max(extents) > INT32_MAX or count >= _SLOW or not all(map(is_plain, coords)):
        return None
    sizes = extents[0] + 1, count, count, count, count
    pos, crd, order, again, group = [torch.empty(n, dtype=torch.int32, device="cpu") for n in sizes]
    made = [a.data_ptr() for a in (pos, crd, order, again, group)]
    distinct, moved = radix.compress(addresses(coords), *extents, count, threads, team(), *made)
    if distinct < 0:
        if distinct == _OUTSIDE:
            raise outside()
        return None
    if distinct < count:
        crd, order = crd[:distinct].clone(), order[:distinct].clone()
    again, group = [a[: count - distinct].clone() if distinct < count else a[:0] for a in (again, group)]
    return Rows(pos, crd, order if moved else None, again, group)


def by_rows(
    rows: Tensor, columns: Tensor, values: Tensor | None, extent: int, mirrored: bool, threads: int
) -> tuple[Tensor, Tensor, Tensor | None] | None:
    """Where each row starts, and columns and values in the order of coordinates; None where that takes more.

    It does where an entry is there twice, and where there are far more rows or columns than entries.

    Args:
        rows: int32, each from 0 to before `extent`.
        columns: int32.
        values: Of 4 or 8 bytes, or none.
        extent: The number of rows.
        mirrored: Whether an entry that is not on the diagonal stands for two.
        threads: How many threads may work.
    """
    radix, count = in_c(), len(rows)
    threads = min(threads, count // _MANY + 1)
    if radix is None or extent * threads > 4 * count + _MANY or count > INT32_MAX // 2:
        return None
    pos = torch.empty(extent + 1, dtype=torch.int32, device="cpu")
    if not mirrored and order_of([rows, columns], ()) == _STRICT:
        radix.first_of_rows(memory.address(rows), False, count, extent, pos.data_ptr(), False, *shared(count))
        return pos, columns, values
    room = 2 * count if mirrored else count
    moved = torch.empty(room, dtype=torch.int32, device="cpu")
    moved_values = None if values is None else values.new_empty(room)
    given = [0 if a is None else memory.address(a) for a in (rows, columns, values, moved_values)]
    itemsize = 0 if values is None else values.element_size()
    if not radix.by_rows(
        *given[:3], itemsize, count, extent, mirrored, threads, team(), pos.data_ptr(), moved.data_ptr(), given[3]
    ):
        return None
    end = int(pos[-1])
    return pos, moved[:end], None if moved_values is None else moved_values[:end]


_validate = torch._validate_compressed_sparse_indices


def rows_are_right(pos: Tensor, crd: Tensor, rows: int, extent: int) -> bool:
    """Whether positions ascend from 0 to the number of coordinates, which ascend in each row and are below `extent`.

    Both arrays have one dtype.
    """
    radix = in_c()
    if radix is not None and is_plain(pos) and is_plain(crd):
        wide, count = pos.dtype == torch.int64, crd.numel()
        arrays = memory.address(pos), memory.address(crd)
        return bool(radix.rows_are_right(*arrays, wide, rows, extent, count, *shared(rows + count)))
    try:
        _validate(True, pos, crd, rows, extent, crd.numel())
    except RuntimeError:
        return False
    return True


def is_plain(array: Tensor, dtypes: tuple[torch.dtype, ...] = _INDICES) -> bool:
    """Whether C can read an array, of indices unless other dtypes are named."""
    if torch._C._len_torch_dispatch_stack() or ordinary.in_transform() is not None or ordinary.is_wrapped(array):
        return False  # graphs don't see what C writes, and arrays that it would write to are wrapped
    if type(array) not in ordinary.PLAIN or array.is_neg() or array._is_zerotensor():
        return False  # numbers in memory are other ones, or there is no memory
    plain = array.layout == torch.strided and array.is_cpu and array.ndim == 1
    return plain and array.dtype in dtypes and array.is_contiguous()


def first_of_rows(rows: Tensor, count: int, dtype: torch.dtype) -> Tensor | None:
    """Where the entries of each of `count` rows start once they are sorted, from the number of each entry's row.

    None where C can't read the array.

    Raises:
        IndexBoundsError: A number is out of range.
    """
    radix = in_c()
    if radix is None or not is_plain(rows):
        return None
    first = torch.empty(count + 1, dtype=dtype, device="cpu")
    given = (memory.address(rows), rows.dtype == torch.int64, rows.numel(), count)
    if not radix.first_of_rows(*given, first.data_ptr(), dtype == torch.int64, *shared(rows.numel())):
        raise outside()
    return first


def by_length(pos: Tensor) -> Tensor:
    """The numbers of the rows that lie between positions: the longest first, within windows of neighbouring rows.

    Kernels that visit rows in this order have many of about one length one after the other, whose end the processor
    foresees.
    """
    rows = pos.numel() - 1
    radix = in_c()
    if radix is not None:
        order = torch.empty(rows, dtype=pos.dtype, device="cpu")
        radix.order_rows(memory.address(pos), pos.dtype == torch.int64, rows, order.data_ptr())
        return order
    numbers = torch.arange(rows, device="cpu")
    lengths = pos.diff().clamp_(max=_LONG).to(torch.int64)
    keys = numbers.div(_WINDOW, rounding_mode="floor") * (_LONG + 1) + _LONG - lengths
    return torch.argsort(keys, stable=True).to(pos.dtype)


def outside() -> IndexBoundsError:
    """The error for coordinates out of range that nobody checked."""
    return IndexBoundsError("an index is outside of the shape; check=True says which")


def _distinct(moved: list[Tensor], order: Tensor | None, none_again: bool = False) -> Sorted:
    """Sorted coordinates without those that come again."""
    fresh = None if none_again else first_of_run(moved)
    if fresh is None or bool(fresh.all()):
        nothing = torch.empty(0, dtype=torch.int64, device="cpu")
        return Sorted(moved, order, nothing, nothing)
    again = (~fresh).nonzero().squeeze(1)
    group = again - torch.arange(1, len(again) + 1, device="cpu")
    if order is None:  # the arrays may be the user's
        moved, order = [c.clone() for c in moved], torch.arange(len(fresh), device="cpu")
    repeated = order.index_select(0, again)
    *moved, order = _compacted([*moved, order], fresh)
    return Sorted(moved, order, repeated, group)


def _compacted(arrays: list[Tensor], mask: Tensor) -> list[Tensor]:
    """The elements at true places of a mask, in the memory of the arrays."""
    done = 0
    for part in _slices(len(mask)):
        places = mask[part].nonzero().squeeze(1)
        for array in arrays:
            array[done : done + len(places)] = array[part].index_select(0, places)
        done += len(places)
    return [array[:done] if done > len(array) // 8 * 7 else array[:done].clone() for array in arrays]


def _gathered(array: Tensor, order: Tensor, dtype: torch.dtype) -> Tensor:
    """The elements of an array of integers in another order and dtype."""
    found = torch.empty(order.numel(), dtype=dtype, device="cpu")
    for part in _slices(order.numel()):
        found[part] = array.index_select(0, order[part])
    return found


def sort_order(coords: Sequence[Tensor], extents: Sequence[int]) -> Tensor | None:
    """The stable permutation that sorts coordinates lexicographically; None where they are sorted already."""
    if not is_fake(coords[0]) and order_of(coords, extents):
        return None
    keys = linear_keys(coords, extents)
    if keys is not None:
        return torch.argsort(keys, stable=True)
    order = torch.argsort(coords[-1], stable=True)
    for crd in reversed(coords[:-1]):
        order = order.index_select(0, torch.argsort(crd.index_select(0, order), stable=True))
    return order


def order_of(coords: Sequence[Tensor], extents: Sequence[int]) -> int:
    """How coordinates follow each other in lexicographic order.

    0 where they don't, or where that isn't known, 1 where some may come again, 2 where each is behind the one before.
    The first fault ends the search.
    """
    radix = in_c()
    if radix is not None and len(coords) <= MODES and all(map(is_plain, coords)):
        count = coords[0].numel()
        return int(radix.ascending(addresses(coords), count, *shared(count)))
    last = -1
    for part in _slices(coords[0].numel()):
        keys = linear_keys([c[part] for c in coords], extents)
        if keys is None or int(keys[0]) < last or not bool((keys[1:] >= keys[:-1]).all()):
            return _ANY
        last = int(keys[-1])
    return _WEAK


def first_of_run(coords: Sequence[Tensor]) -> Tensor:
    """Marks, in sorted coordinates, each one that differs from the one before it."""
    count = coords[0].numel()
    fresh = torch.ones(count, dtype=torch.bool, device="cpu")
    if count > 1:
        torch.ne(coords[0][1:], coords[0][:-1], out=fresh[1:])
        for crd in coords[1:]:
            fresh[1:] = fresh[1:] | (crd[1:] != crd[:-1])
    return fresh


def _slices(count: int) -> Iterator[slice]:
    return (slice(first, min(first + _PART, count)) for first in range(0, count, _PART))
