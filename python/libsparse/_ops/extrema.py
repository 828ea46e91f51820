"""Extrema over dimensions, and where they are."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from libsparse._autograd import tape
from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, IndexBoundsError, ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._runtime import notes
from libsparse._runtime.problem import Computed, Operand
from libsparse._runtime.repeats import by_kind
from libsparse._storage import memory, packing, sorting, threads
from libsparse._storage.fakes import is_fake

from . import alignment, reductions
from .operands import to_operand
from .reductions import Groups


class Extremum(NamedTuple):
    """The greatest or least elements over a dimension, and their places.

    Attributes:
        values: The elements.
        indices: The coordinate of the first one that is equal, int64.
    """

    values: Tensor
    indices: Tensor


@by_kind
def amax(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The greatest elements over `dim` (an int, several, or () for all); equal ones share the gradient."""
    return extremum("max", input, dim, keepdim)


@by_kind
def amin(input: Any, dim: Any = (), keepdim: bool = False) -> Tensor:
    """The least elements over `dim` (an int, several, or () for all); equal ones share the gradient."""
    return extremum("min", input, dim, keepdim)


def extremum(how: str, input: Any, dim: Any = (), keepdim: bool = False, *, nan_alone: bool = False) -> Tensor:
    """The greatest (`how` is max) or least (min) elements over `dim`; equal ones share the gradient.

    Args:
        how: max or min.
        input: A sparse tensor.
        dim: An int, several, or () for all.
        keepdim: Whether reduced dimensions stay.
        nan_alone: Where the extremum is NaN, whether the gradient goes to elements that are NaN, as torch has it for
            `max()` and norms, or is NaN for all of the group, as for `amax`.
    """
    groups = Groups(input, dim)
    source = groups.source
    if source.dtype.is_complex:
        raise DtypeError(f"a{how} of {source.dtype}, which has no order; use A.abs()")
    if groups.extent == 0:
        raise IndexBoundsError(f"a{how}: the tensor ({source}) has no elements in dimensions {sorted(groups.dims)}")
    operands = [Operand(source.pattern, source.data)]
    if not tape.needed(operands):
        found = _found(groups, how)
    elif tape.is_seen(operands) or tape.is_transformed(operands):
        found = _with_gradient(_found(groups, how), groups, nan_alone)
    else:
        found, _ = tape.follow(_Extremum, (how, groups.dims, source.fill, nan_alone), operands)
    return groups.shaped(found, keepdim)


def _found(groups: Groups, how: str) -> Tensor:
    """The greatest or least element of each group."""
    pattern, values, fill = groups.source.sparsity, groups.source.values.detach(), groups.source.fill
    few = not pattern.traced and pattern.size < alignment.MANY and _are_rows(groups)
    if few or not (groups.kept or pattern.traced):
        # A kernel takes as long to be found as few entries take, and doesn't know of those that are not stored.
        return notes.run(Computed(_of_rows if few else _of_all, (how, fill)), [Operand(pattern, values)])[0]
    return _by_kernel(groups, how)


def _by_kernel(groups: Groups, how: str) -> Tensor:
    stored, lacks = groups.reduce(groups.entries.detach(), how), groups.lacks()
    return notes.run(Computed(_beside, (how, groups.source.fill)), [Operand(None, stored), Operand(None, lacks)])[0]


def _beside(operands: Sequence[Operand], how: str, fill: Any) -> Tensor:
    """Extrema of what is stored, and of the fill value where a group lacks an element."""
    found, lacks = [operand.values for operand in operands]
    larger = torch.maximum if how == "max" else torch.minimum
    return torch.where(lacks, larger(found, reductions.number(fill, found.dtype)), found)


_KINDS = {torch.float32: "f", torch.float64: "d", torch.int64: "l"}  # what C compares


def _are_rows(groups: Groups) -> bool:
    """Whether groups are rows of a matrix that stores them one behind the other."""
    format = groups.source.sparsity.format
    return format.levels == ("d", "s") and groups.kept == format.order[:1] and not groups.source.dtype.is_complex


def _read(groups: Groups) -> tuple[Any, tuple[Any, ...], tuple[int, int], Any] | None:
    """What C is to know of the entries of rows, the threads that share them, and the tensors; None if it reads none."""
    pattern, radix = groups.source.sparsity, sorting.in_c()
    if radix is None or pattern.traced or not _are_rows(groups):
        return None
    own = groups.source.dtype
    wide = dtypes.accumulator(own) if own.is_floating_point else torch.int64
    arrays, values = pattern.compressed(1), groups.source.values.detach().to(wide).contiguous()
    if not all(map(sorting.is_plain, arrays)) or not sorting.is_plain(values, (wide,)):
        return None
    fill = groups.fill.to(wide)
    rows, extent = groups.source.shape[groups.kept[0]], groups.extent
    known = memory.address(values), _KINDS[wide], sorting.addresses(arrays), pattern.size, rows, extent, fill.data_ptr()
    return radix, known, threads.shared(rows + pattern.size), (values, fill)


def _led(groups: Groups, how: str, *, places: bool = True) -> tuple[Tensor, Tensor, Tensor] | None:
    """The greatest or least element of each row, the first column that has it, and the entry there, -1 without one.

    None where C doesn't read them; columns and entries only where `places` is set.
    """
    read = _read(groups)
    if read is None:
        return None
    radix, known, team, (values, _) = read
    rows = groups.source.shape[groups.kept[0]]
    found = torch.empty(rows, dtype=values.dtype, device="cpu")
    column, entry = torch.empty((2, rows if places else 0), dtype=torch.int64, device="cpu")
    radix.extreme_of_rows(*known, how == "max", *team, found.data_ptr(), column.data_ptr(), entry.data_ptr())
    return found.to(groups.source.dtype), column, entry


def _of_all(operands: Sequence[Operand], how: str, fill: Any) -> Tensor:
    """The greatest or least element of a tensor."""
    pattern, values = operands[0].sparsity, operands[0].values
    entries, outside = pattern.entries(values), reductions.number(fill, values.dtype)
    if not pattern.nnz:
        return outside.clone()
    found = torch.amax(entries) if how == "max" else torch.amin(entries)
    if pattern.nnz == math.prod(pattern.shape):
        return found
    return torch.maximum(found, outside) if how == "max" else torch.minimum(found, outside)


def _of_rows(operands: Sequence[Operand], how: str, fill: Any) -> Tensor:
    """The greatest or least element of each row of a matrix."""
    groups = Groups(operands[0]._replace(fill=fill), operands[0].sparsity.format.order[1])
    led = _led(groups, how, places=False)
    return _by_kernel(groups, how) if led is None else led[0]


class _Extremum(tape.Node):
    """The greatest or least elements, whose gradients are shared by those that are equal to them."""

    __slots__ = ()
    problem: Any

    def _groups(self, datas: Sequence[Any]) -> Groups:
        return Groups(Operand(self.patterns[0], datas[0], self.problem[2]), tuple(self.problem[1]))

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        found = _found(self._groups(datas), self.problem[0])
        return found, found

    def kept(self, datas: Sequence[Any]) -> Tensor:
        return _found(self._groups(datas), self.problem[0])

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        groups, found = self._groups(datas), self.kept(datas) if kept is None else kept.detach()
        shares = None if torch.is_grad_enabled() else _shares(groups, found, grad, self.problem[3])
        if shares is not None:
            return [shares]
        has_nan = bool((found != found).any())
        equal, ties = _shared(groups, found, has_nan and self.problem[3], has_nan)
        return [groups.source.sparsity.spread(torch.where(equal, groups.at_entries(grad / ties), 0))]


def _shares(groups: Groups, found: Tensor, grad: Tensor, nan_alone: bool) -> Tensor | None:
    """What each entry has of the gradient of an extremum, of all elements or of rows that C reads; None of others."""
    pattern = groups.source.sparsity
    if not (groups.kept or pattern.traced or tape.is_watched() or found != found):
        equal = groups.entries.detach() == found
        ties = int(equal.sum()) + (groups.extent - pattern.nnz if found == groups.fill else 0)
        return pattern.spread(torch.where(equal, grad / ties, 0))
    read = _read(groups)
    if read is None or grad.dtype != found.dtype:
        return None
    radix, known, team, (values, _) = read
    wide = values.dtype
    found, grad, shares = found.to(wide).contiguous(), grad.to(wide).contiguous(), torch.empty_like(values)
    if not sorting.is_plain(found, (wide,)) or not sorting.is_plain(grad, (wide,)):
        return None
    arrays = memory.address(found), memory.address(grad), shares.data_ptr()
    radix.share_of_extremes(*known, nan_alone, *team, *arrays)
    return shares.to(groups.source.dtype)


def _shared(groups: Groups, found: Tensor, nan_alone: bool, has_nan: bool = True) -> tuple[Tensor, Tensor]:
    """Which entries share the gradient of an extremum, and how many elements do."""
    compare = reductions.same if has_nan else torch.eq
    equal = compare(groups.entries.detach(), groups.at_entries(found))
    ties = groups.reduce(equal.to(found.dtype)) + groups.absent() * compare(found, groups.fill)
    if has_nan and not nan_alone:  # what is divided by NaN has NaN for a gradient
        equal, ties = equal | groups.at_entries(found != found), torch.where(found != found, found, ties)
    return equal, ties


def _with_gradient(found: Tensor, groups: Groups, nan_alone: bool) -> Tensor:
    """Extrema that autograd follows to the entries that are equal to them."""
    equal, ties = _shared(groups, found, nan_alone)
    shares = groups.reduce(torch.where(equal, groups.entries, 0) / groups.at_entries(ties))
    # The difference adds the gradient and 0; shares of an infinite extremum, or of one that is NaN, add up to it.
    return torch.where(shares.detach().isfinite(), found + (shares - shares.detach()), shares)


def argmax(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The coordinate over `dim` (None: the number in the whole tensor) of the first of the greatest elements, int64."""
    return _place("max", input, dim, keepdim)


def argmin(input: Any, dim: int | None = None, keepdim: bool = False) -> Tensor:
    """The coordinate over `dim` (None: the number in the whole tensor) of the first of the least elements, int64."""
    return _place("min", input, dim, keepdim)


def _place(how: str, input: Any, dim: int | None, keepdim: bool) -> Tensor:
    source = _constant(input)
    groups = Groups(source, dim)
    led = None if dim is None or source.sparsity.traced or not groups.extent else _led(groups, how)
    if led is not None:
        return groups.shaped(led[1], keepdim)
    return _places(groups, extremum(how, source, () if dim is None else dim), dim, keepdim)


def greatest(input: Any, dim: int, keepdim: bool = False) -> Extremum:
    """The greatest elements over a dimension, and where they are; the gradient of each goes to that place alone."""
    return _extremum("max", input, dim, keepdim)


def least(input: Any, dim: int, keepdim: bool = False) -> Extremum:
    """The least elements over a dimension, and where they are; the gradient of each goes to that place alone."""
    return _extremum("min", input, dim, keepdim)


def _extremum(how: str, input: Any, dim: int, keepdim: bool) -> Extremum:
    groups = Groups(input, dim)
    source = groups.source
    known = not source.sparsity.traced and groups.extent and source.sparsity.size
    led = _led(groups, how) if known else None
    if led is not None:
        found, columns, entries = led
        if tape.needed([source]):
            chosen = source.values.index_select(0, entries.clamp(min=0))
            found = torch.where(entries >= 0, chosen, found)
        return Extremum(groups.shaped(found, keepdim), groups.shaped(columns, keepdim))
    found = extremum(how, source.with_data(source.values.detach()), dim)
    places = _places(groups, found, dim, False)
    if tape.needed([source]):
        chosen = groups.at_entries(places) == source.sparsity.coordinates()[next(iter(groups.dims))]
        stored = groups.reduce(torch.where(chosen, groups.entries, 0))
        found = torch.where(groups.reduce(chosen.to(torch.int64)) > 0, stored, found)
    return Extremum(groups.shaped(found, keepdim), groups.shaped(places, keepdim))


def _constant(input: Any) -> Any:
    source = to_operand(input)
    if source.dtype == torch.bool:
        raise UnsupportedError("argmax and argmin of torch.bool; use A.to(torch.uint8)")
    return source.with_data(source.values.detach())


def _places(groups: Groups, found: Tensor, dim: int | None, keepdim: bool) -> Tensor:
    """The first place in each group of the element that was found."""
    pattern = groups.source.sparsity
    if len(groups.dims) != 1 and dim is not None:
        raise ShapeError(f"argmax and argmin take one dimension, got {dim}")
    coords = pattern.linear() if dim is None else pattern.coordinates()[next(iter(groups.dims))]
    entries, wanted = groups.entries.detach(), groups.at_entries(found)
    unknown = is_fake(found) or is_functorch_wrapped_tensor(found)
    equal = reductions.same(entries, wanted) if unknown or bool((found != found).any()) else entries == wanted
    none = torch.iinfo(torch.int64).max
    first = groups.reduce(torch.where(equal, coords, none), "min")
    outside = (groups.absent() > 0) & reductions.same(found, groups.fill)
    if is_fake(outside) or is_functorch_wrapped_tensor(outside) or bool(outside.any()):
        lacking = groups.of_pattern("first absent elements", functools.partial(_first_absent, groups, coords))
        first = torch.where(outside, torch.minimum(first, lacking), first)
    return groups.shaped(first, keepdim)


def _first_absent(groups: Groups, coords: Tensor) -> Tensor:
    """The least coordinate in each group that is not stored."""
    extents = [groups.source.shape[d] for d in groups.kept]
    numbers = torch.arange(math.prod(extents), device="cpu").reshape(extents)
    group = groups.at_entries(numbers)
    order = sorting.sort_order([group, coords], [max(numbers.numel(), 1), max(groups.extent, 1)])
    if order is not None:
        group, coords = group.index_select(0, order), coords.index_select(0, order)
    starts = packing.starts(group, numbers.numel(), torch.int64)
    rank = torch.arange(coords.numel(), device="cpu") - starts.index_select(0, group)
    # As coordinates ascend and differ, they equal their ranks as long as none is absent.
    found = torch.zeros(numbers.numel(), dtype=torch.int64, device="cpu")
    return found.index_add(0, group, (coords == rank).to(torch.int64)).reshape(extents)
