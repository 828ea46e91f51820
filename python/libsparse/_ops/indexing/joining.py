"""Tensors put together, and taken apart."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._ops.assemble import to_format
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._ops.tracing import is_traced, moves
from libsparse._runtime import notes
from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary, packing
from libsparse._storage.conversion import Conversion
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern

from . import arrays
from .arrays import above_blocks, with_blocks
from .copied_rows import copies
from .entries import Entries, carry, check_extents, entries_of, integer, integers, pack, sparse_operand, wrap
from .getitem import index, narrow, select
from .reshaping import reshape, unsqueeze
from .rows import are_consecutive, concatenated, listed, may_list, select_rows, selectable, side_by_side

_FEW = 8  # pieces, for each of which all columns are read


@moves(torch.cat)
def cat(tensors: Sequence[Any], dim: int = 0) -> Operand:
    """Tensors side by side along a dimension, in the format of the first; differentiable by all.

    Args:
        tensors: SparseTensors whose other extents agree, of any formats and dtypes.
        dim: The dimension.

    Raises:
        ShapeError: Ranks or extents differ, there are no tensors, or the result's extent does not fit 64 bits.
        UnsupportedError: Some tensors are dense, or fill values differ.
    """
    operands = _operands(tensors, "cat")
    first = operands[0]
    mode = wrap(dim, first.ndim, "cat")
    for number, operand in enumerate(operands):
        pairs = enumerate(zip(operand.shape, first.shape, strict=False))
        if operand.ndim != first.ndim or any(a != b for d, (a, b) in pairs if d != mode):
            raise ShapeError(
                f"cat: tensor {number} ({operand}) differs from tensor 0 ({first}) in rank, or in another "
                f"dimension than {mode}"
            )
    side = arrays.side_by_side(operands, mode)
    if side is not None:
        return side
    runs = _runs([operand.shape[mode] for operand in operands])
    shape = tuple(runs[-1][1] if d == mode else n for d, n in enumerate(first.shape))
    check_extents(shape, "cat")
    shifts = [[start if d == mode else 0 for d in range(first.ndim)] for start, _ in runs]
    return _joined(operands, shifts, shape, first.sparsity.format)


def stack(tensors: Sequence[Any], dim: int = 0) -> Operand:
    """Tensors of one shape along a new dimension; they may have different numbers of entries.

    Raises:
        ShapeError: Shapes differ, or there are no tensors.
        UnsupportedError: Some tensors are dense, or fill values differ.
    """
    operands = _operands(tensors, "stack")
    for number, operand in enumerate(operands):
        if operand.shape != operands[0].shape:
            raise ShapeError(f"stack: tensor {number} ({operand}) and tensor 0 ({operands[0]}) differ in shape")
    mode = wrap(dim, operands[0].ndim + 1, "stack")
    rows = _rows(operands) if mode == 0 and operands[0].ndim == 1 else None
    if rows is not None:
        return rows
    return cat([unsqueeze(operand, mode) for operand in operands], mode)


def hstack(tensors: Sequence[Any]) -> Operand:
    """Tensors side by side: along the second dimension, vectors along their only one."""
    operands = _operands(tensors, "hstack")
    return cat(operands, 0 if operands[0].ndim == 1 else 1)


def vstack(tensors: Sequence[Any]) -> Operand:
    """Tensors below each other, vectors as rows."""
    operands = _operands(tensors, "vstack")
    return cat([unsqueeze(o, 0) if o.ndim == 1 else o for o in operands], 0)


@moves(torch.block_diag, zero_fill=True)
def block_diag(*tensors: Any) -> Operand:
    """The matrix with matrices along its diagonal, in the format of the first; vectors are rows.

    Raises:
        ShapeError: A tensor has more than two dimensions.
        UnsupportedError: A tensor is dense, or a fill value is not 0.
    """
    operands = _operands(tensors, "block_diag")
    for number, operand in enumerate(operands):
        operand.need_zero_fill("block_diag")
        if operand.ndim > 2:
            raise ShapeError(f"block_diag: tensor {number} ({operand}) has more than two dimensions")
    operands = [unsqueeze(o, 0) if o.ndim == 1 else o for o in operands]
    rows, columns, shifts = 0, 0, []
    for operand in operands:
        shifts.append([rows, columns])
        rows, columns = rows + operand.shape[0], columns + operand.shape[1]
    check_extents((rows, columns), "block_diag")
    return _joined(operands, shifts, [rows, columns], operands[0].sparsity.format)


def _operands(tensors: Any, name: str) -> list[Operand]:
    """The sparse tensors that a function puts together."""
    if not isinstance(tensors, (list, tuple)):
        raise DtypeError(f"{name}: tensors is a {type(tensors).__name__}; expected a list of tensors")
    given = {n: t for n, t in enumerate(tensors) if not (name in ("cat", "hstack") and _is_left_out(t))}
    given = given or {n: t for n, t in enumerate(tensors) if is_sparse(t)}
    dense = [n for n, t in given.items() if isinstance(t, Tensor) and not is_sparse(t) and t.layout is torch.strided]
    if dense:
        raise UnsupportedError(
            f"{name}: tensor {dense[0]} is dense, others are sparse; use ls.tensor(x), or to_dense() of the others "
            "(values(), where only stored entries are meant, as in a vector of parameters)"
        )
    found = [to_operand(tensor, number) for number, tensor in given.items()]
    if not found:
        raise ShapeError(f"{name}: expected at least one tensor")
    fill = found[0].fill
    if any(operand.fill != fill and (operand.fill == operand.fill or fill == fill) for operand in found):  # NaN is NaN
        fills = ", ".join(str(operand.fill) for operand in found)
        raise UnsupportedError(f"{name}: the fill values of the tensors differ: {fills}; use to_dense()")
    if len(given) == len(tensors):
        return found
    dtype = functools.reduce(torch.promote_types, [tensor.dtype for tensor in tensors])
    return [o if o.dtype == dtype else Operand(o.pattern, o.values.to(dtype), o.fill) for o in found]


def _is_left_out(tensor: Any) -> bool:
    """Whether `torch.cat` leaves a tensor out, but for its dtype: a vector of no elements, whatever the others are."""
    return isinstance(tensor, Tensor) and tensor.shape == (0,)


class _Others(NamedTuple):
    """What a pattern has been joined with, by which it keeps the result: patterns that are gone equal no others."""

    patterns: tuple[weakref.ref[Pattern], ...]
    shifts: tuple[tuple[int, ...], ...]
    shape: tuple[int, ...]

    def __str__(self) -> str:
        """The shape, for the list of what is kept."""
        return f"to {self.shape}"


@ordinary.outside_inference
def _pattern(
    patterns: Sequence[Pattern], shifts: Sequence[Sequence[int]], shape: Sequence[int], format: Format, itemsize: int
) -> Conversion:
    """The pattern with the entries of several, each moved by its shifts."""
    beside = side_by_side(patterns, shifts, shape, format)
    if beside is not None:
        return beside
    divided = arrays.divided(patterns, shifts, shape, format)
    if divided is not None:
        return arrays.in_blocks(_pattern(*divided, itemsize), patterns[0])
    parts = [entries_of(pattern) for pattern in patterns]
    coords = [
        torch.cat(
            [
                part.coords[d] + shift[d] if shift[d] else part.coords[d]
                for part, shift in zip(parts, shifts, strict=True)
            ]
        )
        for d in range(len(shape))
    ]
    places, size = None, 0
    if any(part.places is not None for part in parts):
        numbers: list[Tensor] = []
        for part, pattern in zip(parts, patterns, strict=True):
            own = torch.arange(part.nnz, device="cpu") if part.places is None else part.places
            numbers.append(own + size)
            size += pattern.size
        places = torch.cat(numbers)
    entries = Entries(tuple(coords), places, tuple(shape), sum(part.nnz for part in parts))
    return pack(entries, format, itemsize)


def _rows(operands: Sequence[Operand]) -> Operand | None:
    """The CSR matrix with vectors as rows; None where these are not lists of coordinates, of one dtype."""
    if torch.is_inference_mode_enabled() or ordinary.in_transform() is not None:
        return None
    patterns = [operand.sparsity for operand in operands]
    shape, size = torch.Size((len(operands), *operands[0].shape)), sum(pattern.size for pattern in patterns)
    dtype = packing.common_index_dtype(shape, size, ())
    if any(p.format.levels != ("s",) or p.index_dtype is not dtype or p.traced or p.block for p in patterns):
        return None
    starts = torch.tensor([0, *accumulate(pattern.size for pattern in patterns)], dtype=dtype, device="cpu")
    crd = listed([pattern.crd[0] for pattern in patterns], [0] * len(patterns))
    pattern = Pattern._of_kernel(default_format(2), shape, (None, starts), (None, crd), size, dtype)
    return Operand(pattern, _values(operands), operands[0].fill)


def _values(operands: Sequence[Operand]) -> Tensor | None:
    """The values of several tensors, one behind the other, in the dtype that torch promotes them to."""
    if all(operand.data is None for operand in operands):
        return None
    dtype = functools.reduce(torch.promote_types, [operand.dtype for operand in operands])
    return notes.apply(_behind, dtype, *[operand.values for operand in operands])


def _behind(dtype: torch.dtype, *values: Tensor) -> Tensor:
    """Values one behind the other, in a dtype."""
    return torch.cat([own if own.dtype is dtype else own.to(dtype) for own in values])


def _joined(
    operands: Sequence[Operand], shifts: Sequence[Sequence[int]], shape: Sequence[int], format: Format
) -> Operand:
    block = operands[0].sparsity.block
    if block and all(o.sparsity.block == block for o in operands) and shape[len(shape) - len(block) :] == block:
        above = [a for a in map(above_blocks, operands) if a is not None]
        if len(above) == len(operands):
            count = above[0].ndim
            joined = _joined(above, [s[:count] for s in shifts], shape[:count], above[0].sparsity.format)
            return with_blocks(joined, block)
    values = _values(operands)
    patterns = [operand.sparsity for operand in operands]
    if are_consecutive(patterns, shifts, shape):
        others = _Others(tuple(map(weakref.ref, patterns[1:])), tuple(map(tuple, shifts)), tuple(shape))
        pattern = patterns[0].derive(("cat", others), lambda: concatenated(patterns, shifts, shape))
        return Operand(pattern, values, operands[0].fill)
    size = 1 if values is None else values.element_size()
    conversion = _pattern(patterns, shifts, shape, format, size)
    return carry(Operand(operands[0].pattern, values, operands[0].fill), conversion)


def split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Operand, ...]:
    """The tensor in pieces of one extent, of which the last may be smaller, or of these extents.

    Raises:
        ShapeError: The extents don't sum to that of the dimension, or one is negative.
    """
    source = sparse_operand(tensor, "split")
    mode = wrap(dim, source.ndim, "split")
    extent = source.shape[mode]
    if isinstance(split_size_or_sections, (list, tuple)):
        sizes = integers("split: split_size_or_sections", split_size_or_sections)
        if any(n < 0 for n in sizes) or sum(sizes) != extent:
            raise ShapeError(f"split: extents {sizes} don't sum to {extent}, the extent of dimension {mode}")
        return _pieces(source, mode, _runs(sizes))
    size = integers("split: split_size_or_sections", [split_size_or_sections])[0]
    if size < 0 or (size == 0 and extent):
        raise ShapeError(f"split: pieces of extent {size} of dimension {mode} with extent {extent}")
    starts = range(0, extent, size) if extent else [0]
    return _pieces(source, mode, [(start, min(start + size, extent)) for start in starts])


def chunk(input: Any, chunks: int, dim: int = 0) -> tuple[Operand, ...]:
    """The tensor in at most so many pieces of one extent, of which the last may be smaller.

    Raises:
        ShapeError: The number is not positive.
    """
    source, chunks = sparse_operand(input, "chunk"), integer("chunk: chunks", chunks)
    if chunks < 1:
        raise ShapeError(f"chunk: {chunks} pieces; expected one or more")
    mode = wrap(dim, source.ndim, "chunk")
    extent = source.shape[mode]
    return split(source, -(-extent // chunks), mode) if extent else _pieces(source, mode, [(0, 0)] * chunks)


def tensor_split(input: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Operand, ...]:
    """The tensor in so many pieces whose extents differ by at most 1, or cut before these coordinates.

    Raises:
        ShapeError: The number of pieces is not positive.
    """
    source = sparse_operand(input, "tensor_split")
    mode = wrap(dim, source.ndim, "tensor_split")
    extent, given = source.shape[mode], indices_or_sections
    given = given.tolist() if isinstance(given, Tensor) else given
    if not isinstance(given, (list, tuple)):
        given = integer("tensor_split: indices_or_sections", given)
        if given < 1:
            raise ShapeError(f"tensor_split: {given} pieces; expected one or more")
        return _pieces(source, mode, _runs([extent // given + (number < extent % given) for number in range(given)]))
    cuts = [slice(n).indices(extent)[1] for n in integers("tensor_split: indices_or_sections", given)]
    return _pieces(source, mode, list(zip([0, *cuts], [*cuts, extent], strict=True)))


def unbind(input: Any, dim: int = 0) -> tuple[Operand, ...]:
    """The slices at every coordinate of a dimension, without it."""
    source = sparse_operand(input, "unbind")
    mode = wrap(dim, source.ndim, "unbind")
    if mode == 0 and source.ndim > 1 and source.sparsity.format.order[0] == 0 and selectable(source.sparsity.format):
        return tuple(rows(source))
    pieces = _pieces(source, mode, [(place, place + 1) for place in range(source.shape[mode])])
    left = [n for d, n in enumerate(source.shape) if d != mode]
    return tuple(reshape(piece, left) for piece in pieces)


def rows(input: Any) -> Iterator[Operand]:
    """The slices at every coordinate of the first dimension, one after the other."""
    source = sparse_operand(input, "iteration")
    format = source.sparsity.format
    if format.order[0] != 0 or not selectable(format):
        source = to_format(source, default_format(source.ndim))
    return (select(source, 0, place) for place in range(source.shape[0]))


def _runs(extents: Sequence[int]) -> list[tuple[int, int]]:
    """Ranges of these extents, one after the other."""
    ends = list(accumulate(extents))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _pieces(source: Operand, mode: int, ranges: Sequence[tuple[int, int]]) -> tuple[Operand, ...]:
    """The tensor in pieces, each with a range of the coordinates of a mode."""
    above = above_blocks(source)
    if above is not None:
        if mode < above.ndim:
            return tuple(with_blocks(piece, source.sparsity.block) for piece in _pieces(above, mode, ranges))
        return tuple(narrow(source, mode, low, max(low, high) - low) for low, high in ranges)
    in_boxes = copies(source.sparsity) and (len(ranges) <= _FEW or mode == source.sparsity.format.order[0])
    if in_boxes or is_traced(source):
        return tuple(index(source, (*(slice(None),) * mode, slice(low, high))) for low, high in ranges)
    pattern, size = source.sparsity, 1 if source.data is None else source.data.element_size()
    by_rows = selectable(pattern.format) and pattern.format.order[0] == mode
    if by_rows and may_list(pattern, pattern.shape[mode]):
        return tuple(
            carry(source, select_rows(pattern, torch.arange(low, max(low, high), device="cpu"))) for low, high in ranges
        )
    entries = entries_of(pattern)
    along, order = entries.coords[mode].sort(stable=True)  # so that every piece is a range of the entries
    bounds = torch.searchsorted(along, torch.tensor(ranges, device="cpu")).tolist()
    pieces: list[Operand] = []
    for (low, high), (first, last) in zip(ranges, bounds, strict=True):
        taken = entries.take(order[first : max(first, last)])
        coords = [c - low if d == mode else c for d, c in enumerate(taken.coords)]
        shape = [max(high - low, 0) if d == mode else n for d, n in enumerate(pattern.shape)]
        pieces.append(carry(source, pack(taken.at(coords, shape), pattern.format, size)))
    return tuple(pieces)
