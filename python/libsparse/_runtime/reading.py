"""What kernels read of operands: the arrays of their patterns, and dense ones in an order of dimensions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch import Tensor

from libsparse._compiler.kernel import Kernel, Slots
from libsparse._storage.conversion import Conversion, rows_by_length
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from .problem import Operand, dense_order


def level_array(pattern: Pattern | None, kind: str, level: int) -> Tensor:
    """The positions or coordinates of a level, or the order of its rows."""
    assert pattern is not None
    array = rows_by_length(pattern) if kind == "order" else (pattern.pos if kind == "pos" else pattern.crd)[level]
    assert array is not None
    return array


def read_order(kernel: Kernel, number: int, operand: Operand) -> tuple[int, ...] | None:
    """The order a dense operand is read in; None for a sparse one."""
    if operand.pattern is not None:
        return None
    wanted = kernel.convert.get(number)
    return dense_order(operand.values) if wanted is None else wanted.order


def carrying(convert: Mapping[int, Format], slots: Slots, operands: Sequence[Operand]) -> dict[int, Conversion] | None:
    """The conversions of operands whose values a kernel reads where they are; None where it reads copies of some.

    It reads them through the places that a conversion has, or the conversion leaves them in their order.

    Args:
        convert: The formats in which the kernel reads sparse operands that have others.
        slots: The slots of the kernel.
        operands: The operands.
    """
    permuted = {number for _, number in slots.permutations}
    found: dict[int, Conversion] = {}
    for number, wanted in convert.items():
        conversion = operands[number].sparsity.converted(wanted)
        if (conversion.source is not None) != (number in permuted) or conversion.target is not None:
            return None
        found[number] = conversion
    return found


def pattern_arrays(
    slots: Slots, operands: Sequence[Operand], conversions: Mapping[int, Conversion]
) -> list[tuple[int, Tensor]]:
    """The arrays of patterns, as a kernel reads them, and their places in the block."""
    permutations = [(place, conversions[number].source) for place, number in slots.permutations]
    arrays = [(place, source) for place, source in permutations if source is not None]
    for place, number, kind, level in slots.arrays:
        pattern = conversions[number].pattern if number in conversions else operands[number].pattern
        arrays.append((place, level_array(pattern, kind, level)))
    return arrays
