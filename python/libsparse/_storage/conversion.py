"""Conversions: a pattern brought to another layout, and the places that its values come from."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import Tensor

from libsparse._lang.errors import InternalError
from libsparse._lang.records import NamedTuple

from . import sorting
from .format import Format
from .taking import taken

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

    def values(self, values: Tensor, fill: float = 0) -> Tensor:
        """Carries values over; differentiable. Padding is `fill`."""
        if self.source is not None:
            values = taken(values, self.source)
        if self.target is not None:
            return values.new_full((self.pattern.size,), fill).index_copy(0, self.target, values)
        return values


def _no_converter(pattern: Pattern, format: Format) -> Conversion:
    raise InternalError(f"nothing converts {pattern} to format {format}")


_convert: Callable[[Pattern, Format], Conversion] = _no_converter


def set_converter(convert: Callable[[Pattern, Format], Conversion]) -> None:
    """Register the function that brings patterns to other formats: it runs kernels, which are above patterns."""
    global _convert
    _convert = convert


def convert(pattern: Pattern, format: Format) -> Conversion:
    """The pattern in another format; a transpose of another pattern shares arrays with the conversion of that one."""
    for dims, related in pattern.transposes.items():
        origin = related() if isinstance(related, weakref.ref) else None
        if origin is not None:
            converted, source, target = origin.converted(format.permute(dims))
            return Conversion(converted.transposed(inverse(dims)), source, target)
    return _convert(pattern, format)


def inverse(dims: tuple[int, ...]) -> tuple[int, ...]:
    """The order of modes that undoes another one."""
    return tuple(sorted(range(len(dims)), key=dims.__getitem__))


def rows_by_length(pattern: Pattern) -> Tensor:
    """The numbers of the rows, stored as those of CSR, with those of similar length side by side; found once."""
    pos = pattern.pos[1]
    assert pos is not None
    order: Tensor = pattern._keep(("order of rows",), lambda: sorting.by_length(pos))
    return order
