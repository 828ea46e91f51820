"""Entries: coordinates on their way from one pattern to another."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError, ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._ops.assemble import to_format
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand
from libsparse._storage import boxes, memory, ordinary, packing, padding, sorting, threads
from libsparse._storage.conversion import Conversion, taken
from libsparse._storage.fakes import is_fake
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from .copied_rows import first_rows

_NOTED = 1 << 15  # values, up to which finding the places takes longer than moving them
_MANY_ROWS = 1 << 24  # of a matrix, whose starts take 64 MiB


class Entries(NamedTuple):
    """Coordinates, and where each of them has its value.

    Attributes:
        coords: One int64 array a mode.
        places: The place of each entry among the values of the source; None for all of them, in order.
        shape: The extents of the modes.
        nnz: How many entries there are.
    """

    coords: tuple[Tensor, ...]
    places: Tensor | None
    shape: tuple[int, ...]
    nnz: int

    def take(self, numbers: Tensor) -> Entries:
        """The entries of these numbers, in this order."""
        coords = tuple(taken(c, numbers) for c in self.coords)
        places = numbers if self.places is None else taken(self.places, numbers)
        return Entries(coords, places, self.shape, numbers.numel())

    def keep(self, mask: Tensor) -> Entries:
        """The entries where a mask is true."""
        return self.take(mask.nonzero().squeeze(1))

    def at(self, coords: Sequence[Tensor], shape: Sequence[int]) -> Entries:
        """The same entries at other coordinates."""
        return Entries(tuple(coords), self.places, tuple(shape), self.nnz)


def entries_of(pattern: Pattern) -> Entries:
    """The entries of a pattern."""
    coords = pattern.coordinates()
    places = pattern._places() if pattern.format.padded else None
    return Entries(tuple(coords), places, tuple(pattern.shape), coords.shape[1])


def kept_format(format: Format, shape: Sequence[int]) -> Format:
    """The format of a result of a shape: that of the operand where the rank allows, else the usual one.

    The usual one of matrices has an array as long as there are rows, and an operand that has no such array may have far
    more rows than entries.
    """
    ndim = len(shape)
    if len(format.levels) == ndim:
        return format
    if len(format.levels) > 1 and format == "coo" and ndim > 0:
        return Format("coo").resolve(ndim)
    listed = ndim == 2 and "d" not in format.levels and shape[0] > _MANY_ROWS
    return Format("dcsr") if listed else default_format(ndim)


@ordinary.outside_inference
def pack(entries: Entries, format: Format, itemsize: int = 8) -> Conversion:
    """The pattern of distinct entries in a format, and how values get there.

    A format that isn't for such extents, or would be next to only padding, is replaced by one without.
    """
    format = format.fitting(entries.shape)
    if format.writable != format and not padding.suits(format, entries.shape, entries.coords):
        format = format.writable
    built_in = format if format.writable == format else format.compressed
    coords = [entries.coords[mode] for mode in built_in.order]
    extents = [entries.shape[mode] for mode in built_in.order]
    rows = sorting.compress(coords, extents, threads.count()) if built_in.levels == ("d", "s") else None
    target = None
    if rows is not None:
        order = rows.order
        pattern = Pattern(built_in, entries.shape, (None, rows.pos), (None, rows.crd))
    else:
        coords, order = _sorted(coords, extents)
        built = packing.build_levels(built_in, extents, coords, itemsize)
        pattern, target = Pattern(built_in, entries.shape, built.pos, built.crd), built.slots
    places = entries.places
    if order is not None:
        places = order if places is None else taken(places, order)
    if built_in != format:
        pattern, source, target = pattern.converted(format)
        if source is not None:
            places = source if places is None else taken(places, source)
    return Conversion(pattern, places, target)


def _sorted(coords: list[Tensor], extents: list[int]) -> tuple[list[Tensor], Tensor | None]:
    """Distinct coordinates in order, and where each was; None where they were in order already."""
    if is_fake(coords[0]):
        order = sorting.sort_order(coords, extents)
        return coords if order is None else [taken(c, order) for c in coords], order
    found = sorting.sort(coords, extents, packing.index_dtype(extents, coords[0].numel()), threads.count())
    return found.coords, found.order


def carry(source: Operand, conversion: Conversion) -> Operand:
    """An operand whose entries have gone to another pattern; differentiable."""
    data = None if source.data is None else conversion.values(source.data, source.fill)
    return Operand(conversion.pattern, data, source.fill)


def carry_kept(source: Operand, conversion: Conversion) -> Operand:
    """As `carry`, by a conversion that is kept with the pattern: a call like this needs to find none."""
    data = source.data
    if data is None or (conversion.source is None and conversion.target is None):
        return Operand(conversion.pattern, data, source.fill)
    found = conversion.values(data, source.fill)
    if found.numel() <= _NOTED and data.numel() <= _NOTED:  # what is noted keeps the places
        notes.applied(functools.partial(conversion.values, fill=source.fill), (data,), found)
    return Operand(conversion.pattern, found, source.fill)


def derive(
    source: Operand,
    name: tuple[Any, ...],
    change: Callable[[Entries], Entries],
    format: Format | None = None,
    *,
    short: Callable[[Pattern], Conversion | None] | None = None,
    rows: Callable[[], Tensor] | None = None,
) -> Operand:
    """The result of a function of shape; the pattern keeps the last few of its results' patterns.

    Args:
        source: The operand.
        name: What tells the function and its arguments from others.
        change: Gives the entries of the result; those of a result without dimensions are at most one.
        format: The format of the result; by default that of the operand, where the rank allows.
        short: Gives the result's pattern where there is a shorter way to it than by all entries, None elsewhere.
        rows: Makes the numbers of the rows that the function selects; None of one that does more.
    """
    pattern, name = source.sparsity, (*name, format)
    copied = None if rows is None else first_rows(source, name, rows)
    if copied is not None:
        return copied

    def build() -> Conversion | Entries:
        if short is not None and not torch.is_inference_mode_enabled() and (found := short(pattern)) is not None:
            return found
        changed = change(entries_of(pattern))
        if not changed.shape:
            return changed
        size = 1 if source.data is None else source.data.element_size()
        return pack(changed, kept_format(pattern.format, changed.shape) if format is None else format, size)

    found = pattern.derive(name, build)
    return carry_kept(source, found) if isinstance(found, Conversion) else scalar(source, found)


def scalar(source: Operand, entries: Entries) -> Operand:
    """A dense tensor without dimensions: the value of the only entry, or the fill value."""
    if not entries.nnz:
        return Operand(None, fill_of(source))
    values = source.values
    return Operand(None, values[0] if entries.places is None else taken(values, entries.places)[0])


def fill_of(source: Operand) -> Tensor:
    """The fill value as a tensor that autograd follows: the gradient of an element that is not stored is zeros."""
    fill, data = torch.full((), source.fill, dtype=source.dtype, device="cpu"), source.data
    return fill if data is None or not data.requires_grad else fill + data[:0].sum()


def look_up(source: Operand, coords: Sequence[Tensor]) -> Tensor:
    """The values at these coordinates, stored or not: one array of them; differentiable."""
    if source.sparsity.format.padded:  # whose coordinates are in no order in which they are found
        source = to_format(source, source.sparsity.format.compressed)
    pattern, count = source.sparsity, coords[0].numel()
    memory.check(count, source.dtype.itemsize, "the elements that are looked up", "look up fewer at a time")
    fill = fill_of(source)
    if not pattern.size or not count:
        return fill.expand(count)
    values = pattern.entries(source.values)
    if not values.numel():
        return fill.expand(count)
    order = pattern.format.order
    places = boxes.places(pattern, coords[order[0]], coords[order[1]]) if len(order) == 2 else None
    if places is not None:
        return torch.where(places >= 0, taken(values, places.clamp(min=0)), fill)
    numbers, found = packing.locate(list(coords), list(pattern.coordinates()), pattern.shape)
    return torch.where(found, taken(values, numbers.clamp(max=values.numel() - 1)), fill)


def sparse_operand(value: Any, name: str) -> Operand:
    """Takes apart a SparseTensor.

    Raises:
        UnsupportedError: It is a dense tensor.
    """
    if not is_sparse(value):
        raise UnsupportedError(
            f"{name}: the first argument ({to_operand(value)}) is dense; expected an ls.SparseTensor there, and only "
            "there: use to_dense() of the sparse argument, or ls.tensor(x) of the first"
        )
    return to_operand(value)


def unravel(keys: Tensor, shape: Sequence[int]) -> list[Tensor]:
    """The coordinates of elements from their numbers in row-major order; the first is negative where a number is.

    There is one division a mode: torch's take several times as long as all else together.
    """
    coords: list[Tensor] = []
    for extent in reversed(shape[1:]):
        extent = max(extent, 1)
        above = torch.div(keys, extent, rounding_mode="floor")
        coords.insert(0, torch.sub(keys, above, alpha=extent))
        keys = above
    return [keys, *coords] if shape else coords


def renumbered(entries: Entries, old: tuple[int, ...], new: tuple[int, ...]) -> list[Tensor]:
    """The coordinates under another shape: runs of modes with the same product are renumbered together."""
    if not entries.nnz:
        return [torch.zeros(0, dtype=torch.int64, device="cpu") for _ in new]
    coords: list[Tensor] = []
    i = j = 0
    while i < len(old) or j < len(new):
        keys: Tensor | None = None  # the numbers of elements in the modes of the run
        group: list[int] = []
        here = there = 1
        while True:  # the shortest run of modes on each side with equal products
            if i < len(old) and (here <= there or j == len(new)):
                here *= old[i]
                keys = entries.coords[i] if keys is None else keys * old[i] + entries.coords[i]
                i += 1
            else:
                there *= new[j]
                group.append(new[j])
                j += 1
            if here == there:
                break
        if here >= 2**63:
            raise UnsupportedError(f"reshape of shape {old} to {new}: {here} elements can't be numbered")
        if keys is None:
            keys = torch.zeros(entries.nnz, dtype=torch.int64, device="cpu")
        longer = [extent for extent in group if extent != 1]
        divided = iter([keys] if len(longer) <= 1 else unravel(keys, longer))
        coords += [next(divided) if extent != 1 else torch.zeros_like(keys) for extent in group]
    return coords


def wrap(dim: int, ndim: int, name: str) -> int:
    """A dimension counted from the front.

    Raises:
        IndexBoundsError: There is no such dimension.
        DtypeError: It is no int.
    """
    if isinstance(dim, bool):
        raise DtypeError(f"{name}: dim is {dim!r}; expected an int")
    dim, bound = integer(f"{name}: dim", dim), max(ndim, 1)
    if not -bound <= dim < bound:
        raise IndexBoundsError(
            f"{name}: dimension {dim} is out of range; the tensor has {ndim} dimensions, so it is between {-bound} "
            f"and {bound - 1}"
        )
    return dim % bound


def integers(name: str, given: Any) -> tuple[int, ...]:
    """A sequence of ints that was handed over as the argument `name`.

    Raises:
        DtypeError: It is something else.
    """
    try:
        return tuple(operator.index(n) for n in given)
    except TypeError:
        raise DtypeError(f"{name} is {given!r}; expected ints") from None


def integer(name: str, given: Any) -> int:
    """An int that was handed over as the argument `name`.

    Raises:
        DtypeError: It is something else.
    """
    try:
        return operator.index(given)
    except TypeError:
        raise DtypeError(f"{name} is {given!r}; expected an int") from None


def check_extents(shape: Sequence[int], name: str) -> None:
    """The extents of a result fit 64 bits, as its coordinates have to.

    Raises:
        ShapeError: One does not.
    """
    if any(isinstance(n, int) and n >= 2**63 for n in shape):  # what torch traces has symbols, which stand for 64 bits
        raise ShapeError(f"{name}: the result would have shape {tuple(shape)}; expected extents that fit 64 bits")


def numbered(shape: Sequence[int]) -> bool:
    """Whether the elements of a shape can be numbered."""
    return math.prod(shape) < 2**63
