"""Conversions: a pattern brought to another layout, and the places that its values come from."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch._C import _functorch
from torch.autograd import forward_ad

from libsparse._lang.errors import InternalError
from libsparse._lang.records import NamedTuple

from . import levels, memory, ordinary, packing, sorting, threads
from .format import Format

_SIZES = (1, 2, 4, 8)  # bytes of values that C takes
_MANY = 1 << 14  # entries whose places take longer to find than a second call of a kernel
_NARROW = 1 << 12  # places in int32 from which on C takes less time than torch, which needs them in int64
_watchers = (torch._C._len_torch_dispatch_stack, torch._C._len_torch_function_stack, torch._C._get_tracing_state)

Pattern = Any
"""A `Pattern`, which is defined above and keeps its conversions."""


class Conversion(NamedTuple):
    """A pattern that was made of another: brought to another format, selected from, reshaped.

    Attributes:
        pattern: The new pattern.
        source: The places of the values that are taken, among those it came from; None where that is all of them.
        target: Where padding was added, the place of each value that is taken among the new ones.
    """

    pattern: Pattern
    source: Tensor | None
    target: Tensor | None

    def source_pointer(self) -> int:
        """The address of `source`, which kernels that convert by mode order read values through."""
        assert self.source is not None
        return self.source.data_ptr()

    def after(self, source: Tensor) -> Conversion:
        """This, of values that are first taken from these places."""
        return self._replace(source=source if self.source is None else taken(source, self.source))

    def values(self, values: Tensor, fill: float = 0) -> Tensor:
        """Carries values over, numbers or arrays with one row an entry; differentiable. Padding is `fill`."""
        if self.source is not None:
            values = taken(values, self.source)
        if self.target is not None:
            return values.new_full((self.pattern.size, *values.shape[1:]), fill).index_copy(0, self.target, values)
        return values


class Begun(NamedTuple):
    """The pattern that the first values brought to another format have there: nobody has asked for their places yet.

    Attributes:
        pattern: The pattern.
    """

    pattern: Pattern

    def completed(self, source: Pattern, format: Format) -> Conversion:
        """The conversion with places, which `source` keeps from now on."""
        begun = time.perf_counter()
        with ordinary.tensors():
            whole: Conversion = source._converted(format)._replace(pattern=self.pattern)
        source._kept.entries["format", format] = whole, time.perf_counter() - begun
        return whole


def _no_converter(pattern: Pattern, format: Format) -> Conversion:
    raise InternalError(f"nothing converts {pattern} to format {format}")


_Carry = Callable[[Pattern, Tensor, Format, float], tuple[Tensor, Pattern] | None]
_convert: Callable[[Pattern, Format], Conversion] = _no_converter
_carry: _Carry = lambda pattern, values, format, fill: None  # noqa: E731  # before there are kernels


def set_converter(convert: Callable[[Pattern, Format], Conversion], carry: _Carry) -> None:
    """Register the functions that bring patterns, or values with them, to other formats: kernels are above patterns."""
    global _convert, _carry
    _convert, _carry = convert, carry


def first_values(pattern: Pattern, values: Tensor, format: Format, fill: float) -> tuple[Tensor, Pattern] | None:
    """The first values of a pattern that are brought to another format, with the pattern there.

    Most patterns see one such call. To copy values with coordinates takes a kernel little more than to number entries,
    and their places, by which later calls take values alone, are found from the second call on.

    Returns:
        None of later calls, of few entries, where entries stay in their order, and where torch follows values.
    """
    name = "format", format
    if pattern.traced or pattern._kept.get(name) is not None or values.numel() < _MANY or not _nobody_watches(values):
        return None
    for dims, origin in _origins(pattern):
        carried = first_values(origin, values, format.permute(dims), fill)
        return None if carried is None else (carried[0], carried[1].transposed(inverse(dims)))
    with ordinary.tensors():
        carried = _carry(pattern, values, format, fill)
    if carried is None:
        return None
    return carried[0], pattern._keep(name, lambda: Begun(carried[1])).pattern


def convert(pattern: Pattern, format: Format) -> Conversion:
    """The pattern in another format; a transpose of another pattern shares arrays with the conversion of that one."""
    for dims, origin in _origins(pattern):
        converted, source, target = origin.converted(format.permute(dims))
        return Conversion(converted.transposed(inverse(dims)), source, target)
    return _convert(pattern, format)


def _origins(pattern: Pattern) -> list[tuple[tuple[int, ...], Pattern]]:
    """The patterns of which this one is a transpose, with the orders of modes."""
    weak = [(dims, p()) for dims, p in tuple(pattern.transposes.items()) if isinstance(p, weakref.ref)]
    return [(dims, origin) for dims, origin in weak if origin is not None]


def is_converted(pattern: Pattern) -> bool:
    """Whether a pattern, or what it is a transpose of, is kept in another format."""
    patterns = pattern, *[origin for _, origin in _origins(pattern)]
    return any([kept._kept.holds("format") for kept in patterns])


def keepers(pattern: Pattern, format: Format) -> list[tuple[Pattern, tuple[str, Format]]]:
    """The patterns that keep a conversion once it is made, and the name that it has there."""
    origins = [(origin, ("format", format.permute(dims))) for dims, origin in _origins(pattern)]
    return [(pattern, ("format", format)), *origins]


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The order of modes that undoes another one."""
    return tuple(sorted(range(len(dims)), key=dims.__getitem__))


def with_dense(pattern: Pattern, format: Format, shape: tuple[int, ...], block: tuple[int, ...] = ()) -> Pattern:
    """The pattern with the same sparse levels and other dense ones below: it has the same arrays.

    Args:
        pattern: What has the sparse levels.
        format: The levels, the same down to the last that is not dense.
        shape: The shape.
        block: The shape of each value where values are arrays.
    """
    if pattern.format == format and pattern.shape == shape:  # whatever its block: results have that of their operand
        return pattern
    origin = (pattern.origin and pattern.origin()) or pattern  # which keeps all of them, so that each is made once
    if (origin.format, tuple(origin.shape), origin.block) == (format, shape, block):
        return origin

    def build() -> Pattern:
        pos, crd = (tuple(arrays[: format.sparse_levels]) for arrays in (origin.pos, origin.crd))
        nothing = (None,) * (len(format.levels) - format.sparse_levels)
        made = type(origin)(format, shape, pos + nothing, crd + nothing, block)
        made.origin = weakref.ref(origin)  # weak: no cycle that keeps arrays alive
        return made

    return origin._keep(("dense levels", format.text, shape, block), build)


def above(pattern: Pattern, count: int) -> Pattern | None:
    """The pattern of the first modes, so many, where the others are its last levels, in order and dense; else None."""
    format, ndim = pattern.format, pattern.ndim
    if format.order[count:] != tuple(range(count, ndim)) or format.sparse_levels > count or not count:
        return None
    block = pattern.block[: max(len(pattern.block) - (ndim - count), 0)]
    levels, order = "".join(format.levels[:count]), ",".join(map(str, format.order[:count]))
    return with_dense(pattern, Format(f"{levels}:{order}"), pattern.shape[:count], block)


def in_arrays(pattern: Pattern, values: Tensor) -> Tensor:
    """Values in the shape in which users have them: (nnz, *block) where they are arrays."""
    block = pattern.block
    if 0 not in block:
        return values.reshape(-1, *block) if block else values
    rows = above(pattern, pattern.ndim - len(block))  # -1 stands for any number of nothing
    return values.reshape(0 if rows is None else rows.size, *block)


def expanded(pattern: Pattern) -> tuple[Tensor, Tensor | None]:
    """The coordinates of the entries, and their places among the values: in order, None where each value has an entry.

    A walk goes through blocks, slices and diagonals in the order of rows.
    """
    format, extents, size = pattern.format, pattern.extents, pattern.size
    if len(extents) > 1 and (found := levels.in_blocks(format.kinds, extents, pattern.pos[-1], pattern.crd[-1])):
        by_level, places = found
        return torch.stack([by_level[format.order.index(mode)] for mode in range(len(extents))]), places
    if (listed := _listed(pattern)) is not None:
        return listed, None
    coords, places = packing.expand_levels(format, extents, pattern.pos, pattern.crd)
    if places is None:
        return coords, places
    ordered = coords.new_empty((len(coords), size))
    ordered[:, places] = coords
    if places.numel() == size:
        return ordered, None
    held = torch.zeros(size, dtype=torch.bool, device="cpu")
    held[places] = True
    places = held.nonzero().flatten()
    return ordered.index_select(1, places), places


def _listed(pattern: Pattern) -> Tensor | None:
    """The coordinates of a pattern that has them all in lists, as COO has; None of others."""
    first, *others = pattern.format.kinds
    if pattern.traced or first.padded or not (first.segmented and all([level.branchless for level in others])):
        return None
    lists = [pattern.crd[pattern.format.order.index(mode)] for mode in range(pattern.ndim)]
    whole = [array for array in lists if array is not None and array.numel() == pattern.size]
    if len(whole) < len(lists):
        return None
    return torch.stack(whole).to(torch.int64) if len({a.dtype for a in whole}) == 1 else None


def without_ones(pattern: Pattern) -> Pattern:
    """The pattern without its last modes of extent 1, as far as `above` has one."""
    count = pattern.ndim
    while count > 1 and pattern.shape[count - 1] == 1 and pattern.format.sparse_levels < count:
        count -= 1
    return above(pattern, count) or pattern


def extended(pattern: Pattern, extents: tuple[int, ...], block: tuple[int, ...] = ()) -> Pattern:
    """The pattern with modes of these extents behind the others, as dense levels, and values that are arrays or not."""
    order = ",".join(map(str, (*pattern.format.order, *range(pattern.ndim, pattern.ndim + len(extents)))))
    format = Format(f"{''.join(pattern.format.levels)}{'d' * len(extents)}:{order}")
    return with_dense(pattern, format, (*pattern.shape, *extents), block)


def alike(a: Pattern, b: Pattern) -> bool:
    """Whether two patterns have the same entries in the same places, which is said of none that torch traces."""
    if a is b:
        return True
    if a.traced or b.traced or (a.format, a.shape, a.size) != (b.format, b.shape, b.size):
        return False
    pairs = zip((*a.pos, *a.crd), (*b.pos, *b.crd), strict=True)
    with ordinary.unseen():  # a graph of torch takes no answers
        return all([m is n or (m is not None and n is not None and torch.equal(m, n)) for m, n in pairs])


def rows_by_length(pattern: Pattern) -> Tensor:
    """The numbers of the rows, stored as those of CSR, with those of similar length side by side; found once."""
    pos = pattern.pos[1]
    assert pos is not None
    order: Tensor = pattern._keep(("order of rows",), lambda: sorting.by_length(pos))
    return order


def taken(values: Tensor, source: Tensor) -> Tensor:
    """The values at these places, each of which is there; differentiable. torch takes them by one thread, of int64."""
    if type(values) is not Tensor or type(source) is not Tensor or torch.compiler.is_compiling():
        return values.index_select(0, _wide(source))  # someone else is to see it, and lengths may be symbols
    count = source.numel()
    shared = threads.shared(count)
    narrow = source.dtype == torch.int32 and count >= _NARROW
    radix = sorting.in_c() if shared[0] > 1 or narrow else None
    if radix is None or not _nobody_watches(values) or not sorting.is_plain(source):
        return values.index_select(0, _wide(source))
    out = values.new_empty(count)
    places = memory.address(source), source.dtype == torch.int64
    given = memory.address(values), values.itemsize, values.numel()
    if not radix.take(*given, *places, out.data_ptr(), count, *shared):
        return values.index_select(0, source)  # which says what is wrong
    return out


def wide_places(source: Tensor) -> Tensor:
    """Places as `taken` needs them, once for calls that repeat: in int64 where they are few."""
    return _wide(source) if source.numel() < _NARROW else source


def _wide(source: Tensor) -> Tensor:
    """Places in int64: of others some versions of torch have no gradients in torch.func."""
    return source if source.dtype == torch.int64 else source.long()


def _nobody_watches(values: Tensor) -> bool:
    """Whether C may take values: neither autograd nor a mode, transform or trace of torch's wants to see it."""
    if any([watcher() for watcher in _watchers]) or forward_ad._current_level >= 0:
        return False
    if (values.requires_grad and torch.is_grad_enabled()) or _functorch.is_functorch_wrapped_tensor(values):
        return False
    if not values.is_cpu or values.layout != torch.strided or values.ndim != 1 or not values.is_contiguous():
        return False
    return values.itemsize in _SIZES and not values.is_conj() and not values.is_neg()
