"""Requests: a problem on given operands as the question to the compiler, in which sizes are classes.

Much of a request follows from the problem and the formats alone; that is worked out once for all operands of these
formats, so that little is left to do for a new pattern.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from libsparse._compiler import size_classes, target
from libsparse._compiler.request import OperandInfo, OutputInfo, Request
from libsparse._lang import dtypes
from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.records import NamedTuple
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._storage.statistics import FEW

from .problem import Operand, Problem, dense_order, dense_text

_NOWHERE: tuple[int, tuple[int, ...], int] = (0, (), 0)
_WIDE, _SEVERAL, _WHOLE = 4, 3, 1 << 10  # elements of rows to read, entries of rows to multiply, the unit of a reach
_LONG, _LONG_WIDE = 8, 16  # entries of rows that are brought near before they are read, or where each reads a row


class _Outline(NamedTuple):
    """The parts of a request that only depend on the problem and on the formats of its operands.

    Attributes:
        classes: For each mode of each operand, the function from its extent to the class.
        entries: The function from entries and rows to their class.
        several: Whether several operands are sparse.
    """

    classes: tuple[tuple[Callable[[int], int], ...], ...]
    entries: Callable[[int, int], int]
    several: bool


@functools.lru_cache(maxsize=4096)
def _outline(problem: Problem, formats: tuple[Format | None, ...]) -> _Outline:
    several = len(formats) - formats.count(None) > 1
    extent, entries = size_classes.extent, size_classes.entries if several else size_classes.entries_alone
    if problem.temporary:
        extent, entries = size_classes.finely, size_classes.finely_entries
    varying = _varying(problem, formats)
    width = size_classes.width
    classes = tuple([tuple([extent if i in varying else width for i in term]) for term in problem.inputs])
    return _Outline(classes, entries, several)


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
    extents: dict[str, int] | None = None,
) -> Request:
    """The request to the compiler for a problem.

    Args:
        problem: The computation.
        operands: Its operands.
        wide: Whether positions and coordinates of a sparse result must be int64.
        counted: Whether entries of a sparse result must be counted before they are written.
        extents: The extents of the problem's indices, where they are known.
    """
    extents = problem.extents(operands) if extents is None else extents
    sizes = problem.shape or [extents[i] for i in problem.output if i in extents]
    fits = max(sizes, default=0) <= INT32_MAX
    output = OutputInfo(
        None if problem.output_format is None else problem.output_format.text,
        None if problem.dtype is None else dtypes.code(problem.dtype),
        "i32" if fits and not wide else "i64",
        problem.pattern_of,
        problem.temporary,
        problem.step,
        problem.divided,
        counted,
    )
    infos = _operand_infos(problem, operands)
    reduce, combine = problem.reduce, problem.combine
    return Request(problem.text, problem.is_expr, infos, output, reduce, combine, problem.schedule, problem.functions)


def signature(problem: Problem, operands: Sequence[Operand], *flags: bool) -> tuple[Any, ...] | None:
    """What the kernel of a problem follows from, with the shapes themselves: equal ones have one request.

    `flags` are those of the request. None where the statistics of patterns count, too.
    """
    if problem.temporary:
        return None
    outline = _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))
    rows_are_wide, sums = _has_wide_rows(operands), _sums_rows(outline, operands)
    parts: list[Any] = [problem, flags]
    for operand in operands:
        pattern, data, _ = operand
        if pattern is None:
            assert data is not None
            parts.append((data.dtype, data.shape, data.stride()))
            continue
        rows = pattern.shape[pattern.format.order[0]]
        same = next(n for n, o in enumerate(operands) if o.pattern is pattern)
        dtype = None if data is None else data.dtype
        scattered = _gathers(outline, rows_are_wide, pattern, rows) and pattern.statistics.scattered
        far = _is_far(outline, operands, operand, sums, rows)
        entries = outline.entries(_stored(pattern), rows)
        spread = scattered, far, sums and pattern.statistics.uneven, _is_adjacent(pattern, sums)
        parts.append((pattern.format, pattern.shape, dtype, pattern.index_dtype, entries, same, *spread))
    return tuple(parts)


def _operand_infos(problem: Problem, operands: Sequence[Operand]) -> tuple[OperandInfo, ...]:
    """The operands as requests describe them."""
    first_of: dict[int, int] = {}
    outline = _outline(problem, tuple([None if o.pattern is None else o.pattern.format for o in operands]))
    wide, sums = _has_wide_rows(operands), _sums_rows(outline, operands)
    infos = []
    for number, (name, operand, classes) in enumerate(zip(problem.names, operands, outline.classes, strict=True)):
        pattern, data, _ = operand
        shape = tuple([to_class(n) for to_class, n in zip(classes, operand.shape, strict=True)])
        dtype = dtypes.code(operand.dtype)
        if pattern is None:
            text = dense_text(dense_order(operand.values))
            infos.append(OperandInfo(name, text, dtype, False, "i32", shape, math.prod(shape), same_pattern=-1))
            continue
        same, format = first_of.setdefault(id(pattern), number), pattern.format
        rows = pattern.shape[format.order[0]]
        filled, skew, reach = _spread(pattern, outline.several) if problem.temporary else _NOWHERE
        infos.append(
            OperandInfo(
                name,
                format.text,
                dtype,
                data is None,
                dtypes.code(pattern.index_dtype),
                shape,
                outline.entries(_stored(pattern), rows),
                -1 if same == number else same,
                filled,
                skew,
                reach,
                _gathers(outline, wide, pattern, rows) and pattern.statistics.scattered,
                _is_far(outline, operands, operand, sums, rows),
                sums and pattern.statistics.uneven,
                _is_adjacent(pattern, sums),
            )
        )
    return tuple(infos)


def _stored(pattern: Pattern) -> int:
    """How many entries a pattern has, which decides how its rows are summed in whatever format."""
    return pattern.statistics.stored if pattern.format.padded else pattern.size


def _has_wide_rows(operands: Sequence[Operand]) -> bool:
    """Whether rows of a dense operand are read."""
    return any([o.pattern is None and (shape := o.shape) and shape[-1] >= _WIDE for o in operands])


def _sums_rows(outline: _Outline, operands: Sequence[Operand]) -> bool:
    """Whether the rows of one sparse operand are summed, entry by entry."""
    return not outline.several and all(
        [o.pattern is not None or len(shape := o.shape) < 2 or shape[-1] == 1 for o in operands]
    )


def _is_adjacent(pattern: Pattern, sums: bool) -> bool:
    """Whether rows that are summed in lanes mostly read neighbouring elements."""
    kind = pattern.format.kinds[-1]
    return sums and kind.grouped and not kind.filling and pattern.size >= FEW and pattern.statistics.adjacent


def _gathers(outline: _Outline, wide: bool, pattern: Pattern, rows: int) -> bool:
    """Whether it matters how the entries of a pattern are scattered."""
    return pattern.size >= FEW and (wide or (outline.several and pattern.size >= _SEVERAL * rows))


def _is_far(outline: _Outline, operands: Sequence[Operand], operand: Operand, sums: bool, rows: int) -> bool:
    """Whether a sparse operand's entries are read from beyond the caches, beside scattered elements of dense ones."""
    pattern, data, _ = operand
    if pattern is None or outline.several or pattern.size < (_LONG if sums else _LONG_WIDE) * rows:
        return False
    coordinate = pattern.format.kinds[-1].own or pattern.index_dtype
    each = coordinate.itemsize + (0 if data is None else data.element_size())
    gathers = any([o.pattern is None for o in operands])
    return gathers and target.overflows(pattern.size * each) and pattern.statistics.scattered


def _spread(pattern: Pattern, several: bool) -> tuple[int, tuple[int, ...], int]:
    """The classes of the statistics that decide the format of a temporary: rows with entries, skew and reach.

    The last two matter where several sparse operands meet. Unknown ones are 0 or empty.
    """
    found = pattern.statistics
    rows = pattern.extents[0]
    if found.lengths is None:
        return _NOWHERE
    filled = size_classes.share(rows - found.empty, rows)
    if not several:
        return filled, (), 0
    reach = 0 if found.reach is None else size_classes.ratio(found.reach, _WHOLE)
    return filled, tuple(map(size_classes.ratio, found.skew)), reach
