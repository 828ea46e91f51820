"""`A[...]` and the functions that select along dimensions.

Rows of a format that stores them side by side are selected first, and what follows reads only these.
"""

from __future__ import annotations

import math
import operator
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, IndexBoundsError, ShapeError
from libsparse._ops.operands import broadcasts, is_sparse, is_tensor
from libsparse._ops.tracing import is_traced, moves
from libsparse._runtime.problem import Operand
from libsparse._storage import memory, ordinary
from libsparse._storage.conversion import Conversion
from libsparse._storage.pattern import Pattern

from .arrays import (
    Inner,
    above_blocks,
    block_sizes,
    covering_blocks,
    in_blocks,
    named_blocks,
    of_blocks,
    split,
    with_blocks,
)
from .columns import select_box, select_columns
from .copied_rows import copies, first_rows, listed_rows
from .entries import (
    carry,
    carry_kept,
    entries_of,
    integer,
    kept_format,
    look_up,
    pack,
    sparse_operand,
    unravel,
    wrap,
)
from .keys import INDEX, Key, Slice, bounded, checked, in_range, parse, true_elements
from .named_entries import bools, filtered, joined, placed
from .rows import listed_alone, outer_rows, rows_alone, select_rows, selectable, sliced_alone
from .single_rows import single


@moves(operator.getitem)
def index(input: Any, key: Any) -> Operand:
    """`input[key]`, as torch indexes a dense tensor; differentiable.

    Where integers, index tensors and masks stand for every dimension, the elements are looked up one by one, and the
    result is a dense tensor; otherwise it is sparse, in the format of `input` where its rank allows.

    Args:
        input: Of any rank and format.
        key: Integers, slices with positive steps, `...`, None, bools, tensors (or lists, or arrays) of integers, dense
            masks, sparse masks, or a tuple of these.

    Raises:
        IndexBoundsError: An index is out of range, or is none.
        ShapeError: The step of a slice is not positive.
    """
    source = sparse_operand(input, "A[...]")
    try:
        return _indexed(source, key)
    except (IndexBoundsError, ShapeError, DtypeError) as error:
        raise type(error)(f"{error}; A has {source}") from None


def _indexed(source: Operand, key: Any) -> Operand:
    pattern = source.sparsity
    if type(key) is Tensor and pattern.format.order[0] == 0 and copies(pattern):
        mask = key.dtype is torch.bool and key.shape == pattern.shape[:1]
        found = listed_rows(source, true_elements(key)[0] if mask else key)
        if found is not None:
            return found
    one = single(source, key)
    if one is not None:
        return one
    parsed = parse(key, source.shape)
    return _select(source, parsed) if parsed.slices else _elements(source, parsed)


@moves(torch.index_select)
def index_select(input: Any, dim: int, index: Tensor) -> Operand:
    """The coordinates `index` of one dimension, in that order: sparse, in the same format; differentiable.

    Args:
        input: Of any rank and format.
        dim: The dimension.
        index: (count,), int32 or int64, not negative.

    Raises:
        IndexBoundsError: A coordinate or the dimension is out of range.
        DtypeError: `index` holds no integers.
    """
    source = sparse_operand(input, "index_select")
    mode = wrap(dim, source.ndim, "index_select")
    if not isinstance(index, Tensor) or is_sparse(index) or index.dtype not in (torch.int32, torch.int64):
        found = str(index.dtype) if isinstance(index, Tensor) else type(index).__name__
        raise DtypeError(f"index_select: index is a {found}; expected a dense int32 or int64 tensor")
    if index.ndim > 1:
        raise IndexBoundsError(f"index_select: index has shape {tuple(index.shape)}; expected a vector")
    flat = checked(index.reshape(-1), mode, source.shape, negative=False)
    slices = {other: Slice(0, 1, extent) for other, extent in enumerate(source.shape) if other != mode}
    dims = tuple(INDEX if other == mode else other for other in range(source.ndim))
    return _select(source, Key({}, slices, {mode: flat}, tuple(flat.shape), dims))


def select(input: Any, dim: int, index: int) -> Operand:
    """The slice at one coordinate of a dimension, without that dimension."""
    source = sparse_operand(input, "select")
    mode = wrap(dim, source.ndim, "select")
    return _of_mode(source, mode, in_range(integer("select: index", index), mode, source.shape))


def narrow(input: Any, dim: int, start: Any, length: Any) -> Operand:
    """The coordinates `start` to `start + length` of a dimension.

    Raises:
        DtypeError: The start or the length is no integer.
        IndexBoundsError: The start or the dimension is out of range.
        ShapeError: There are fewer coordinates.
    """
    source = sparse_operand(input, "narrow")
    mode, first = wrap(dim, source.ndim, "narrow"), integer("narrow: start", start)
    length = length if isinstance(length, torch.SymInt) else integer("narrow: length", length)
    extent = source.shape[mode]
    if not -extent <= first <= extent:
        raise IndexBoundsError(f"narrow: start {first} is out of range for dimension {mode} with extent {extent}")
    first = first + extent if first < 0 else first
    if length < 0 or first + length > extent:
        raise ShapeError(f"narrow: start {first} and length {length} exceed dimension {mode} with extent {extent}")
    return _of_mode(source, mode, slice(first, first + length))


def _of_mode(source: Operand, mode: int, item: int | slice) -> Operand:
    return index(source, (*(slice(None),) * mode, item) if mode else item)


def masked_select(input: Any, mask: Any) -> Operand:
    """The elements where a bool mask, broadcast with `input`, is true, in row-major order: a dense vector.

    Raises:
        ShapeError: The mask and the tensor don't broadcast.
        DtypeError: The mask is not of dtype bool.
    """
    source = sparse_operand(input, "masked_select")
    if not is_tensor(mask) or mask.dtype != torch.bool:
        raise DtypeError("masked_select: expected a mask of dtype bool")
    larger = broadcasts(source.shape, mask.shape)  # or of the same shape
    if not larger and not broadcasts(mask.shape, source.shape):
        raise ShapeError(
            f"masked_select: a mask of shape {tuple(mask.shape)} does not broadcast to {tuple(source.shape)}; expand "
            "the tensor first"
        )
    if larger:
        pass
    elif not is_sparse(mask):
        mask = mask.expand(source.shape)
    elif mask.shape != source.shape:
        raise ShapeError(
            f"masked_select: a sparse mask of shape {tuple(mask.shape)} for a tensor of shape {tuple(source.shape)}; "
            "expand it first"
        )
    places = true_elements(mask)
    if larger:
        trailing = list(places)[len(places) - source.ndim :]
        places = [torch.zeros_like(p) if n == 1 else p for p, n in zip(trailing, source.shape, strict=True)]
    return index(source, tuple(places)) if is_traced(source) else Operand(None, look_up(source, places))


@moves(torch.take)
def take(input: Any, index: Tensor) -> Operand:
    """The elements of these numbers, counted in row-major order: a dense tensor of the shape of `index`.

    Raises:
        IndexBoundsError: A number is out of range.
    """
    source = sparse_operand(input, "take")
    if not isinstance(index, Tensor) or is_sparse(index) or index.dtype != torch.int64:
        raise DtypeError("take: expected an index of dtype int64")
    numbers, least = bounded(index.reshape(-1), 0, (math.prod(source.shape),))
    first, *others = unravel(numbers, source.shape)
    first = first % source.shape[0] if least < 0 else first  # there may be more elements than numbers
    return Operand(None, look_up(source, [first, *others]).reshape(index.shape))


@moves(torch.gather)
def gather(input: Any, dim: int, index: Any, *, sparse_grad: bool = False) -> Operand:
    """The elements whose coordinate in one dimension an index names: a dense tensor of the shape of the index.

    Args:
        input: A sparse tensor.
        dim: The dimension.
        index: int64 or int32, of as many dimensions as the tensor and in the others of no greater extent; the other
            coordinates of an element are those of its place in the index.
        sparse_grad: Has no effect: the gradient has the entries of the tensor.

    Raises:
        DtypeError: The index has no such dtype.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: The shapes don't fit.
    """
    source = sparse_operand(input, "gather")
    along = wrap(dim, source.ndim, "gather")
    if not isinstance(index, Tensor) or is_sparse(index) or index.dtype not in (torch.int64, torch.int32):
        raise DtypeError("gather: expected a dense index of dtype int64 or int32")
    fits = [m <= n for d, (m, n) in enumerate(zip(index.shape, source.shape, strict=False)) if d != along]
    if index.ndim != source.ndim or not all(fits):
        raise ShapeError(
            f"gather: index has shape {tuple(index.shape)}; expected as many dimensions as the tensor ({source}) has, "
            f"and in all but dimension {along} no greater extents"
        )
    memory.check(
        index.numel(), 8 * (source.ndim + 2), f"{index.numel()} elements of a tensor ({source})", "ask for fewer"
    )
    coords = list(torch.meshgrid([torch.arange(n, device="cpu") for n in index.shape], indexing="ij"))
    coords[along] = checked(index, along, source.shape, negative=False)
    return Operand(None, look_up(source, [c.reshape(-1) for c in coords]).reshape(index.shape))


def _elements(source: Operand, key: Key) -> Operand:
    """The elements that a key names one by one: a dense tensor."""
    count = torch.Size(key.index_shape).numel()
    coords = [
        key.indices[mode]
        if mode in key.indices
        else torch.full((count,), key.picks[mode], dtype=torch.int64, device="cpu")
        for mode in range(source.ndim)
    ]
    pattern = source.sparsity
    mode = pattern.format.order[0]
    if mode in key.picks and selectable(pattern.format):
        source = carry(source, select_rows(pattern, torch.tensor([key.picks[mode]], device="cpu")))
        coords[mode] = torch.zeros_like(coords[mode])
    return Operand(None, look_up(source, coords).reshape(key.shape))


def _select(source: Operand, key: Key) -> Operand:
    """The part of a tensor that a key names; the pattern keeps those of the last few keys made of slices."""
    above = above_blocks(source)
    parts = None if above is None else split(key, above.ndim)
    if above is not None and parts is not None:
        return _of_arrays(source, above, *parts)
    pattern, size = source.sparsity, 1 if source.data is None else source.data.element_size()
    rows = rows_alone(key, pattern)
    copied = None if rows is None else listed_rows(source, rows)
    if copied is not None:
        return copied
    if key.picks or INDEX in key.dims:
        return carry(source, _selection(pattern, key, size))
    name = "slices", tuple(key.slices.values()), key.dims
    chosen = None if key.dims != tuple(range(pattern.ndim)) else sliced_alone(key, pattern)
    if chosen is not None:
        copied = first_rows(source, name, chosen.numbers)
        if copied is not None:
            return copied
    return carry_kept(source, pattern.derive(name, lambda: _selection(pattern, key, size)))


def _of_arrays(source: Operand, above: Operand, outer: Key, inner: Inner) -> Operand:
    """The part of a tensor whose values are arrays: of the tensor with one entry for each, and of each array."""
    if not outer.is_all(above.shape, None):
        above = _select(above, outer)
    values = inner.of(above.values.reshape(above.sparsity.size, *source.sparsity.block))
    return with_blocks(above.with_data(values), values.shape[1:])


@ordinary.outside_inference
def _selection(pattern: Pattern, key: Key, itemsize: int) -> Conversion:
    sizes = block_sizes(pattern)
    blocks = None if sizes is None else of_blocks(pattern)
    if sizes is None or blocks is None:
        return _of_entries(pattern, key, itemsize)
    named = named_blocks(key, sizes)
    if named is not None:
        return in_blocks(_selection(blocks, named, itemsize), pattern)
    covering = covering_blocks(key, sizes, blocks.shape)
    if covering is None:
        return _of_entries(pattern, key, itemsize)
    outer, key = covering
    covered = in_blocks(_selection(blocks, outer, itemsize), pattern)
    found = _of_entries(covered.pattern, key, itemsize)
    return found if covered.source is None else found.after(covered.source)


def _of_entries(pattern: Pattern, key: Key, itemsize: int) -> Conversion:
    format, mode = pattern.format, pattern.format.order[0]
    owner_mode = rows_of = None
    box = None if key.indices else select_box(pattern, key)
    if box is not None:
        (pattern, rows_of, _), key = box
        if key.is_all(pattern.shape, None):
            return box[0]
    rows = outer_rows(key, mode, pattern)
    if rows is not None and selectable(format):
        owner_mode = mode if mode in key.indices else None
        selected = select_rows(pattern, rows)
        selected = selected if rows_of is None else selected.after(rows_of)
        pattern, rows_of = selected.pattern, selected.source
        key = key.below_rows(mode, rows.numel())
        if key.is_all(pattern.shape, owner_mode):
            return selected
    if listed_alone(key, pattern) == format.order[-1]:
        found = select_columns(pattern, key.indices[format.order[-1]])
        if found is not None:
            return found if rows_of is None else found.after(rows_of)
    entries = entries_of(pattern)
    if rows_of is not None:
        places = rows_of if entries.places is None else rows_of.index_select(0, entries.places)
        entries = entries._replace(places=places)
    entries = filtered(entries, key)
    owner = None if owner_mode is None else entries.coords[owner_mode]
    if key.indices:
        entries, owner = joined(entries, key)
    elif owner is None and INDEX in key.dims:  # of bools alone
        entries, owner = bools(entries, key)
    return pack(placed(entries, key, owner), kept_format(format, key.shape), itemsize)
