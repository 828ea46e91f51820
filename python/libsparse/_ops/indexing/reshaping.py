"""Functions that give entries other coordinates: reshape, expand, repeat, flip, roll and their like."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._ops.tracing import moves
from libsparse._runtime.problem import Operand
from libsparse._storage import memory
from libsparse._storage.boxes import has_far_more_rows
from libsparse._storage.conversion import Conversion, extended
from libsparse._storage.pattern import Pattern

from .arrays import above_blocks, moved, regrouped, with_blocks
from .entries import Entries, check_extents, derive, integer, integers, renumbered, sparse_operand, unravel, wrap
from .getitem import index_select
from .rows import backwards, has_readable_rows, tiled, with_rows


@moves(torch.reshape)
def reshape(input: Any, shape: Sequence[int]) -> Operand:
    """The elements in row-major order under another shape; one extent may be -1. Differentiable.

    Raises:
        ShapeError: The shape has another number of elements.
    """
    source = sparse_operand(input, "reshape")
    old, new = tuple(source.shape), _inferred(tuple(source.shape), integers("reshape: shape", shape))
    if new == old:
        return source
    above = above_blocks(source)
    parts = None if above is None else regrouped(above.shape, source.sparsity.block, new)
    if above is not None and parts is not None:
        return with_blocks(reshape(above, parts[0]), parts[1])
    ones = (1,) * (len(new) - len(old))
    if ones and old and new == old + ones and source.data is not None and not source.sparsity.traced:
        return source._replace(pattern=extended(source.sparsity, ones))
    return derive(source, ("reshape", new), lambda entries: entries.at(renumbered(entries, old, new), new))


def _inferred(old: tuple[int, ...], new: tuple[int, ...]) -> tuple[int, ...]:
    """A shape with its -1 replaced."""
    total, open_dims = math.prod(old), new.count(-1)
    known = math.prod(n for n in new if n != -1)
    if open_dims > 1 or any(n < -1 for n in new):
        raise ShapeError(f"reshape: shape {new} has more than one negative extent, or one below -1")
    fits = known == total if not open_dims else known > 0 and total % known == 0
    if not fits:
        raise ShapeError(f"reshape: shape {new} is invalid for a tensor of shape {old}, which has {total} elements")
    return tuple(total // known if n == -1 else n for n in new)


def flatten(input: Any, start_dim: int = 0, end_dim: int = -1) -> Operand:
    """Adjacent dimensions made one.

    Raises:
        ShapeError: The first dimension comes after the last.
    """
    source = sparse_operand(input, "flatten")
    first, last = wrap(start_dim, source.ndim, "flatten"), wrap(end_dim, source.ndim, "flatten")
    if first > last:
        raise ShapeError(f"flatten: start_dim {start_dim} comes after end_dim {end_dim}")
    shape = tuple(source.shape)
    return reshape(source, (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :]))


def unflatten(input: Any, dim: int, sizes: Sequence[int]) -> Operand:
    """One dimension made several.

    Raises:
        ShapeError: The extents don't multiply to that of the dimension.
    """
    source = sparse_operand(input, "unflatten")
    mode, shape = wrap(dim, source.ndim, "unflatten"), tuple(source.shape)
    parts = _inferred((shape[mode],), tuple(int(n) for n in sizes))
    return reshape(source, (*shape[:mode], *parts, *shape[mode + 1 :]))


def squeeze(input: Any, dim: int | Sequence[int] | None = None) -> Operand:
    """The tensor without dimensions of extent 1: all of them, or those that are named."""
    source = sparse_operand(input, "squeeze")
    named = range(source.ndim) if dim is None else dimensions(source, dim, "squeeze")
    return reshape(source, [n for mode, n in enumerate(source.shape) if mode not in named or n != 1])


def unsqueeze(input: Any, dim: int) -> Operand:
    """The tensor with a new dimension of extent 1."""
    source = sparse_operand(input, "unsqueeze")
    place, shape = wrap(dim, source.ndim + 1, "unsqueeze"), tuple(source.shape)
    return reshape(source, (*shape[:place], 1, *shape[place:]))


def dimensions(source: Operand, dim: Any, name: str) -> tuple[int, ...]:
    """The dimensions that an argument names, counted from the front.

    Raises:
        ShapeError: One is named twice.
        IndexBoundsError: One is out of range.
    """
    given = list(dim) if isinstance(dim, (list, tuple)) else [dim]
    dims = tuple(wrap(d, source.ndim, name) for d in given)
    if len(set(dims)) < len(dims):
        raise ShapeError(f"{name}: dimension {dim} is named twice")
    return dims


def expand(input: Any, shape: Sequence[int]) -> Operand:
    """Dimensions of extent 1 repeated, and new ones in front; -1 keeps an extent. Entries are copied; differentiable.

    Raises:
        ShapeError: Another dimension would change.
    """
    source = sparse_operand(input, "expand")
    old, new = tuple(source.shape), integers("expand: shape", shape)
    added = len(new) - len(old)
    aligned = (1,) * max(added, 0) + old
    wanted = tuple(n if n != -1 or place < added else aligned[place] for place, n in enumerate(new))
    if added < 0 or any(n < 0 or (n != m and m != 1) for n, m in zip(wanted, aligned, strict=False)):
        raise ShapeError(f"expand: a tensor of shape {old} does not expand to {new}: only extents of 1 are repeated")
    times = [n if m == 1 else 1 for n, m in zip(wanted, aligned, strict=True)]
    return _tiled(source, times)


def repeat(input: Any, repeats: Sequence[int]) -> Operand:
    """The tensor side by side with itself, so many times along each dimension; new dimensions are in front.

    Raises:
        ShapeError: There are fewer numbers than dimensions, or negative ones.
    """
    source = sparse_operand(input, "repeat")
    times = integers("repeat: repeats", repeats)
    if len(times) < source.ndim or any(n < 0 for n in times):
        raise ShapeError(
            f"repeat: {tuple(times)} for a tensor of shape {tuple(source.shape)}; expected a number from 0 on for each "
            "dimension"
        )
    return _tiled(source, times)


def tile(input: Any, dims: Sequence[int]) -> Operand:
    """As `repeat`, with ones for dimensions in front that have no number."""
    source = sparse_operand(input, "tile")
    return repeat(source, (1,) * (source.ndim - len(dims)) + integers("tile: dims", dims))


@moves(lambda source, times: source.repeat(times))
def _tiled(source: Operand, times: Sequence[int]) -> Operand:
    """The tensor repeated along its dimensions, and along new ones in front."""
    added = (1,) * (len(times) - source.ndim)
    old = added + tuple(source.shape)
    new = tuple(n * m for n, m in zip(times, old, strict=True))
    count = math.prod(times)
    check_extents(new, "repeat")

    def check(size: int) -> None:
        subject = f"repeat: coordinates of the {size * count} entries of a result of shape {new}"
        memory.check(size * count, 8 * (len(new) + 2), subject, "repeat fewer times, or fewer entries")

    def change(entries: Entries) -> Entries:
        check(entries.nnz)
        numbers = torch.arange(entries.nnz, device="cpu").repeat_interleave(count)
        copy = unravel(torch.arange(count, device="cpu").repeat(entries.nnz), times)
        taken = entries.take(numbers)
        inner = (torch.zeros(taken.nnz, dtype=torch.int64, device="cpu"),) * len(added) + taken.coords
        offsets = zip(inner, copy, old, times, strict=True)
        return taken.at([c if n == 1 else c + k * m for c, k, m, n in offsets], new)

    def short(pattern: Pattern) -> Conversion | None:
        if added or not count or not has_readable_rows(pattern):
            return None
        if has_far_more_rows(pattern, times[pattern.format.order[0]], count):
            return None
        check(pattern.size)
        return tiled(pattern, times)

    return derive(source, ("repeat", tuple(times)), change, short=short)


@moves(lambda input, dims: input)
def flip(input: Any, dims: Any) -> Operand:
    """The tensor with the order of coordinates reversed in some dimensions."""
    source = sparse_operand(input, "flip")
    turned = dimensions(source, dims, "flip")
    return moved(source, turned, lambda source: _flipped(source, turned))


def _flipped(source: Operand, turned: tuple[int, ...]) -> Operand:

    def change(entries: Entries) -> Entries:
        pairs = enumerate(zip(entries.coords, entries.shape, strict=True))
        return entries.at([n - 1 - c if mode in turned else c for mode, (c, n) in pairs], entries.shape)

    def short(pattern: Pattern) -> Conversion | None:
        outer = pattern.format.order[0]
        if turned == (outer,):
            return with_rows(pattern, lambda rows: rows.flip(0))
        if not turned or not has_readable_rows(pattern):
            return None
        both = backwards(pattern)
        rows = None if outer in turned else with_rows(both.pattern, lambda rows: rows.flip(0))
        return both if rows is None or both.source is None else rows.after(both.source)

    outer = source.sparsity.format.order[0]
    backward = functools.partial(torch.arange, source.shape[outer] - 1, -1, -1, device="cpu")
    rows = backward if turned == (outer,) else None
    return derive(source, ("flip", frozenset(turned)), change, short=short, rows=rows)


@moves(lambda input, shifts, dims=None: input)
def roll(input: Any, shifts: Any, dims: Any = None) -> Operand:
    """The tensor with coordinates shifted around; without `dims`, the flattened tensor.

    Raises:
        ShapeError: There are not as many shifts as dimensions.
    """
    source = sparse_operand(input, "roll")
    by = integers("roll: shifts", shifts if isinstance(shifts, (list, tuple)) else [shifts])
    modes = [] if dims is None else [wrap(d, source.ndim, "roll") for d in _listed(dims)]
    if not modes and len(by) == 1:
        return reshape(roll(flatten(source), by, 0), source.shape)
    if len(by) != len(modes):
        raise ShapeError(f"roll: {len(by)} shifts for {len(modes)} dimensions")
    return moved(source, modes, lambda source: _rolled(source, by, modes))


def _rolled(source: Operand, by: Sequence[int], modes: Sequence[int]) -> Operand:
    """The tensor with coordinates of some modes shifted around."""

    def change(entries: Entries) -> Entries:
        coords = list(entries.coords)
        for mode, shift in zip(modes, by, strict=True):
            coords[mode] = (coords[mode] + shift) % max(entries.shape[mode], 1)
        return entries.at(coords, entries.shape)

    def short(pattern: Pattern) -> Conversion | None:
        return with_rows(pattern, lambda rows: rows.roll(by)) if tuple(modes) == pattern.format.order[:1] else None

    outer = source.sparsity.format.order[0]
    rows = (lambda: torch.arange(source.shape[outer], device="cpu").roll(by)) if tuple(modes) == (outer,) else None
    return derive(source, ("roll", tuple(by), tuple(modes)), change, short=short, rows=rows)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def rot90(input: Any, k: int = 1, dims: Sequence[int] = (0, 1)) -> Operand:
    """The tensor turned by 90 degrees, `k` times, in the plane of two dimensions.

    Raises:
        ShapeError: There are not two different dimensions.
        DtypeError: `k` is no int.
    """
    source = sparse_operand(input, "rot90")
    plane = [wrap(d, source.ndim, "rot90") for d in dims]
    if len(plane) != 2 or plane[0] == plane[1]:
        raise ShapeError(f"rot90: dims {tuple(dims)}; expected two different dimensions")
    k = integer("rot90: k", k)
    if k % 4 == 0:
        return source
    if k % 4 == 2:
        return flip(source, plane)
    order = list(range(source.ndim))
    order[plane[0]], order[plane[1]] = plane[1], plane[0]
    turned = flip(source, [plane[1]]) if k % 4 == 1 else flip(source, [plane[0]])
    return turned._replace(pattern=turned.sparsity.transposed(tuple(order)))


def repeat_interleave(input: Any, repeats: Any, dim: int | None = None, *, output_size: int | None = None) -> Operand:
    """Each coordinate of a dimension several times: a number, or one for each coordinate.

    Raises:
        DtypeError: `repeats` is no integer, and no tensor of integers.
        ShapeError: There are not as many numbers as coordinates.
        FormatError: There are more new coordinates than fit into memory.
    """
    source = sparse_operand(input, "repeat_interleave")
    if dim is None:
        source, dim = flatten(source), 0
    extent = source.shape[wrap(dim, source.ndim, "repeat_interleave")]
    whole = repeats if isinstance(repeats, Tensor) else integer("repeat_interleave: repeats", repeats)
    numbers = torch.as_tensor(whole, device="cpu")
    if numbers.dtype == torch.bool or numbers.is_floating_point() or numbers.is_complex():
        raise DtypeError(f"repeat_interleave: repeats is of {numbers.dtype}; expected integers")
    if bool((numbers < 0).any()):
        raise ShapeError(f"repeat_interleave: repeats is {int(numbers.min())}; expected numbers from 0 on")
    if numbers.numel() not in (1, extent):
        raise ShapeError(f"repeat_interleave: {numbers.numel()} numbers for a dimension of extent {extent}")
    repeated = numbers.reshape(-1).expand(extent)
    count = extent * int(numbers) if numbers.numel() == 1 else int(repeated.sum())
    _check_places(count, "repeat_interleave", source)
    chosen = torch.repeat_interleave(torch.arange(extent, device="cpu"), repeated)
    return index_select(source, dim, chosen)


def unfold(input: Any, dimension: int, size: int, step: int) -> Operand:
    """Windows of `size` coordinates, every `step` coordinates of a dimension, with their elements in a new last one.

    Raises:
        ShapeError: A window is longer than the dimension, or the step is not positive.
        FormatError: The windows have more coordinates than fit into memory.
    """
    source = sparse_operand(input, "unfold")
    mode = wrap(dimension, source.ndim, "unfold")
    size, step = integer("unfold: size", size), integer("unfold: step", step)
    if not 0 <= size <= source.shape[mode] or step <= 0:
        raise ShapeError(
            f"unfold: windows of {size} every {step} of dimension {mode} with extent {source.shape[mode]}; a window "
            "fits into the dimension, and steps are positive"
        )
    count = (source.shape[mode] - size) // step + 1
    _check_places(count * size, "unfold", source)
    places = torch.arange(count, device="cpu")[:, None] * step + torch.arange(size, device="cpu")
    windows = unflatten(index_select(source, mode, places.reshape(-1)), mode, (count, size))
    order = [d for d in range(windows.ndim) if d != mode + 1] + [mode + 1]
    return windows._replace(pattern=windows.sparsity.transposed(tuple(order)))


def _check_places(count: int, name: str, source: Operand) -> None:
    """The coordinates of a dimension that are taken one by one fit into memory, three arrays of them."""
    subject = f"{name}: a number for each of the {count} new coordinates of a tensor ({source})"
    memory.check(count, 24, subject, "give A.coalesce().indices() other coordinates, for ls.from_coo")


def move(input: Any, source: Any, destination: Any) -> Operand:
    """The tensor with some dimensions at other places, the others in their order.

    Raises:
        ShapeError: A dimension is named twice, or there are not as many places as dimensions.
        IndexBoundsError: One is out of range.
    """
    operand = sparse_operand(input, "movedim")
    before, after = (dimensions(operand, given, "movedim") for given in (source, destination))
    if len(before) != len(after):
        raise ShapeError(f"movedim: {len(before)} dimensions to {len(after)} places")
    rest = iter(d for d in range(operand.ndim) if d not in before)
    placed = dict(zip(after, before, strict=True))
    order = tuple(placed[d] if d in placed else next(rest) for d in range(operand.ndim))
    return operand._replace(pattern=operand.sparsity.transposed(order))
