"""How coordinates in any order become a pattern, and values those of its entries; what comes again is sorted once.

A program that assembles a matrix in each step of a loop, as of a mesh or of a graph whose weights change, passes the
same coordinates each time, often in new arrays. What has come twice is kept, and coordinates are compared with it,
which takes a tenth of sorting them; the tensor gets the pattern that it had, with all that is prepared for it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError
from libsparse._lang.records import cached_property
from libsparse._runtime.direct import native
from libsparse._storage import packing, sorting, threads
from libsparse._storage.conversion import taken
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_SAMPLED = 4  # coordinates of each mode that tell most lists from each other without the functions in C
_SEEN = 64  # lists, or pairs of arrays, that are remembered
_KEPT = 1 << 22  # numbers of all of them together, 32 MiB at most
_TORCHS = {"max": "amax", "min": "amin"}  # torch's names of reductions, where they are others
_ROWS = tuple(Format(name).resolve(2) for name in ("csr", "csc"))


class Arranged:
    """The pattern of a list of coordinates, and how values of the list become values of the pattern.

    Attributes:
        pattern: The pattern.
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
        self.pattern, self.slots, self.size = pattern, slots, size
        self.order, self.again, self.group = found.order, found.again, found.group

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


class _Seen:
    """Index arrays that have come; from the second time on with copies of them, and with what was made of them."""

    __slots__ = ("arrays", "made", "versions")

    def __init__(self, arrays: Sequence[Tensor] = (), made: Arranged | Pattern | None = None) -> None:
        self.arrays, self.made = [a.clone() for a in arrays], made
        self.versions = () if made is None else _versions(made)

    def has(self, arrays: list[Tensor]) -> bool:
        """Whether it is of these arrays, and nobody has written to those of the pattern."""
        if self.made is None or self.versions != _versions(self.made):
            return False
        if native is None:
            return all(map(torch.equal, arrays, self.arrays))
        return bool(native.are_equal(arrays, self.arrays))


_seen: dict[tuple[object, ...], _Seen] = {}
"""What came last, by what tells it from others at a glance."""


def arrange(coords: Sequence[Tensor], shape: Sequence[int], format: Format, itemsize: int) -> Arranged:
    """The pattern of coordinates: that of the last time, where they come again.

    Args:
        coords: One array of integers for each mode, which may be the user's.
        shape: The shape.
        format: A format that can be written, of no dense tensor.
        itemsize: Bytes of a value.
    """
    levels, extents = [coords[mode].contiguous() for mode in format.order], [shape[mode] for mode in format.order]
    made: Arranged = _again(
        (format.text, *extents),
        levels,
        lambda: _arranged(levels, extents, shape, format, itemsize),
        lambda made: bool(made.size <= 2 * len(levels[0])),  # and not with far more padding than entries
    )
    return made


def rows(
    format: Format, shape: torch.Size, pos: Any, crd: Any, check: bool, make: Callable[[], Pattern | None]
) -> Pattern | None:
    """What is made of the arrays of compressed rows or columns: the pattern of the last time, where they come again.

    Args:
        format: The format.
        shape: The shape.
        pos: What the user has for positions.
        crd: And for coordinates.
        check: Whether they are checked.
        make: Makes the pattern; None where something is unusual or wrong.
    """
    if type(pos) is not Tensor or type(crd) is not Tensor:
        return make()
    made: Pattern | None = _again((format.text, *shape, check), [pos, crd], make, lambda made: made is not None)
    return made


def _again(
    about: tuple[object, ...], arrays: list[Tensor], make: Callable[[], Any], is_kept: Callable[[Any], bool]
) -> Any:
    """What is made of arrays: that of the last time, where they come again."""
    key = _key(about, arrays)
    if key is None:
        return make()
    seen = _seen.pop(key, None)
    if seen is not None and seen.made is not None and seen.has(arrays):
        _seen[key] = seen
        return seen.made
    made = make()
    if seen is not None and seen.made is None and is_kept(made):  # of many that look alike, not each is copied
        _seen[key] = _Seen(arrays, made)
        _forget_long()
    else:
        _seen[key] = _Seen()
    if len(_seen) > _SEEN:
        _seen.pop(next(iter(_seen), key), None)
    return made


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


def _versions(made: Arranged | Pattern) -> tuple[int, ...]:
    pattern = made if isinstance(made, Pattern) else made.pattern
    return tuple([a._version for a in (*pattern.pos, *pattern.crd) if a is not None])


def _forget_long() -> None:
    """Forgets what came long ago, where all together is too long."""
    kept = sum([len(c) for seen in list(_seen.values()) for c in seen.arrays])
    for old in list(_seen)[:-1]:
        if kept <= _KEPT:
            break
        gone = _seen.pop(old, None)
        kept -= 0 if gone is None else sum(map(len, gone.arrays))


def _arranged(
    levels: list[Tensor], extents: list[int], shape: Sequence[int], format: Format, itemsize: int
) -> Arranged:
    """Sorts coordinates, one array a level, and packs them."""
    short = sorting.compress(levels, extents, threads.count()) if format in _ROWS else None
    if short is not None:
        arrays = (None, short.pos), (None, short.crd)
        pattern = Pattern._of_kernel(format, torch.Size(shape), *arrays, len(short.crd), torch.int32)
        return Arranged(pattern, short, None, len(short.crd))
    dtype = packing.index_dtype(extents, levels[0].numel())
    found = sorting.sort(levels, extents, dtype, threads.count())
    moved = found.coords
    if found.order is None:  # they may be the user's
        moved = [c.to(dtype, copy=True) for c in moved]
    built = packing.build_levels(format, extents, moved, itemsize)
    return Arranged(Pattern(format, shape, built.pos, built.crd), found, built.slots, built.size)
