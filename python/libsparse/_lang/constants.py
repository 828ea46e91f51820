"""The value of an expression where nothing sparse is stored: a number, nothing, or what dense operands decide."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

from . import assignment, operations, regions, user_functions
from .assignment import Access, Call, Expr
from .user_functions import Definition


class Outside(enum.Enum):
    """What is no number: no value, which counts as 0, or one that is not the same everywhere."""

    MISSING = "missing"
    VARYING = "varying"


MISSING, VARYING = Outside.MISSING, Outside.VARYING
Value: TypeAlias = "int | float | complex | Outside"

_ACTIVATIONS: Final = "gelu hardsigmoid hardswish logsigmoid mish relu relu6 selu silu softplus softsign tanhshrink"
_FUNCTIONS: Final[dict[str, Callable[..., Tensor]]] = {
    "and": torch.logical_and,
    "cbrt": lambda x: x.abs().pow(1 / 3) * x.sign(),
    "cube": lambda x: x * x * x,
    "first": lambda x, _: x,
    "max": torch.maximum,
    "min": torch.minimum,
    "not": torch.logical_not,
    "or": torch.logical_or,
    "second": lambda _, y: y,
    "stored": torch.ones_like,
    "truth": lambda x: x != 0,
    "where": lambda c, x, y: torch.where(c != 0, x, y),
    "xor": torch.logical_xor,
    "celu": lambda x, alpha: functional.celu(x, alpha.item()),
    "elu": lambda x, alpha: functional.elu(x, alpha.item()),
    "hardtanh": lambda x, low, high: functional.hardtanh(x, low.item(), high.item()),
    "leaky_relu": lambda x, slope: functional.leaky_relu(x, slope.item()),
    **{name: getattr(functional, name) for name in _ACTIVATIONS.split()},
}


def outside(expr: Expr, given: Mapping[str, Value], functions: Mapping[str, Definition]) -> dict[int, Value]:
    """The value of every part of an expression, by the id of the part.

    Args:
        expr: The expression.
        given: The values of operands: MISSING for a sparse one, numbers for numbers; others are VARYING.
        functions: The user's functions that it calls.
    """
    found: dict[int, Value] = {}
    for node in reversed(list(assignment.walk(expr))):  # sums may have thousands of terms
        if isinstance(node, Access):
            found[id(node)] = given.get(node.name, VARYING)
        elif isinstance(node, Call):
            found[id(node)] = _call(node, [found[id(arg)] for arg in node.args], functions)
        else:
            found[id(node)] = node.value
    return found


def _call(call: Call, args: Sequence[Value], functions: Mapping[str, Definition]) -> Value:
    defined = [arg is not MISSING for arg in args]
    definition = functions.get(call.op)
    if definition is not None:
        return _defined(call, definition, args, defined, functions)
    if not regions.holds(call.region or regions.usual(call), defined):
        return MISSING
    if VARYING in args or call.op == "sum":  # as many terms as indices have values
        return VARYING
    return _apply(operations.SIGNS.get(call.op, call.op), [0 if arg is MISSING else arg for arg in args])


def _defined(
    call: Call,
    definition: Definition,
    args: Sequence[Value],
    defined: Sequence[bool],
    functions: Mapping[str, Definition],
) -> Value:
    """The value of a user's function: of the body of the first case whose region holds."""
    if call.region and not regions.holds(call.region, defined):
        return MISSING
    last = definition.cases[-1]
    for region, body in definition.cases:
        tree = user_functions.body(body, functions)
        if not region:  # as written out in its place
            value = outside(tree, dict(zip(definition.params, args, strict=True)), functions)[id(tree)]
            if value is not MISSING or (call.region and (region, body) == last):
                return value
        elif regions.holds(region, defined, definition.params) or (call.region and (region, body) == last):
            # Inside of a region every operator has a value.
            plain = [0 if arg is MISSING else arg for arg in args]
            return outside(tree, dict(zip(definition.params, plain, strict=True)), functions)[id(tree)]
    return MISSING


def _apply(op: str, args: Sequence[Any]) -> Value:
    """A function of numbers: of integers exactly where they stay integers, else in double precision."""
    function = _FUNCTIONS.get(op) or getattr(torch, op)
    if not operations.is_floating(op) and all(isinstance(arg, int) for arg in args):
        exact = _computed(function, args, torch.int64)
        if exact is not VARYING:
            return exact
    dtype = torch.complex128 if any(isinstance(arg, complex) for arg in args) else torch.float64
    return _computed(function, args, dtype)


def _computed(function: Callable[..., Tensor], args: Sequence[Any], dtype: torch.dtype) -> Value:
    """The number that a function gives; VARYING where it refuses the dtype, as orders of complex numbers do."""
    try:
        number: int | float | complex = function(*[torch.tensor(arg, dtype=dtype, device="cpu") for arg in args]).item()
    except RuntimeError:
        return VARYING
    return number
