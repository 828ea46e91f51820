"""Partial derivatives of expressions, as expressions: of the compiler's functions from a table, of others from text.

Gradients of complex values are torch's: that of x under a holomorphic f is the gradient of f(x) times the conjugate of
the derivative.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

from libsparse._lang import assignment, grammar, operations, user_functions
from libsparse._lang.assignment import Access, Call, Expr, Number
from libsparse._lang.errors import UnsupportedError
from libsparse._lang.records import NamedTuple
from libsparse._lang.types import Typing
from libsparse._lang.user_functions import Definition

ONE = Number(1)
_SUMS = frozenset({"+", "-", "add", "sub"})
_WHOLE = Definition("sum_at_a_place", ("x",), (("x", "x"),))
_NOT_HOLOMORPHIC = frozenset({*operations.PARTS, "conj"})


def product(factors: Sequence[Expr]) -> Expr:
    """The product of expressions, 1 of none."""
    return functools.reduce(lambda left, right: Call("*", (left, right)), factors or [ONE])


class Start(NamedTuple):
    """Where a gradient begins.

    Attributes:
        grad: The gradient of the whole expression.
        unit: The expression of the imaginary unit.
        types: The types of expressions, as far as they are complex.
    """

    grad: Expr
    unit: Expr
    types: Typing


def of(
    value: Expr, name: str, functions: Sequence[Definition], start: Start
) -> tuple[list[Expr] | None, dict[str, Definition]]:
    """The gradient of an operand that an expression reads once, before it is summed.

    Returns:
        The factors of the gradient, None where it is zero, and the functions that occur in it.

    Raises:
        UnsupportedError: Something on the way to the operand has no derivative.
    """
    called = tuple(definition.name for definition in functions)
    definitions = {definition.name: definition for definition in functions}
    complex = start.types.is_complex
    factors = _projected([start.grad], complex, value)
    for call, place in next(_paths(value, name)):
        arg = call.args[place]
        if call.op in _NOT_HOLOMORPHIC and complex(arg):
            factors = _not_holomorphic(call, factors, start.unit)
            continue
        _check_holomorphic(call, definitions, complex)
        partial = _partial(call, place, called, definitions)
        if partial is None:
            return None, definitions
        start.types.add(definitions)
        if partial != ONE:
            factors.append(Call("conj", (partial,)) if complex(partial) else partial)
        factors = _projected(factors, complex, arg)
    if _calls(factors, _SUMS):
        read = next(node for node in assignment.walk(value) if isinstance(node, Access) and node.name == name)
        factors = _at_each_place(factors, set(read.indices))
    if _calls(factors, {_WHOLE.name}):
        definitions[_WHOLE.name] = _WHOLE
        start.types.add(definitions)
    return factors, definitions


def _calls(values: Sequence[Expr], names: Collection[str]) -> bool:
    return any(isinstance(node, Call) and node.op in names for value in values for node in assignment.walk(value))


def _at_each_place(factors: Sequence[Expr], kept: set[str]) -> list[Expr]:
    """Factors of which sums are those of each place, in a product that is summed over the indices besides `kept`.

    A sum that is a factor is the argument of a function where a term of it lacks an index that no other factor has: by
    the rule for sums that term would be added once, and not for each value of the index.
    """
    found: list[Expr] = []
    for n, factor in enumerate(factors):
        beside = kept.union(*(assignment.indices(other) for m, other in enumerate(factors) if m != n))
        if isinstance(factor, Call) and not factor.region:
            if factor.op in ("*", "/", "neg"):
                factor = factor._replace(args=tuple(_at_each_place(factor.args, beside)))
            elif factor.op in _SUMS and not _is_alike(factor, beside):
                factor = Call(_WHOLE.name, (factor,))
        found.append(factor)
    return found


def _is_alike(value: Expr, beside: set[str]) -> bool:
    """Whether the terms of a sum have the same indices besides some, and no sums in products of their own."""
    terms = [*_terms(value)]
    return not _calls(terms, _SUMS) and len({frozenset(assignment.indices(term) - beside) for term in terms}) == 1


def _terms(value: Expr) -> Iterator[Expr]:
    """The terms of a sum, which may be thousands."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Call) and not node.region and (node.op in _SUMS or node.op == "neg"):
            waiting.extend(node.args)
        else:
            yield node


def _projected(factors: list[Expr], complex: Callable[[Expr], bool], arg: Expr) -> list[Expr]:
    """The gradient of an argument: of a real one, it is the real part."""
    if complex(arg) or not any(complex(factor) for factor in factors):
        return factors
    return [Call("real", (product(factors),))]


def _not_holomorphic(call: Call, factors: list[Expr], unit: Expr) -> list[Expr]:
    """The gradient of the complex argument of a function that has no complex derivative."""
    if call.region:
        raise UnsupportedError(f"{assignment.text(call)}: no gradient for complex values in another region yet")
    (arg,) = call.args
    if call.op == "conj":
        return [Call("conj", (product(factors),))]
    if call.op == "abs":
        direction = Call("/", (arg, Call("abs", (arg,))))
        return [*factors, Call("where", (Call("eq", (arg, Number(0))), Number(0), direction))]
    return [*factors, unit] if call.op == "imag" else factors


def _check_holomorphic(call: Call, definitions: dict[str, Definition], complex: Callable[[Expr], bool]) -> None:
    """Raises an UnsupportedError for a user's function of complex values without a complex derivative."""
    if call.op not in definitions or not any(complex(arg) for arg in call.args):
        return
    for definition in user_functions.needed([call.op], definitions):
        for _, value in definition.cases:
            found = _NOT_HOLOMORPHIC.intersection(user_functions.calls(user_functions.body(value, definitions)))
            if found:
                raise UnsupportedError(f"{call.op}() calls {min(found)}(): no gradient for complex values yet")


def _paths(value: Expr, name: str) -> Iterator[list[tuple[Call, int]]]:
    """For each access of a name, the calls from the root of an expression to it, each with the argument that it is in.

    Without recursion: sums may have thousands of terms.
    """
    waiting: list[tuple[Expr, tuple[Any, ...] | None]] = [(value, None)]
    while waiting:
        node, above = waiting.pop()
        if isinstance(node, Call):
            waiting.extend((arg, (node, place, above)) for place, arg in reversed([*enumerate(node.args)]))
        elif isinstance(node, Access) and node.name == name:
            found: list[tuple[Call, int]] = []
            while above is not None:
                call, place, above = above
                found.append((call, place))
            yield found[::-1]


def _partial(call: Call, place: int, called: tuple[str, ...], definitions: dict[str, Definition]) -> Expr | None:
    """The partial derivative of a call by one of its arguments; functions that it needs are added to `definitions`."""
    definition = definitions.get(call.op)
    if definition is None and not call.region:
        op = operations.SIGNS.get(call.op, call.op)
        partial = _formula(op, place)
        if partial is None:
            return None
        given = dict(zip(operations.PARAMETERS, call.args, strict=False))
        return assignment.replace(partial, lambda access: given[access.name])
    if definition is None:
        params = operations.PARAMETERS[: len(call.args)]
        formula = _formula(call.op, place)
        if formula is None:
            return None
        region = re.sub(r"\d+", lambda number: params[int(number[0])], call.region)
        number = len(definitions)
        derived = Definition(f"d{place}_{call.op}_{number}", params, ((region, assignment.text(formula)),))
    else:
        if call.region:
            raise UnsupportedError(
                f"{assignment.text(call)}: no gradient of a registered function in another region yet"
            )
        derived = _derived(definition, place, called, definitions)
    definitions[derived.name] = derived
    return Call(derived.name, call.args)


def _formula(op: str, place: int) -> Expr | None:
    if op not in operations.DERIVATIVES:
        raise UnsupportedError(f"{op}() has no derivative")
    text = operations.DERIVATIVES[op][place]
    return grammar.expression(text) if text else None


def _derived(
    definition: Definition, place: int, called: tuple[str, ...], definitions: dict[str, Definition]
) -> Definition:
    """The partial derivative of a user's function by one of its parameters."""
    name = f"d{place}_{definition.name}"
    if name in definitions:
        return definitions[name]
    cases = []
    for region, body in definition.cases:
        total: Expr | None = None
        for path in _paths(user_functions.body(body, called), definition.params[place]):
            factors: list[Expr] = []
            for call, where in path:
                partial = _partial(call, where, called, definitions)
                if partial is None:
                    break
                if partial != ONE:
                    factors.append(partial)
            else:
                term = product(factors)
                total = term if total is None else Call("+", (total, term))
        cases.append((region, assignment.text(total or Number(0))))
    return Definition(name, definition.params, tuple(cases))
