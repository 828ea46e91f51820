"""`evaluate`: assignments in TACO's notation, with operands by name.

The compiler parses the text; here it is read only as far as shapes, names and gradients need.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch

from . import autograd, einsums, running
from .assignment import ACCESS, accesses, split_indices
from .contraction import unify
from .errors import DtypeError, FormatError, ShapeError, UnsupportedError
from .format import Format
from .problem import Operand, Problem

_NUMBER = re.compile(r"(?<![\w.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def evaluate(
    text: str,
    *,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **operands: Any,
) -> Any:
    """Computes an assignment such as `"y(i) = alpha * A(i,j) * x(j) + b(i)"`.

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
    unified = unify(plain)
    if autograd.needed(unified):
        terms = _terms(asked)
        return _differentiable(asked, terms, operands, format)
    return einsums.finish(*running.run(asked, unified))


def problem_of(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> tuple[Problem, list[Operand]]:
    """The problem for an assignment, and its operands in the order in which it names them."""
    left, equals, right = text.partition("=")
    if not equals or left.rstrip().endswith(("+", "-", "*", "/")) or ";" in text:
        if ";" in text or equals:
            raise UnsupportedError(f"evaluate {text!r}: one plain assignment 'lhs = expr' is supported for now")
        raise FormatError(f"evaluate {text!r}: expected an assignment such as 'y(i) = A(i,j) * x(j)'")
    target = ACCESS.fullmatch(left.strip())
    if target is None:
        raise FormatError(f"evaluate {text!r}: {left.strip()!r} is no access such as y(i)")
    found = accesses(right)
    for name in found:
        if name not in operands:
            raise FormatError(f"evaluate {text!r}: {name!r} is not given; pass it as {name}=...")
    unused = sorted(set(operands) - set(found))
    if unused:
        raise FormatError(f"evaluate {text!r}: {unused[0]!r} is given and not used")
    plain = [einsums.to_operand(operands[name], name) for name in found]
    output = split_indices(target.group(2))
    wish = None if format is None or not output else Format(format).resolve(len(output))
    asked = Problem(text, True, tuple(found), tuple(found.values()), output, wish, reduce, combine)
    extents = asked.extents(plain)
    missing = [index for index in output if index not in extents]
    if missing:
        raise ShapeError(f"evaluate {text!r}: index {missing[0]!r} of the result is in no operand")
    return asked, plain


def _terms(asked: Problem) -> list[tuple[float, list[str]]]:
    """The right side as a sum of products: a factor and the names of each term.

    Raises:
        UnsupportedError: It is no such sum, so that its gradient is not available yet.
    """
    if asked.reduce != "sum" or asked.combine != "mul":
        raise UnsupportedError(f"{asked.text}: no gradient for reduce={asked.reduce!r}, combine={asked.combine!r} yet")
    right = ACCESS.sub(lambda m: f" {m.group(1)} ", asked.text.partition("=")[2])
    tokens = re.findall(r"[A-Za-z_]\w*|[\d.]+(?:[eE][+-]?\d+)?|\S", right)
    terms: list[tuple[float, list[str]]] = []
    sign, factor, names, fresh = 1.0, 1.0, list[str](), True
    for token in [*tokens, "+"]:
        if token in "+-" and fresh:
            sign = -sign if token == "-" else sign
        elif token in "+-":
            terms.append((sign * factor, names))
            sign, factor, names, fresh = (-1.0 if token == "-" else 1.0), 1.0, [], True
        elif token == "*" and not fresh:
            continue
        elif re.fullmatch(r"[A-Za-z_]\w*", token):
            names.append(token)
            fresh = False
        elif _NUMBER.fullmatch(token):
            factor *= float(token)
            fresh = False
        else:
            raise UnsupportedError(
                f"{asked.text}: gradients are available for sums of products only; {token!r} is neither"
            )
    return terms


def _differentiable(
    asked: Problem, terms: Sequence[tuple[float, list[str]]], operands: Mapping[str, Any], format: str | Format | None
) -> Any:
    """A sum of products as einsums, which autograd follows; dense parts and sparse parts are added as tensors."""
    letters = {index: chr(ord("a") + n) for n, index in enumerate(dict.fromkeys(i for t in asked.inputs for i in t))}
    if len(letters) > 26:
        raise UnsupportedError(f"{asked.text}: more than 26 indices")
    accesses = dict(zip(asked.names, asked.inputs, strict=True))
    output = "".join(letters[index] for index in asked.output)
    total: Any = None
    for factor, names in terms:
        if not names:
            raise UnsupportedError(f"{asked.text}: the gradient of a sum with a plain number is not available yet")
        spec = ",".join("".join(letters[index] for index in accesses[name]) for name in names)
        carried = {index for name in names for index in accesses[name]}
        if not set(asked.output) <= carried:
            raise UnsupportedError(f"{asked.text}: a term without all indices of the result has no gradient yet")
        factors = [operands[name] for name in names]
        term = einsums.einsum(f"{spec}->{output}", *factors, format=format)
        term = term if factor == 1 else term * factor
        total = term if total is None else total + term
    if total is None:
        raise DtypeError(f"{asked.text}: nothing to compute")
    return total if torch.is_tensor(total) else torch.as_tensor(total)
