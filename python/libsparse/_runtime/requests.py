"""Requests: a problem on given operands as the question to the compiler, in which sizes are classes.

What follows from the problem and the formats alone is in its outline, so that little is left to do for a new pattern.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from libsparse._compiler import native, request, settings, size_classes, target
from libsparse._compiler.request import OperandInfo, OutputInfo, Request
from libsparse._lang import dtypes
from libsparse._lang.dtypes import INT32_MAX
from libsparse._storage import threads
from libsparse._storage.conversion import is_converted
from libsparse._storage.pattern import Pattern
from libsparse._storage.statistics import FEW, RAGGED_ROWS

from .outlines import Outline, outline_of
from .problem import Operand, Problem, dense_order, dense_text

_WIDE, _SEVERAL = 4, 3  # elements of rows to read, entries of rows to merge where no sample says how
_UNTUNED_KEPT = 4096
_SHORT_ROW = 128  # bytes of rows up to which products are faster where rows of entries are ordered by their lengths
_FEW_THREADS = 2  # up to which one adds rows to a result faster than all convert and multiply
_FEW_BYTES = 1 << 24  # of a result, up to which that is so
_LONG, _LONG_WIDE = 8, 16  # entries of rows that are brought near before they are read, or where each reads a row


def _strip(outline: Outline, operands: Sequence[Operand]) -> int:
    """How many rows of such an operand threads take at a time; 0 where they take copies in another order."""
    if outline.across is None:
        return 0
    data = operands[outline.across].data
    pattern = next(operand.pattern for operand in operands if operand.pattern is not None)
    assert data is not None
    if not data.is_contiguous():
        return 0
    rows, across = data.shape
    return target.strip(rows, across, sum(pattern.shape) - across, pattern.size, data.element_size(), threads.count())


def to_request(
    problem: Problem,
    operands: Sequence[Operand],
    *,
    wide: bool = False,
    counted: bool = False,
    few: bool = False,
    extents: dict[str, int] | None = None,
) -> Request:
    """The request to the compiler for a problem.

    Args:
        problem: The computation.
        operands: Its operands.
        wide: Whether positions and coordinates of a sparse result must be int64.
        counted: Whether entries of a sparse result must be counted before they are written.
        few: Whether the pattern has been used few times, and perhaps won't be used again.
        extents: The extents of the problem's indices, where they are known.
    """
    extents = problem.extents(operands) if extents is None else extents
    output = OutputInfo(
        None if problem.output_format is None else problem.output_format.text,
        None if problem.dtype is None else dtypes.code(problem.dtype),
        "i32" if _fits(problem, extents) and not wide else "i64",
        problem.pattern_of,
        problem.temporary,
        problem.step,
        problem.divided,
        counted,
        few,
    )
    infos = _operand_infos(problem, operands)
    reduce, combine = problem.reduce, problem.combine
    return Request(problem.text, problem.is_expr, infos, output, reduce, combine, problem.schedule, problem.functions)


def signature(
    problem: Problem, operands: Sequence[Operand], *, wide: bool, counted: bool, few: bool | None
) -> tuple[Any, ...] | None:
    """What the kernel of a problem follows from, with the shapes themselves: equal ones have one request.

    The flags are those of the request; without `few`, `is_few` says it. None where statistics of patterns count, too.
    """
    if problem.temporary:
        return None
    outline = outline_of(problem, operands)
    flags = wide, counted, is_few(problem, operands, outline) if few is None else few
    reads = reads_of(outline, operands)
    parts: list[Any] = [outline, flags, _strip(outline, operands)]
    first_of: dict[tuple[Any, ...], int] = {}
    for number, operand in enumerate(operands):
        pattern, data, _ = operand
        if pattern is None:
            assert data is not None
            parts.append((data.dtype, data.shape, data.stride()))
            continue
        rows = pattern.shape[pattern.format.order[0]]
        same = first_of.setdefault(_entries(pattern), number) if outline.several else number
        dtype = None if data is None else data.dtype
        entries = _entries_of(outline, pattern, reads, rows)
        spread = _spread_over_rows(outline, pattern, dtype, reads, rows)
        parts.append((pattern.shape, dtype, pattern.index_dtype, entries, same, spread))
    return tuple(parts)


def _fits(problem: Problem, extents: dict[str, int]) -> bool:
    """Whether coordinates of the result fit in 32 bits."""
    sizes = problem.shape or [extents[i] for i in problem.output if i in extents]
    return max(sizes, default=0) <= INT32_MAX


def of_classes(
    name: tuple[Any, ...], problem: Problem, operands: Sequence[Operand], extents: dict[str, int]
) -> tuple[Any, ...]:
    """What the kernel of a problem follows from, with classes in place of the shapes of its signature.

    A call of equal ones differs in nothing but the shapes.
    """
    outline, flags, strip, *parts = name
    found: list[Any] = [outline, flags, strip, _fits(problem, extents)]
    for part, operand, classes in zip(parts, operands, outline.classes, strict=True):
        shape = tuple([to_class(n) for to_class, n in zip(classes, operand.shape, strict=True)])
        if operand.pattern is None:
            data = operand.values
            found.append((part[0], shape, dense_order(data), data.is_contiguous()))
        else:
            found.append((shape, *part[1:]))
    return tuple(found)


def is_few(problem: Problem, operands: Sequence[Operand], outline: Outline | None = None) -> bool:
    """Whether a computation is one of the first with a pattern that would be converted for it if it came more often."""
    outline = outline or outline_of(problem, operands)
    if not outline.scatters or problem.schedule or threads.count() > _FEW_THREADS or settings.tuning.tune_bitwise:
        return False
    sizes: dict[str, int] = {}
    size = 0
    for indices, operand in zip(problem.inputs, operands, strict=True):
        if operand.pattern is not None and is_converted(operand.pattern):
            return False
        size = max(size, 0 if operand.data is None else operand.dtype.itemsize)
        sizes.update(zip(indices, operand.shape, strict=False))
    return math.prod([sizes.get(index, 1) for index in problem.output]) * size <= _FEW_BYTES


def may_be_tuned(name: tuple[Any, ...] | None) -> bool:
    """Whether a record of a faster schedule may be there for a request, for which `name` stands."""
    return bool(request.tuned()) and (name, threads.count(), settings.cache_dir()) not in request.untuned


def is_tuned(problem: Problem, operands: Sequence[Operand], name: tuple[Any, ...] | None) -> bool:
    """Whether there is a record for a problem.

    What has none is remembered by its signature, since the name of a record takes longer to find out than the rest of
    preparing a call for a new pattern.
    """
    if not may_be_tuned(name):
        return False
    if request.record_name(to_request(problem, operands), native.BUILD, threads.count()) in request.tuned():
        return True
    if name is not None:
        if len(request.untuned) >= _UNTUNED_KEPT:
            request.untuned.clear()
        request.untuned.add((name, threads.count(), settings.cache_dir()))
    return False


def _operand_infos(problem: Problem, operands: Sequence[Operand]) -> tuple[OperandInfo, ...]:
    """The operands as requests describe them."""
    first_of: dict[tuple[Any, ...], int] = {}
    outline = outline_of(problem, operands)
    reads = reads_of(outline, operands)
    infos = []
    for number, (name, operand, classes) in enumerate(zip(problem.names, operands, outline.classes, strict=True)):
        pattern, data, _ = operand
        shape = tuple([to_class(n) for to_class, n in zip(classes, operand.shape, strict=True)])
        dtype = dtypes.code(operand.dtype)
        if pattern is None:
            text = dense_text(dense_order(operand.values))
            size, strip = math.prod(shape), _strip(outline, operands) if number == outline.across else 0
            infos.append(OperandInfo(name, text, dtype, False, "i32", shape, size, same_pattern=-1, strip=strip))
            continue
        same, format = first_of.setdefault(_entries(pattern), number), pattern.format
        rows = pattern.shape[format.order[0]]
        filled, skew, reach = size_classes.UNKNOWN
        if problem.temporary:
            filled, skew, reach = size_classes.spread(pattern.statistics, pattern.extents[0], outline.several)
        infos.append(
            OperandInfo(
                name,
                format.text,
                dtype,
                data is None,
                dtypes.code(pattern.index_dtype),
                shape,
                _entries_of(outline, pattern, reads, rows),
                -1 if same == number else same,
                filled,
                skew,
                reach,
                *_spread_over_rows(outline, pattern, None if data is None else data.dtype, reads, rows),
            )
        )
    return tuple(infos)


def _entries(pattern: Pattern) -> tuple[Any, ...]:
    """Equal for patterns that share the arrays of their sparse levels, whatever dense levels are below."""
    kept: Sequence[Any] = pattern.tensors() or (pattern,)
    return pattern.format.levels[: pattern.format.sparse_levels], *map(id, kept)


class _Reads(NamedTuple):
    """What of dense operands is read by the entries of sparse ones.

    Attributes:
        wide: Whether it is rows.
        short: Whether it is rows that take no longer than a processor to find that it took a wrong turn.
        sums: Whether rows of the one sparse operand are summed by entries.
        steady: Whether processors foresee which of the two operands that are merged has the next entry; None where
            that follows from how each is spread.
    """

    wide: bool
    short: bool
    sums: bool
    steady: bool | None


def _entries_of(outline: Outline, pattern: Pattern, reads: _Reads, rows: int) -> int:
    """The class of how many entries a pattern has, which decides how its rows are summed in whatever format."""
    stored = pattern.statistics.stored if pattern.format.padded else pattern.size
    return outline.entries_of(reads.sums)(stored, rows)


def reads_of(outline: Outline, operands: Sequence[Operand]) -> _Reads:
    """What the entries of the sparse operands read of the dense ones."""
    wide, short, sums = False, False, not outline.several
    for number in outline.dense:
        data = operands[number].data
        assert data is not None
        shape = data.shape
        if shape:
            wide = wide or shape[-1] >= _WIDE
            is_sum = len(shape) < 2 or shape[-1] == 1
            short = short or (not is_sum and shape[-1] * data.element_size() <= _SHORT_ROW)
            sums = sums and is_sum
    pair = [o.pattern for o in operands if o.pattern is not None] if outline.merges and not are_few(operands) else []
    steady = pair[0].statistics.foretells(pair[1].statistics) if len(pair) > 1 else None
    return _Reads(wide, short and not outline.several, sums, steady)


def are_few(operands: Sequence[Operand]) -> bool:
    """Whether patterns have so few entries that it hardly matters how they are spread."""
    for pattern, _, _ in operands:
        if pattern is not None and (pattern.size >= FEW or pattern.shape[pattern.format.order[0]] >= RAGGED_ROWS):
            return False
    return True


def spread(outline: Outline, operands: Sequence[Operand]) -> tuple[tuple[bool, bool, bool, bool], ...]:
    """How the entries of each sparse operand are spread, as far as that decides how they are read."""
    reads = reads_of(outline, operands)
    return tuple(
        [
            _spread_over_rows(outline, p, None if data is None else data.dtype, reads, p.shape[p.format.order[0]])
            for p, data, _ in operands
            if p is not None
        ]
    )


def _spread_over_rows(
    outline: Outline, pattern: Pattern, dtype: torch.dtype | None, reads: _Reads, rows: int
) -> tuple[bool, bool, bool, bool]:
    """How the entries of a sparse operand are spread, as far as that decides how they are read.

    Returns:
        Whether they are scattered, are read from beyond the caches beside scattered elements of dense operands, are in
        rows of uneven lengths, and mostly have neighbours in the next rows.
    """
    size, kind = pattern.size, pattern.format.kinds[-1]
    several = outline.several and (not outline.merges or size >= _SEVERAL * rows)
    gathers = size >= FEW and (reads.wide or several)
    scattered = (gathers and pattern.statistics.scattered) if reads.steady is None else not reads.steady
    far = False
    if outline.dense and not outline.several and size >= (_LONG if reads.sums else _LONG_WIDE) * rows:
        each = (kind.own or pattern.index_dtype).itemsize + (0 if dtype is None else dtype.itemsize)
        far = target.overflows(size * each) and pattern.statistics.scattered
    if not reads.sums:
        return scattered, far, reads.short and pattern.statistics.ragged, False
    adjacent = kind.grouped and not kind.filling and size >= FEW and pattern.statistics.adjacent
    return scattered, far, pattern.statistics.uneven, adjacent
