"""Values where nothing is stored: fill values of results, terms of sums, and a warning of dense results.

A function acts on the value of its operand everywhere, so `exp(A(i,j))` is 1 where `A` stores nothing. A result that is
one number there is computed only where some operand stores an entry, and has the number as its fill value. Sums are
split (`split_sums.py`).
"""

from __future__ import annotations

import functools
import math
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

import torch
from torch import Tensor

from libsparse._lang import assignment, constants, dtypes, operations, user_functions
from libsparse._lang.assignment import Access, Call, Expr
from libsparse._lang.constants import MISSING
from libsparse._lang.errors import DenseResultWarning
from libsparse._lang.records import NamedTuple
from libsparse._lang.types import Type, Typing, counted, merged
from libsparse._lang.user_functions import Definition
from libsparse._runtime import promotion
from libsparse._runtime.problem import Operand

from .operands import NUMBERS, is_sparse, to_operand
from .split_sums import Sums, union


class Background(NamedTuple):
    """An assignment's right side, and its value where no operand stores anything.

    Attributes:
        value: The right side; if there is a `fill`, it has a value only where an operand stores an entry.
        fill: The value elsewhere; None where it is none or not one number.
        counts: The indices whose extents are multiplied, by the name of the operand for their product.
        steps: Sums of what nothing sparse decides, to be computed first.
        densified: A sparse operand that a dense result has the shape of, None where no such shape is made dense.
        dense: Whether a result in no given format is a dense vector, which has no fill value.
        dtype: The dtype of the right side as it was written; None where it follows from `value`.
    """

    value: Expr
    fill: int | float | complex | None = None
    counts: tuple[tuple[str, tuple[str, ...]], ...] = ()
    steps: tuple[tuple[Access, Expr], ...] = ()
    densified: Access | None = None
    dense: bool = False
    dtype: torch.dtype | None = None


def of(
    target: Access, value: Expr, known: Mapping[str, Any], definitions: Mapping[str, Definition], summed: bool
) -> Background:
    """What the right side of an assignment is where nothing is stored.

    Args:
        target: The left side.
        value: The right side.
        known: Tensors and numbers by name; no sparse one has a fill value.
        definitions: Functions beside the registered ones.
        summed: Whether products are reduced by adding them.
    """
    names = sorted({node.name for node in assignment.walk(value) if isinstance(node, Access) and node.name in known})
    sparse = tuple([name for name in names if is_sparse(known[name])])
    if not sparse:
        return Background(value)
    types = tuple([(name, _type(known[name])) for name in names])
    state = user_functions.version(), torch.get_default_dtype()
    return _of(target, value, sparse, types, tuple(definitions.values()), summed, state)


def _type(value: Any) -> Type:
    return Type(numbers=(value,)) if isinstance(value, NUMBERS) else promotion.type_of(to_operand(value))


@functools.lru_cache(maxsize=1024)
def _of(
    target: Access,
    value: Expr,
    sparse: tuple[str, ...],
    types: tuple[tuple[str, Type], ...],
    definitions: tuple[Definition, ...],
    summed: bool,
    _state: tuple[int, torch.dtype],  # the functions that there are, and what integers become beside floating numbers
) -> Background:
    numbers = {name: type.numbers[0] for name, type in types if type.numbers}
    extra = {definition.name: definition for definition in definitions}
    functions = {d.name: d for d in user_functions.needed(user_functions.calls(value), extra)}
    given = {**dict.fromkeys(sparse, MISSING), **numbers}
    found = constants.outside(value, given, functions)
    kept = set(target.indices)
    own = Typing(dict(types), functions.values()).of(value)
    dtype = own.dtype()
    if not assignment.indices(value) <= kept:
        dtype = merged([own, Type(numbers=counted(value, kept))]).dtype()
        numeric = dtype not in (None, torch.bool)
        if not (summed and numeric):
            return Background(value)
        sums = Sums(value, sparse, given, functions)
        split = sums.split(sums.written(value, kept), kept)
        return Background(split, counts=tuple(sums.counts.items()), steps=tuple(sums.steps), dtype=dtype)
    outside = found[id(value)]
    accesses = [node for node in assignment.walk(value) if isinstance(node, Access)]
    read = [access for access in accesses if access.name in sparse]
    stored = list(dict.fromkeys(read))
    alike = all(set(access.indices) == kept for access in stored)
    if kept and alike and is_quotient(value) and all(found[id(arg)] is MISSING for arg in value.args):
        value, outside = Call("div", value.args, "some"), math.nan  # an operator is written without its region
    if outside is MISSING or not kept:
        return Background(value)
    if isinstance(outside, (int, float, complex)) and alike:
        # The compiler makes vectors dense, but for those with one operand's pattern and those of sparse operands alone.
        dense = len(kept) == 1 and (len(stored) > 1 or bool(stored[0].windows)) and len(accesses) > len(read)
        return Background(_where_stored(value, stored, functions), outside, dense=dense, dtype=dtype)
    if len(kept) < 2:  # a dense vector is no large one
        return Background(value)
    whole = next((access for access in stored if set(access.indices) == kept), None)
    dense = any(set(access.indices) == kept for access in accesses if access.name not in sparse)
    return Background(value, densified=None if dense else whole)


def is_quotient(value: Expr) -> TypeGuard[Call]:
    """Whether an expression is a quotient, which is 0 / 0 where nothing is stored if both sides have no value there."""
    return isinstance(value, Call) and value.op in ("/", "div") and not value.region


def _where_stored(value: Expr, stored: Sequence[Access], functions: Mapping[str, Definition]) -> Expr:
    """An expression that has a value only where one of some operands stores an entry."""
    once = sum(node == stored[0] for node in assignment.walk(value)) == len(stored) == 1
    alone = _along(value, stored[0], functions) if once else None
    return union(value, stored, functions) if alone is None else alone


def _along(value: Expr, access: Access, functions: Mapping[str, Definition]) -> Expr | None:
    """An expression with a value only where an operand that it reads once has one; None if a call says otherwise."""
    if not isinstance(value, Call):
        return value
    for place, arg in enumerate(value.args):
        if any(node == access for node in assignment.walk(arg)):
            inner = _along(arg, access, functions)
            if inner is None or value.region or value.op in functions:
                return None
            args = (*value.args[:place], inner, *value.args[place + 1 :])
            if value.op in ("neg", "*") or (value.op == "/" and place == 0):
                return value._replace(args=args)
            return Call(operations.SIGNS.get(value.op, value.op), args, str(place))
    return value


def counts(background: Background, known: Mapping[str, Any]) -> dict[str, Tensor]:
    """The operands that `background.counts` names."""
    if not background.counts:
        return {}
    sizes: dict[str, int] = {}
    for expr in (background.value, *[value for _, value in background.steps]):
        for node in assignment.walk(expr):
            if isinstance(node, Access) and node.indices and node.name in known:
                sizes.update(zip(node.indices, known[node.name].shape, strict=True))
    return {
        name: torch.tensor(math.prod(sizes[index] for index in indices), device="cpu")
        for name, indices in background.counts
    }


def filled(value: Expr, known: dict[str, Any], neutral: str) -> tuple[Expr, dict[str, Any], dict[str, Definition]]:
    """An expression in which operands with fill values are functions of operands without.

    Args:
        value: The expression.
        known: Tensors and numbers by name.
        neutral: The reduction whose identity as a fill value says that there is no term.

    Returns:
        The expression, the tensors and numbers, and the functions.
    """
    names = {node.name for node in assignment.walk(value) if isinstance(node, Access)}
    fills: dict[str, Operand] = {}
    for name in names:
        operand = to_operand(known[name], repr(name)) if is_sparse(known.get(name)) else None
        if operand is not None and operand.fill and operand.fill != dtypes.identity(neutral, operand.dtype):
            fills[name] = operand
    if not fills:
        return value, known, {}
    taken = (*known, *user_functions.names())
    calls: dict[str, tuple[str, tuple[Access, ...]]] = {}
    given: dict[str, Any] = {}
    definitions: dict[str, Definition] = {}
    for name, operand in fills.items():
        function, number = (assignment.fresh(f"{part}_{name}", taken) for part in ("filled", "fill_of"))
        literal = _literal(operand.fill)
        params = ("x",) if literal else ("x", "fill")
        definitions[function] = Definition(function, params, (("x", "x"), ("~x", literal or "fill")))
        calls[name] = function, () if literal else (Access(number),)
        given |= {name: Operand(operand.pattern, operand.data), **({} if literal else {number: operand.fill})}

    def change(node: Access) -> Expr:
        function, numbers = calls.get(node.name, ("", ()))
        return Call(function, (node, *numbers)) if function else node

    return assignment.replace(value, change, but="stored"), {**known, **given}, definitions


def combined(value: Expr, combine: str) -> Expr:
    """An expression in which `*` is written as the combination that it means, which has a value where both sides do."""
    if combine == "mul" or not isinstance(value, Call):
        return value
    args = tuple([combined(arg, combine) for arg in value.args])
    return Call(combine, args, "every") if value.op == "*" else value._replace(args=args)


def _literal(number: int | float | complex) -> str | None:
    """A number in the notation, where a parameter `x` is 0; None of complex ones, which it can't write."""
    if isinstance(number, complex):
        return None
    if isinstance(number, bool):
        return "not(x)" if number else "x"  # truth values, where 1 is an integer
    if number == -(2**63):
        return f"{number + 1} - 1"  # 2^63 is no integer of any dtype
    if math.isfinite(number):
        return repr(number)
    return "0.0 / 0.0" if math.isnan(number) else "1.0 / 0.0" if number > 0 else "-1.0 / 0.0"


@functools.lru_cache(maxsize=256)
def warn(text: str, densified: Access) -> None:
    """Warns of a dense result of a sparse shape, once for each expression."""
    access = assignment.text(densified)
    warnings.warn(
        f"evaluate {text!r}: the result is dense, although {access} is sparse, because dense operands decide it where "
        f"{densified.name!r} stores nothing. If only stored entries matter, multiply by stored({access}); if the dense "
        "result is meant, pass format='dense'",
        DenseResultWarning,
        stacklevel=6,
    )
