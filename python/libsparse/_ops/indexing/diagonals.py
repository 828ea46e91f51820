"""Diagonals: taken out, put in, and what is on one side of them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._ops import alignment, union
from libsparse._ops.operands import NUMBERS, is_sparse, plain_number
from libsparse._ops.tracing import moves
from libsparse._runtime.problem import Operand
from libsparse._storage.boxes import Box
from libsparse._storage.conversion import Conversion
from libsparse._storage.pattern import Pattern

from .columns import select_band
from .copied_rows import copies
from .entries import Entries, carry, check_extents, derive, entries_of, integer, pack, sparse_operand, wrap
from .reshaping import flatten
from .single_rows import vector


@moves(torch.diagonal)
def diagonal(input: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Operand:
    """The elements whose coordinates differ by `offset` in two dimensions, which become one, the last.

    Args:
        input: Of two or more dimensions; the result is sparse, with one less.
        offset: How much the coordinate in `dim2` is larger.
        dim1: The first dimension.
        dim2: The second dimension.

    Raises:
        ShapeError: The two dimensions are one.
    """
    source = sparse_operand(input, "diagonal")
    first, second = _plane(source.ndim, dim1, dim2, "diagonal")
    rows, columns = source.shape[first], source.shape[second]
    offset = _within(integer("diagonal: offset", offset), rows, columns)
    extent = _length(rows, columns, offset)

    def change(entries: Entries) -> Entries:
        kept = entries.keep(entries.coords[first] + offset == entries.coords[second])
        others = [d for d in range(source.ndim) if d not in (first, second)]
        coords = [kept.coords[d] for d in others] + [kept.coords[second if offset < 0 else first]]
        return kept.at(coords, (*(kept.shape[d] for d in others), extent))

    def short(pattern: Pattern) -> Conversion | None:
        # Columns less rows, or rows less columns where columns are stored.
        shift = offset if pattern.format.order == (first, second) else -offset
        if not copies(pattern):
            return None
        box = Box.of(pattern, pattern.shape[pattern.format.order[0]], shift, shift + 1, moves=(True, True))
        if box is None:
            return None
        there, places = box.firsts()
        there = there + min(shift, 0)
        return Conversion(vector(there, extent, pattern.index_dtype), places, None)

    return derive(source, ("diagonal", offset, first, second), change, short=short)


@moves(torch.diag_embed, zero_fill=True)
def diag_embed(input: Any, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Operand:
    """The last dimension as the diagonal of matrices, in two dimensions of the result; the opposite of `diagonal`.

    Raises:
        ShapeError: The two dimensions are one.
        UnsupportedError: The fill value is not 0.
    """
    source = sparse_operand(input, "diag_embed")
    source.need_zero_fill("diag_embed")
    first, second = _plane(source.ndim + 1, dim1, dim2, "diag_embed")
    offset = integer("diag_embed: offset", offset)
    extent = source.shape[-1] + abs(offset)
    check_extents([extent], "diag_embed")

    def change(entries: Entries) -> Entries:
        line, rest = entries.coords[-1], iter(range(source.ndim - 1))
        coords, shape = [], []
        for d in range(source.ndim + 1):
            if d in (first, second):
                shift = max(-offset, 0) if d == first else max(offset, 0)
                coords.append(line + shift if shift else line)
                shape.append(extent)
            else:
                other = next(rest)
                coords.append(entries.coords[other])
                shape.append(entries.shape[other])
        return entries.at(coords, shape)

    return derive(source, ("diag_embed", offset, first, second), change)


def diag(input: Any, diagonal: int = 0) -> Operand:
    """The matrix with a vector on its diagonal, or the diagonal of a matrix.

    Raises:
        ShapeError: The tensor has more than two dimensions.
    """
    source = sparse_operand(input, "diag")
    if source.ndim > 2:
        raise ShapeError(
            f"diag takes vectors and matrices, got shape {tuple(source.shape)}; use diagonal or diag_embed"
        )
    return diag_embed(source, diagonal) if source.ndim == 1 else _diagonal(source, diagonal)


def diagflat(input: Any, offset: int = 0) -> Operand:
    """The matrix with all elements in row-major order on its diagonal."""
    return diag_embed(flatten(sparse_operand(input, "diagflat")), offset)


_diagonal = diagonal  # where an argument has its name


@moves(torch.tril, zero_fill=True)
def tril(input: Any, diagonal: int = 0) -> Operand:
    """The elements on and below a diagonal of the last two dimensions, zeros above.

    Raises:
        ShapeError: The tensor has less than two dimensions.
        DtypeError: `diagonal` is no int.
        UnsupportedError: The fill value is not 0.
    """
    return _triangle(input, diagonal, "tril")


@moves(torch.triu, zero_fill=True)
def triu(input: Any, diagonal: int = 0) -> Operand:
    """The elements on and above a diagonal of the last two dimensions, zeros below; errors as `tril`."""
    return _triangle(input, diagonal, "triu")


def _triangle(input: Any, offset: int, name: str) -> Operand:
    source = sparse_operand(input, name)
    source.need_zero_fill(name)
    if source.ndim < 2:
        raise ShapeError(f"{name} takes matrices and batches of them, got shape {tuple(source.shape)}")
    offset = _within(integer(f"{name}: diagonal", offset), *source.shape[-2:])

    def change(entries: Entries) -> Entries:
        *_, row, column = entries.coords
        bound = row + offset
        return entries.keep(column <= bound if name == "tril" else column >= bound)

    def short(pattern: Pattern) -> Conversion | None:
        return select_band(pattern, *((None, offset) if name == "tril" else (offset, None)))

    return derive(source, (name, offset), change, short=short)


def set_diag(input: Any, values: Any = None, k: int = 0) -> Operand:
    """A matrix with all elements of a diagonal stored, and these values there; differentiable by both.

    Args:
        input: A matrix.
        values: (length of the diagonal,), or a tensor or a number for all of it; ones by default.
        k: How much the column is larger than the row.

    Raises:
        ShapeError: The tensor is no matrix, or there is another number of values.
        DtypeError: The values are no dense tensor or number.
    """
    source = sparse_operand(input, "set_diag")
    if source.ndim != 2:
        raise ShapeError(f"set_diag takes a matrix, got shape {tuple(source.shape)}")
    rows, columns = source.shape
    count = _length(rows, columns, k)
    if source.data is None and values is None:
        return Operand(_with_diagonal(source.sparsity, count, k, 1).pattern, None)
    own = source.values
    placed = _diagonal_values(values, own.dtype, count)
    dtype = torch.promote_types(own.dtype, placed.dtype)
    return _replaced(source.with_data(own.to(dtype)), Operand(None, placed.to(dtype)), k)


@moves(lambda source, placed, k: source)
def _replaced(source: Operand, placed: Operand, k: int) -> Operand:
    """A matrix with these values on a diagonal, all of it."""
    values = placed.values
    both = source.with_data(torch.cat([source.values, values]))
    name, count = ("set_diag", k), values.numel()
    conversion = source.sparsity.derive(name, lambda: _with_diagonal(source.sparsity, count, k, values.element_size()))
    return carry(both, conversion)


def _with_diagonal(pattern: Pattern, count: int, offset: int, itemsize: int) -> Conversion:
    """The pattern with a whole diagonal, whose values follow those of the pattern."""
    line = torch.arange(count, device="cpu")
    ends = line + max(-offset, 0), line + max(offset, 0)
    if pattern.size >= alignment.MANY:
        alone = pack(Entries(ends, None, tuple(pattern.shape), count), pattern.format, itemsize)
        both = union.over(pattern, alone.pattern) if alone.source is None else None
        if both is not None:
            return Conversion(*both, None)
    entries = entries_of(pattern)
    rows, columns = entries.coords
    kept = entries.keep(rows + offset != columns)
    assert kept.places is not None
    coords = [torch.cat([c, end]) for c, end in zip(kept.coords, ends, strict=True)]
    places = torch.cat([kept.places, line + pattern.size])
    return pack(Entries(tuple(coords), places, tuple(pattern.shape), kept.nnz + count), pattern.format, itemsize)


def _diagonal_values(values: Any, dtype: torch.dtype, count: int) -> Tensor:
    """One value for each element of a diagonal."""
    if values is None:
        return torch.ones(count, dtype=dtype, device="cpu")
    values = plain_number(values)
    if isinstance(values, NUMBERS):
        return dtypes.scalar(values, dtype, "set_diag: the value").expand(count)
    if not isinstance(values, Tensor) or is_sparse(values) or values.layout is not torch.strided:
        raise DtypeError(f"set_diag: values is a {type(values).__name__}; expected a dense tensor or a number")
    if values.shape not in ((), (count,)):
        raise ShapeError(f"set_diag: values has shape {tuple(values.shape)}; the diagonal has {count} elements")
    return values.expand(count)


def _plane(ndim: int, dim1: int, dim2: int, name: str) -> tuple[int, int]:
    first, second = wrap(dim1, ndim, name), wrap(dim2, ndim, name)
    if first == second:
        raise ShapeError(f"{name}: dim1 and dim2 are both {dim1}; expected two dimensions")
    return first, second


def _within(offset: int, rows: int, columns: int) -> int:
    """An offset of which sums with coordinates fit in 64 bits, on the same side of all elements."""
    known = type(rows) is int and type(columns) is int  # and no symbols of a graph
    return max(-rows, min(offset, columns)) if known else offset


def _length(rows: int, columns: int, offset: int) -> int:
    """How many elements a diagonal has."""
    return max(min(rows + min(offset, 0), columns - max(offset, 0)), 0)
