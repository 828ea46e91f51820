"""Requests: a problem on given operands as the question to the compiler, in which sizes are classes.

Much of a request follows from the problem and the formats alone; that is worked out once for all operands of these
formats, so that little is left to do for a new pattern.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from libsparse._compiler import native, request, settings, size_classes, target
from libsparse._compiler.request import OperandInfo, OutputInfo, Request
from libsparse._lang import dtypes
from libsparse._lang.dtypes import INT32_MAX
from libsparse._storage import threads
from libsparse._storage.conversion import is_converted
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._storage.statistics import FEW

from .problem import Operand, Problem, dense_order, dense_text

_WIDE, _SEVERAL = 4, 3  # elements of rows to read, entries of rows to multiply
_UNTUNED_KEPT = 4096
_SHORT_ROW = 128  # bytes of rows up to which products are faster where rows of entries are ordered by their lengths
_FEW_THREADS = 2  # up to which one adds rows to a result faster than all convert and multiply
_FEW_BYTES = 1 << 24  # of a result, up to which that is so
_LONG, _LONG_WIDE = 8, 16  # entries of rows that are brought near before they are read, or where each reads a row


class _Outline:
    """The parts of a request that only depend on the problem and on the formats of its operands.

    Equal only to itself, and stands for these two in signatures: their own hashes take longer.

    Attributes:
        classes: For each mode of each operand, the function from its extent to the class.
        entries: The function from entries and rows to their class.
        several: Whether several operands are sparse.
        scatters: Whether rows, or sums, are added to a dense result all over it where its operand is read as it is.
        dense: The numbers of the operands that are not.
        across: The number of a dense operand that a product of two matrices reads across its rows; None of others.
        merges: Whether the entries of two operands are merged, and each is written once.
    """

    __slots__ = ("across", "classes", "dense", "entries", "merges", "scatters", "several")

    def __init__(self, problem: Problem, formats: tuple[Format | None, ...]) -> None:
        """Work out what doesn't depend on shapes."""
        self.dense = tuple([number for number, format in enumerate(formats) if format is None])
        self.several = len(formats) - len(self.dense) > 1
        extent = size_classes.extent
        self.entries = size_classes.entries if self.several else size_classes.entries_alone
        if problem.temporary:
            extent, self.entries = size_classes.finely, size_classes.finely_entries
        varying, width = _varying(problem, formats), size_classes.width
        self.classes = tuple([tuple([extent if i in varying else width for i in term]) for term in problem.inputs])
        dense = (problem.output_format is None or problem.output_format.is_dense) and problem.pattern_of is None
        adds = len(problem.output) > 1 or len(formats) == len(problem.output)  # rows, or sums
        self.scatters = dense and adds and not self.several and _crosses(problem, formats)
        self.across = _across(problem, formats)
        self.merges = len(formats) == 2 and self.several and set(problem.inputs) == {problem.output}


_outline: Callable[[Problem, tuple[Format | None, ...]], _Outline] = functools.lru_cache(maxsize=4096)(_Outline)


def _across(problem: Problem, formats: Sequence[Format | None]) -> int | None:
    """The number of X in `X(i,j) * A(k,j)` or `X(i,j) * A(j,k)` of the one sparse operand, summed to (i,k)."""
    sparse = [terms for terms, format in zip(problem.inputs, formats, strict=True) if format is not None]
    plain = problem.output_format is None or problem.output_format.text == "dd"
    if len(sparse) != 1 or not plain or problem.reduce != "sum" or problem.combine != "mul":
        return None
    for number, terms in enumerate(problem.inputs):
        if formats[number] is None and len(terms) == len(problem.output) == 2 and problem.output[0] == terms[0]:
            summed, kept = terms[1], problem.output[1]
            if kept != summed and set(sparse[0]) == {summed, kept}:
                return number
    return None


def _strip(outline: _Outline, operands: Sequence[Operand]) -> int:
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


def _crosses(problem: Problem, formats: Sequence[Format | None]) -> bool:
    """Whether an index that is summed over is stored before one of the result's."""
    for indices, format in zip(problem.inputs, formats, strict=True):
        kept = [] if format is None else [indices[mode] in problem.output for mode in format.order]
        if kept != sorted(kept, reverse=True):
            return True
    return False


def _varying(problem: Problem, formats: Sequence[Format | None]) -> set[str]:
    """The indices whose extents differ from one mini-batch to the next: those down to the last sparse level."""
    found: set[str] = set()
    for indices, format in zip(problem.inputs, formats, strict=True):
        if format is not None:
            last = max([n for n, level in enumerate(format.kinds) if not (level.full and level.ordered)], default=-1)
            found.update([indices[mode] for mode in format.order[: last + 1]])
    return found


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
    outline = _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))
    flags = wide, counted, is_few(problem, operands, outline) if few is None else few
    reads = _reads(outline, operands)
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


def is_few(problem: Problem, operands: Sequence[Operand], outline: _Outline | None = None) -> bool:
    """Whether a computation is one of the first with a pattern that would be converted for it if it came more often."""
    outline = outline or _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))
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
    outline = _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))
    reads = _reads(outline, operands)
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


def _entries_of(outline: _Outline, pattern: Pattern, reads: _Reads, rows: int) -> int:
    """The class of how many entries a pattern has, which decides how its rows are summed in whatever format."""
    stored = pattern.statistics.stored if pattern.format.padded else pattern.size
    alone = outline.entries is size_classes.entries_alone
    return size_classes.entries_summed(stored, rows) if alone and reads.sums else outline.entries(stored, rows)


def _reads(outline: _Outline, operands: Sequence[Operand]) -> _Reads:
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
    pair = [o.pattern for o in operands if o.pattern is not None and o.pattern.size >= FEW] if outline.merges else []
    steady = pair[0].statistics.foretells(pair[1].statistics) if len(pair) > 1 else None
    return _Reads(wide, short and not outline.several, sums, steady)


def _spread_over_rows(
    outline: _Outline, pattern: Pattern, dtype: torch.dtype | None, reads: _Reads, rows: int
) -> tuple[bool, bool, bool, bool]:
    """How the entries of a sparse operand are spread, as far as that decides how they are read.

    Returns:
        Whether they are scattered, are read from beyond the caches beside scattered elements of dense operands, are in
        rows of uneven lengths, and mostly have neighbours in the next rows.
    """
    size, kind = pattern.size, pattern.format.kinds[-1]
    gathers = size >= FEW and (reads.wide or (outline.several and size >= _SEVERAL * rows))
    scattered = gathers and (pattern.statistics.scattered if reads.steady is None else not reads.steady)
    far = False
    if outline.dense and not outline.several and size >= (_LONG if reads.sums else _LONG_WIDE) * rows:
        each = (kind.own or pattern.index_dtype).itemsize + (0 if dtype is None else dtype.itemsize)
        far = target.overflows(size * each) and pattern.statistics.scattered
    if not reads.sums:
        return scattered, far, reads.short and pattern.statistics.ragged, False
    adjacent = kind.grouped and not kind.filling and size >= FEW and pattern.statistics.adjacent
    return scattered, far, pattern.statistics.uneven, adjacent
