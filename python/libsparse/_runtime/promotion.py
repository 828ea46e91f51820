"""Promotion of operands and of whole assignments, as torch promotes."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping

import torch

from libsparse._lang import grammar, operations
from libsparse._lang.dtypes import Number
from libsparse._lang.types import Type, Typing, merged
from libsparse._lang.user_functions import Definition

from .problem import Operand


def common(operands: Iterable[Operand], numbers: Iterable[Number] = ()) -> torch.dtype | None:
    """The dtype that operands and plain numbers promote to; None for patterns alone."""
    operands, numbers = list(operands), tuple(numbers)
    found = {o.data.dtype for o in operands if o.data is not None}
    if len(found) == 1 and not numbers:
        return found.pop()
    return merged([*map(type_of, operands), Type(numbers=numbers)]).dtype()


def floats(reduce: str, combine: str) -> tuple[Number, ...]:
    """The numbers that a reduction and a combination add: 1.0 where they make floating values of integers."""
    return (1.0,) if reduce == "mean" or operations.is_floating(combine) else ()


def of_assignment(
    text: str, given: Mapping[str, Operand], functions: tuple[Definition, ...] = (), numbers: tuple[Number, ...] = ()
) -> torch.dtype | None:
    """The dtype of the right side of an assignment, and of `numbers` beside it; None for patterns alone."""
    types = tuple((name, type_of(operand)) for name, operand in given.items())
    return _of_assignment(text, types, functions, numbers, torch.get_default_dtype())


@functools.lru_cache(maxsize=1024)
def _of_assignment(
    text: str,
    given: tuple[tuple[str, Type], ...],
    functions: tuple[Definition, ...],
    numbers: tuple[Number, ...],
    _default: torch.dtype,  # what integers become beside floating numbers
) -> torch.dtype | None:
    (statement,) = grammar.parse(text, tuple(definition.name for definition in functions))
    found = Typing(dict(given), functions).of(statement.value)
    return merged([found, Type(numbers=numbers)]).dtype()


def type_of(operand: Operand) -> Type:
    """The type of an operand: none of a pattern."""
    if operand.data is None:
        return Type()
    dtype = operand.data.dtype
    return Type(dtype) if operand.shape else Type(scalars=dtype)
