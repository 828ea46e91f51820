"""The formats in which a copy of a sparse operand may be computed faster with, for calls that repeat (lasting.py)."""

from __future__ import annotations

from collections.abc import Sequence

from libsparse._compiler import settings
from libsparse._storage import derived
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern
from libsparse._storage.statistics import places

from .call import Call
from .direct import FLOATS
from .problem import Operand, Problem

_HEIGHT = 8  # rows of a slice, which are computed in lanes
_WINDOW = 4096  # rows that are sorted by their lengths where slices of neighbours would be padded too much
_EVEN, _SORTED = 1.1, 1.25  # places per entry that slices may have, of neighbours and of sorted rows
_ORDERED = 1.05  # times as many places as of sorted rows, up to which rows stay in their order
_FILLED = 2.5  # places per entry that blocks may have: emptier ones of 16 rows don't pay
_LEAST = 4096  # entries below which a product takes hardly longer than it takes to call
_LONG = 128  # entries of a row on average, from which on lanes are filled along rows
_WIDE = 256  # bytes of rows of a dense operand from which on blocks sum in the same order as CSR


def of(call: Call, problem: Problem, operands: Sequence[Operand], number: int) -> list[Format]:
    """The formats in which a copy of an operand may be computed faster with, the most promising first."""
    pattern = operands[number].sparsity
    if not _has_room(operands[number], _SORTED):
        return []
    read, base = call.kernel.convert.get(number), pattern
    if (format := call.reads.get(number)) is not None:
        base = pattern.converted(format).pattern
    if base.size >= _LEAST and _sums_rows(problem, number, base.format):
        found = [_in_lanes(base), read, _narrow(base)]
    else:
        wide = call.is_dense and _reads_long_rows(problem, operands, number, base)
        found = [_in_blocks(base) if wide and _has_room(operands[number], _FILLED) else None, read]
    padded = operands[number].data is not None  # there is no padding without values
    return [format for format in found if format is not None and (padded or not format.pads)]


def turned(call: Call, problem: Problem, operands: Sequence[Operand], number: int) -> Format | None:
    """The format of the transpose of a matrix whose entries are added to elements all over the result, as by `A.T @ x`.

    Each element is the sum over a row of that, which one thread adds up without writing to memory in between.
    """
    pattern = operands[number].sparsity
    if pattern.format.levels != ("d", "s") or pattern.size < _LEAST or call.reads:
        return None
    outer, inner = pattern.format.order
    other = Format(f"ds:{inner},{outer}")
    return other if _sums_rows(problem, number, other) and _has_room(operands[number], 1) else None


def _has_room(operand: Operand, places: float) -> bool:
    """Whether another copy of a pattern and its values may be kept, of so many places for each entry."""
    pattern = operand.sparsity
    return _fits(pattern, int(places * pattern.size * (value_size(operand) + pattern.index_dtype.itemsize)))


def value_size(operand: Operand) -> int:
    """The bytes of a value of a sparse operand; 0 where it is only a pattern."""
    return 0 if operand.data is None else operand.data.element_size()


def _fits(pattern: Pattern, added: int) -> bool:
    """Whether as many bytes may be kept with a pattern, beside what is kept already."""
    kept = pattern.derived.bytes if derived.limit is not None else 0
    return added <= settings.tuning.tune_bytes and (derived.limit is None or kept + added <= derived.limit)


def is_small(pattern: Pattern, converted: Pattern, size: int) -> bool:
    """Whether values of such a size may be kept for a converted pattern; a sample told how full blocks are."""
    return converted.size <= _FILLED * pattern.size and _fits(pattern, converted.size * size)


def _sums_rows(problem: Problem, number: int, format: Format) -> bool:
    """Whether each element of the result is the sum over a row of a matrix in a format times vectors."""
    if format.levels != ("d", "s") or problem.windows:
        return False
    outer, inner = (problem.inputs[number][mode] for mode in format.order)
    others = [indices for n, indices in enumerate(problem.inputs) if n != number]
    vectors = all(indices in ((), (outer,), (inner,)) for indices in others)
    return vectors and (inner,) in others and problem.output == (outer,)


def multiplies(problem: Problem, operands: Sequence[Operand], number: int) -> bool:
    """Whether a matrix by rows or columns is multiplied by dense tensors, and summed.

    Then padding may be multiplied as blocks and diagonals have it: it adds nothing to a result, or NaN where it meets
    what is not finite, which `Call` looks for.
    """
    others = [operand for n, operand in enumerate(operands) if n != number]
    indices, format = problem.inputs[number], operands[number].sparsity.format
    return (
        not (problem.is_expr or problem.windows)
        and (problem.reduce, problem.combine, problem.output_format) == ("sum", "mul", None)
        and format.levels == ("d", "s")
        and all([other.pattern is None for other in others])
        and all([operand.dtype in FLOATS for operand in operands])
        and not {*indices} <= {*problem.output}
    )


def _reads_long_rows(problem: Problem, operands: Sequence[Operand], number: int, pattern: Pattern) -> bool:
    """Whether rows of the result are sums of multiples of long rows of a dense operand."""
    if len(operands) != 2 or not multiplies(problem, operands, number):
        return False
    outer, inner = (problem.inputs[number][mode] for mode in pattern.format.order)
    dense, operand = problem.inputs[1 - number], operands[1 - number]
    free = dense[1:]
    if not free or dense[0] != inner or problem.output != (outer, *free):
        return False
    return operand.shape[-1] * operand.dtype.itemsize >= _WIDE


def _in_blocks(pattern: Pattern) -> Format | None:
    """The format of a matrix in blocks; None where they are too empty."""
    sides = pattern.statistics.blocks
    return None if sides is None else _ordered_as(pattern, f"dk({sides[0]},{sides[1]})")


def _in_lanes(pattern: Pattern) -> Format | None:
    """The format of a matrix with rows in lanes; None where rows aren't short.

    Rows stay in their order where those of a slice have nearly the same lengths, or where sorting them makes slices
    hardly shorter; else the rows of a window are sorted.
    """
    (starts, _), rows = pattern.compressed(1), pattern.shape[pattern.format.order[0]]
    if pattern.size > _LONG * rows:
        return None
    lengths = starts.diff()
    even, wanted = places(lengths, _HEIGHT), _ordered_as(pattern, f"dl({_HEIGHT})")
    if even <= _EVEN * pattern.size:
        return wanted
    if (ordered := places(lengths, _HEIGHT, _WINDOW)) > _SORTED * pattern.size:
        return None
    return wanted if even <= _ORDERED * ordered else _ordered_as(pattern, f"w({_WINDOW})l({_HEIGHT})")


def _narrow(pattern: Pattern) -> Format | None:
    """The format of a matrix with coordinates of 16 bits, which are read faster; None where they have more."""
    format = _ordered_as(pattern, "dn")
    most = format.kinds[1].most
    return format if most is None or pattern.shape[format.order[1]] <= most else None


def _ordered_as(pattern: Pattern, levels: str) -> Format:
    """The format of these levels and the modes' order that a pattern has."""
    return Format(f"{levels}:{','.join(map(str, pattern.format.order))}")
