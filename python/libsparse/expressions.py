"""`evaluate`: assignments in TACO's notation, with operands by name.

The compiler computes them as they are; only where gradients are asked for they are taken apart here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from . import assignment, autograd, contraction, einsums, promotion, running
from .errors import FormatError, ShapeError, UnsupportedError
from .format import Format
from .problem import Operand, Problem


def evaluate(
    text: str,
    *,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **operands: Any,
) -> Any:
    """Computes an assignment such as `"y(i) = alpha * A(i,j) * x(j) + b(i)"`.

    Operands and numbers are promoted as torch promotes them; `/` and functions such as `exp` make floats of integers,
    `abs`, `real` and `imag` real values of complex ones.

    Args:
        text: The assignment; indices that are only on the right are summed, per additive term.
        format: The format of the result; None lets the compiler choose.
        reduce: The reduction, as in `einsum`.
        combine: The combination, as in `einsum`.
        operands: The tensors and numbers by name.

    Raises:
        FormatError: The text is malformed, or a name is missing or unused.
        ShapeError: Extents do not agree.
    """
    asked, plain = problem_of(text, operands, format, reduce, combine)
    if autograd.needed(plain):
        return _differentiable(asked, contraction.unify(plain, asked.dtype))
    return einsums.finish(*running.run(asked, plain))


def problem_of(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> tuple[Problem, Sequence[Operand]]:
    """The problem for an assignment, and its operands in the order in which it names them."""
    left, equals, _ = text.partition("=")
    if not equals:
        raise FormatError(f"evaluate {text!r}: expected an assignment such as 'y(i) = A(i,j) * x(j)'")
    if ";" in text or left.rstrip().endswith(("+", "-", "*", "/")):
        raise UnsupportedError(f"evaluate {text!r}: one plain assignment 'lhs = expr' is supported for now")
    target, right = assignment.parse(text)
    seen = [node for node in assignment.walk(right) if isinstance(node, assignment.Access)]
    indices = {index for access in seen for index in access.indices}
    for access in seen:  # without indices it may be an index variable as a value
        if access.name not in operands and (access.indices or access.name not in indices):
            raise FormatError(f"evaluate {text!r}: {access.name!r} is not given; pass it as {access.name}=...")
    unused = sorted(set(operands) - {access.name for access in seen})
    if unused:
        raise FormatError(f"evaluate {text!r}: {unused[0]!r} is given and not used")
    right, origin = assignment.distinct(right, operands)
    if any(name != of for name, of in origin.items()):
        text = f"{assignment.text(target)} = {assignment.text(right)}"
    found = {name: access for name, access in assignment.accesses(right).items() if name in origin}
    plain = einsums.to_operands([operands[origin[name]] for name in found], tuple(found))
    wish = None if format is None or not target.indices else Format(format).resolve(len(target.indices))
    wish = einsums.unfilled(tuple(found.values()), target.indices, wish, reduce)
    dtype = promotion.of_assignment(text, dict(zip(found, plain, strict=True)))
    names, inputs = tuple(found), tuple(found.values())
    asked = Problem(text, True, names, inputs, target.indices, wish, reduce, combine, dtype=dtype)
    extents = asked.extents(plain)
    missing = [index for index in target.indices if index not in extents]
    if missing:
        raise ShapeError(f"evaluate {text!r}: index {missing[0]!r} of the result is in no operand")
    return asked, plain


def _differentiable(asked: Problem, operands: Sequence[Operand]) -> Any:
    """A sum of products as einsums, which autograd follows; dense parts and sparse parts are added as tensors.

    Raises:
        UnsupportedError: It is no such sum, so that its gradient is not available yet.
    """
    if asked.reduce != "sum" or asked.combine != "mul":
        raise UnsupportedError(f"{asked.text}: no gradient for reduce={asked.reduce!r}, combine={asked.combine!r} yet")
    try:
        terms = assignment.products(assignment.parse(asked.text)[1])
    except UnsupportedError as error:
        raise UnsupportedError(f"{asked.text}: gradients are available for sums of products only; {error}") from None
    given = dict(zip(asked.names, zip(asked.inputs, operands, strict=True), strict=True))
    total: Any = None
    for factor, names in terms:
        if not set(names) <= set(given):
            raise UnsupportedError(f"{asked.text}: an index variable as a value has no gradient yet")
        term = _term(asked, [given[name] for name in names], operands)
        term = term if factor == 1 else term * factor
        total = term if total is None else total + term
    return total


def _term(asked: Problem, given: Sequence[tuple[tuple[str, ...], Operand]], operands: Sequence[Operand]) -> Any:
    """A product of some operands; dense ones that lack indices of the result are repeated along them."""
    carried = {index for indices, _ in given for index in indices}
    kept = tuple(index for index in asked.output if index in carried)
    inputs, factors = einsums.simplify([indices for indices, _ in given], [operand for _, operand in given])
    if kept == asked.output and given:
        return einsums.compute(inputs, kept, factors, asked.wish)
    if any(operand.pattern is not None for operand in factors) or (asked.wish is not None and not asked.wish.is_dense):
        raise UnsupportedError(f"{asked.text}: a sparse term without all indices of the result has no gradient yet")
    if given:
        small = einsums.compute(inputs, kept, factors, None)
    else:
        small = torch.ones((), dtype=next(o.data.dtype for o in operands if o.data is not None), device="cpu")
    extents = asked.extents(operands)
    places = tuple(slice(None) if index in carried else None for index in asked.output)
    return small[places].expand([extents[index] for index in asked.output])
