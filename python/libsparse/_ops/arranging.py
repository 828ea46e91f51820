"""How coordinates in any order become a pattern, and values those of its entries; what comes again is sorted once.

A program that assembles a matrix in each step of a loop, as of a mesh or of a graph whose weights change, passes the
same coordinates each time, often in new arrays. What has come twice is kept, and coordinates are compared with it,
which takes a tenth of sorting them. Each tensor has a pattern of its own all the same, with copies of the arrays: users
may write to theirs, share them with other processes, and no longer need them.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError
from libsparse._lang.records import NamedTuple, cached_property
from libsparse._runtime.direct import native
from libsparse._storage import packing, sorting, threads
from libsparse._storage.conversion import taken
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_SAMPLED = 4  # coordinates of each mode that tell most lists from each other without the functions in C
_SEEN = 64  # lists that are remembered
_KEPT = 1 << 22  # numbers of all that is kept, 32 MiB at most
_TORCHS = {"max": "amax", "min": "amin"}  # torch's names of reductions, where they are others
_ROWS = tuple(Format(name).resolve(2) for name in ("csr", "csc"))


class Arranged:
    """What was made of a list of coordinates: arrays of a pattern, and how values of the list become its values.

    Attributes:
        order: Where the first of each distinct entry is in the list; None where the list is sorted.
        again: Where those are that came again, which as a rule are few.
        group: The numbers of these among the distinct entries, in ascending order.
        slots: Where the pattern stores the distinct entries; None where it has no padding.
        size: The length of the pattern's array of values.
    """

    def __init__(
        self,
        pattern: Pattern,
        found: sorting.Sorted | sorting.Rows,
        slots: Tensor | None = None,
        size: int = 0,
    ) -> None:
        self._pattern, self.slots, self.size = pattern, slots, size
        self.order, self.again, self.group = found.order, found.again, found.group

    def pattern(self) -> Pattern:
        """The pattern, which nobody else has."""
        made = self._pattern
        pos, crd = [[None if a is None else a.clone() for a in arrays] for arrays in (made.pos, made.crd)]
        return Pattern._of_kernel(made.format, made.shape, pos, crd, made.size, made.index_dtype)

    def numbers(self) -> int:
        """How many numbers all arrays have."""
        arrays = *self._pattern.pos, *self._pattern.crd, self.order, self.again, self.group, self.slots
        owners = 0 if self.order is None else len(self.order) + len(self.again)
        return owners + sum([a.numel() for a in arrays if a is not None])

    @cached_property
    def owners(self) -> Tensor:
        """The distinct entry of each place in the list."""
        if self.order is None:
            return torch.arange(self.size if self.slots is None else len(self.slots), device="cpu")
        count = len(self.order)
        owners = torch.empty(count + len(self.again), dtype=torch.int64, device="cpu")
        owners[self.order], owners[self.again] = torch.arange(count, device="cpu"), self.group.to(torch.int64)
        return owners

    def places(self) -> Tensor:
        """Where the pattern stores the entry of each place in the list."""
        return self.owners if self.slots is None else self.slots.index_select(0, self.owners)

    def values(self, given: Tensor, reduce: str) -> Tensor:
        """The values of the pattern, of those of the list; differentiable.

        Args:
            given: (places of the list, ...).
            reduce: How the values of one entry are reduced.
        """
        values = given if self.order is None else self._merged(given, self.order, reduce)
        return values if self.slots is None else packing.spread(values, self.slots, self.size)

    def _merged(self, values: Tensor, order: Tensor, reduce: str) -> Tensor:
        """One value for each distinct entry."""
        if len(self.again) and reduce == "sum" and _is_summed(values):
            return values.new_zeros((len(order), *values.shape[1:])).index_add(0, self.owners, values)
        firsts = taken(values, order)
        if not len(self.again):
            return firsts
        group = self.group.to(torch.int64)
        if reduce == "sum" and _is_exact(values.dtype):
            return firsts.index_add_(0, group, taken(values, self.again))
        places, member = torch.unique_consecutive(group, return_inverse=True)
        several = torch.cat([firsts.index_select(0, places), taken(values, self.again)])
        member = torch.cat([torch.arange(len(places), device="cpu"), member])
        return firsts.index_copy(0, places, reduced(several, member, len(places), reduce))


def _is_summed(values: Tensor) -> bool:
    """Whether autograd follows a sum in the dtype of values: its gradient is one look-up, that of steps is four."""
    followed = values.requires_grad and torch.is_grad_enabled()
    return followed and _is_exact(values.dtype)


def _is_exact(dtype: torch.dtype) -> bool:
    """Whether sums are kept in the dtype of what is summed."""
    return dtypes.accumulator(dtype) == dtype and dtype != torch.bool


def reduced(values: Tensor, group: Tensor, count: int, reduce: str) -> Tensor:
    """One value for each group of duplicates."""
    wide = dtypes.accumulator(values.dtype)
    if wide != values.dtype:
        return reduced(values.to(wide), group, count, reduce).to(values.dtype)
    if values.is_complex() and reduce != "sum":
        if reduce != "mean":
            raise DtypeError(f"from_coo: reduce={reduce!r} is not defined for duplicates of {values.dtype}; use sum")
        number = torch.bincount(group, minlength=count)
        return reduced(values, group, count, "sum") / number
    if reduce == "sum" and values.dtype != torch.bool:
        return values.new_zeros((count, *values.shape[1:])).index_add(0, group, values)
    if values.dtype == torch.bool:  # products and minima are true where all are, others where any is
        kind = reduce if reduce in ("prod", "min", "amin") else "max"
        return reduced(values.to(torch.uint8), group, count, kind).to(torch.bool)
    group = group.reshape(-1, *[1] * (values.ndim - 1)).expand_as(values)
    zeros = values.new_zeros((count, *values.shape[1:]))
    return zeros.scatter_reduce(0, group, values, _TORCHS.get(reduce, reduce), include_self=False)


class _Seen(NamedTuple):
    """Coordinates that have come; from the second time on with copies of them, and with what was made of them."""

    arrays: list[Tensor]
    made: Arranged | None


_seen: dict[tuple[object, ...], _Seen] = {}
"""What came last, by what tells it from others at a glance."""


def arrange(coords: Sequence[Tensor], shape: Sequence[int], format: Format, itemsize: int) -> tuple[Pattern, Arranged]:
    """The pattern of coordinates, and how values become its values: as the last time, where they come again.

    Args:
        coords: One array of integers for each mode, which may be the user's.
        shape: The shape.
        format: A format that can be written, of no dense tensor.
        itemsize: Bytes of a value.
    """
    levels, extents = [coords[mode].contiguous() for mode in format.order], [shape[mode] for mode in format.order]
    key = _key((format.text, *extents), levels)
    seen = None if key is None else _seen.pop(key, None)
    if key is not None and seen is not None and seen.made is not None and _are_equal(levels, seen.arrays):
        _seen[key] = seen
        return seen.made.pattern(), seen.made
    pattern, made = _arranged(levels, extents, shape, format, itemsize)
    if key is None:
        return pattern, made
    copied = [level.clone() for level in levels] if seen is not None and seen.made is None else []
    numbers = made.numbers() + sum([len(c) for c in copied])
    if not copied or numbers > _KEPT:  # of many that look alike, not each is copied
        _seen[key] = _Seen([], None)
    else:
        _seen[key] = _Seen(copied, made)
        _forget_long()
        pattern = made.pattern()
    for old in list(_seen)[:-_SEEN]:  # a copy, since other threads add to it
        _seen.pop(old, None)
    return pattern, made


def _key(about: tuple[object, ...], arrays: list[Tensor]) -> tuple[object, ...] | None:
    """What tells arrays from most others; None of those that aren't kept."""
    if not 0 < sum([a.numel() for a in arrays]) <= _KEPT or torch.is_inference_mode_enabled():
        return None
    if native is not None:
        seen = native.glance(arrays)
        return None if seen is None else (seen, *about)
    if not all(map(sorting.is_plain, arrays)):
        return None
    return *about, *[(a.dtype, len(a), *a[:: len(a) // _SAMPLED + 1].tolist()) for a in arrays]


def _are_equal(arrays: list[Tensor], others: list[Tensor]) -> bool:
    if native is None:
        return all(map(torch.equal, arrays, others))
    return bool(native.are_equal(arrays, others))


def _forget_long() -> None:
    """Forgets what came long ago, where all together is too long."""
    numbers = {name: made.numbers() + sum(map(len, arrays)) for name, (arrays, made) in list(_seen.items()) if made}
    kept = sum(numbers.values())
    for old, number in list(numbers.items())[:-1]:
        if kept <= _KEPT:
            break
        _seen.pop(old, None)
        kept -= number


def _arranged(
    levels: list[Tensor], extents: list[int], shape: Sequence[int], format: Format, itemsize: int
) -> tuple[Pattern, Arranged]:
    """Sorts coordinates, one array a level, and packs them."""
    short = sorting.compress(levels, extents, threads.count()) if format in _ROWS else None
    if short is not None:
        arrays = (None, short.pos), (None, short.crd)
        pattern = Pattern._of_kernel(format, torch.Size(shape), *arrays, len(short.crd), torch.int32)
        return pattern, Arranged(pattern, short, None, len(short.crd))
    dtype = packing.index_dtype(extents, levels[0].numel())
    found = sorting.sort(levels, extents, dtype, threads.count())
    moved = found.coords
    if found.order is None:  # they may be the user's
        moved = [c.to(dtype, copy=True) for c in moved]
    built = packing.build_levels(format, extents, moved, itemsize)
    pattern = Pattern(format, shape, built.pos, built.crd)
    return pattern, Arranged(pattern, found, built.slots, built.size)
