"""Statements: one assignment and its operands, as a problem."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

from libsparse._lang import assignment, dtypes, operations, types, user_functions
from libsparse._lang.assignment import Access, Call, Expr, Statement, walk
from libsparse._lang.errors import FormatError, ShapeError
from libsparse._lang.records import NamedTuple
from libsparse._runtime import promotion
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format

from .operands import to_operands
from .windows import resolve


def prepare(
    text: str,
    target: Access,
    value: Expr,
    known: Mapping[str, Any],
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    *,
    definitions: Mapping[str, user_functions.Definition] | None = None,
    pattern_of: str | None = None,
    shape: tuple[int, ...] | None = None,
) -> tuple[Problem, Sequence[Operand]]:
    """The problem of one assignment, and its operands in the order in which it reads them.

    Args:
        text: Its name in messages.
        target: The left side; if it has the name of an operand it gets another one.
        value: The right side.
        known: Tensors and numbers by name; names that are not read are ignored.
        format: The format of the result.
        reduce: The reduction.
        combine: The meaning of `*`.
        definitions: Functions beside the registered ones.
        pattern_of: The operand whose pattern the result has to have.
        shape: The shape of the result, if the target has windows.
    """
    extra = tuple((definitions or {}).values())
    reading = _read(text, target, value, frozenset(known), extra, user_functions.version())
    target, found, written = reading.target, reading.found, reading.text
    neutral = reduce if is_product(reading.value) else "sum"
    given = tuple(reading.origin[name] for name in found)
    operands: Sequence[Operand] = to_operands([known[name] for name in given], given, neutral)
    if reading.partly:
        value, found, operands = resolve(reading.value, found, operands)
        written = str(Statement(target, "", value))
    parts = tuple(access.windows for access in found.values()) if reading.partly else ()
    problem = Problem(
        written,
        True,
        tuple(found),
        tuple(access.indices for access in found.values()),
        target.indices,
        None if format is None or not target.indices else Format(format).resolve(len(target.indices)),
        reduce,
        combine,
        None if pattern_of is None else tuple(found).index(pattern_of),
        promotion.of_assignment(
            reading.text,
            dict(zip(found, operands, strict=True)),
            reading.functions,
            (*promotion.floats(reduce, combine), *(reading.counted if reduce in ("sum", "prod") else ())),
        ),
        windows=parts if any(parts) else (),
        shape=shape,
        functions=reading.functions,
    )
    _check_target(text, problem._replace(names=tuple(reading.origin.get(name, name) for name in found)), operands)
    return problem, operands


def _check_target(text: str, problem: Problem, operands: Sequence[Operand]) -> None:
    """Raises an error for an index of the result that no operand has; messages have the names of the problem."""
    missing = set(problem.output) - set(problem.extents(operands))
    if missing:
        raise ShapeError(f"evaluate {text!r}: index {min(missing)!r} of the result is in no operand")


def is_product(value: Expr) -> bool:
    """Whether an expression is an access, or several combined by `*`."""
    return all(isinstance(node, Access) or (isinstance(node, Call) and node.op == "*") for node in walk(value))


class _Reading(NamedTuple):
    """The facts about an assignment that follow from its text and the names of its operands.

    Attributes:
        target: The left side, with a name of its own.
        value: The right side, in which every operand is read once.
        text: Both.
        origin: The operand that each name stands for.
        found: The access of each name.
        partly: Whether there are windows or diagonals among them.
        functions: The functions that it calls.
        counted: The number that a sum over indices adds to its type.
    """

    target: Access
    value: Expr
    text: str
    origin: dict[str, str]
    found: dict[str, Access]
    partly: bool
    functions: tuple[user_functions.Definition, ...]
    counted: tuple[dtypes.Number, ...]


@functools.lru_cache(maxsize=1024)
def _read(
    text: str,
    target: Access,
    value: Expr,
    operands: frozenset[str],
    extra: tuple[user_functions.Definition, ...],
    _registered: int,  # names the functions that there are
) -> _Reading:
    seen = [node for node in assignment.walk(value) if isinstance(node, Access)]
    indices = {index for access in (*seen, target) for index in access.indices}
    for access in seen:  # without indices it may be an index variable as a value
        if access.name not in operands and (access.indices or access.name not in indices):
            if access.name in operations.ARITY and operands & set(access.indices):
                given = next(name for name in access.indices if name in operands)
                raise FormatError(
                    f"evaluate {text!r}: {access.name} takes elements, and {given!r} is a tensor; name its indices, "
                    f"as in {access.name}({given}(i,j))"
                )
            hint = operations.suggestion(access.name)
            raise FormatError(f"evaluate {text!r}: {access.name!r} is not given; pass it as {access.name}=...{hint}")
    value, origin = assignment.distinct(value, operands & {access.name for access in seen})
    found = {name: access for name, access in assignment.accesses(value).items() if name in origin}
    if target.name in found:
        target = target._replace(name=assignment.fresh(target.name, {*found, *indices}))
    partly = any(a.windows or len(set(a.indices)) < len(a.indices) for a in found.values())
    functions = user_functions.needed(
        user_functions.calls(value), {definition.name: definition for definition in extra}
    )
    counted = types.counted(value, target.indices)
    return _Reading(target, value, str(Statement(target, "", value)), origin, found, partly, functions, counted)
