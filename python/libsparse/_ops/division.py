"""Quotients of whole numbers, remainders, and powers: `//`, `%`, `fmod` and `**`, element by element.

Integers stay integers, and one that is divided by zero is an error, as in torch: also where no entry is stored, since
elements there are zero.
"""

from __future__ import annotations

import math
import string
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DivisionByZeroError, ShapeError, UnsupportedError
from libsparse._runtime.problem import Operand
from libsparse._storage.format import Format

from . import elementwise
from .evaluate import evaluate
from .operands import is_scalar, is_sparse, is_tensor, to_operand


def _operator(name: str) -> Callable[[Any, Any], Any]:
    """Torch's function of this name, for tensors and numbers of which one is sparse."""

    def apply(input: Any, other: Any) -> Any:
        return _apply(name, input, other)

    apply.__name__, apply.__doc__ = name, getattr(torch, name).__doc__
    return apply


floor_divide, remainder, fmod, power = map(_operator, ("floor_divide", "remainder", "fmod", "pow"))


def divide(input: Any, other: Any, *, rounding_mode: str | None = None) -> Any:
    """`torch.div`: rounded down where `rounding_mode` is "floor".

    Raises:
        UnsupportedError: Another rounding of two tensors.
    """
    if rounding_mode is None:
        return elementwise.divide(input, other)
    if rounding_mode == "floor":
        return floor_divide(input, other)
    if is_sparse(input) and is_scalar(other):
        return _mapped(
            "div", to_operand(input), lambda values: torch.div(values, other, rounding_mode=rounding_mode), other
        )
    raise UnsupportedError(
        f"div with rounding_mode={rounding_mode!r} takes a number as its second operand; use 'floor'"
    )


def _apply(name: str, a: Any, b: Any) -> Any:
    function = getattr(torch, name)
    if is_scalar(b) and is_sparse(a):
        return _mapped(name, to_operand(a), lambda values: function(values, b), b)
    if is_scalar(a) and is_sparse(b):
        return _mapped(name, to_operand(b), lambda values: function(a, values), a)
    if not is_tensor(a) or not is_tensor(b):
        return NotImplemented
    first, second = to_operand(a, 0), to_operand(b, 1)
    for operand in (first, second):
        operand.need_zero_fill(name)
    if first.pattern is None:
        return _of_dense(name, first, second)
    return _by_dense(name, first, second) if second.pattern is None else _of_sparse(name, first, second)


def _mapped(name: str, a: Operand, function: Callable[[Tensor], Tensor], scalar: Any) -> Operand:
    """A function of the elements and a number: of the stored ones, and of the fill value where not all are."""
    fill: Any = 0
    try:
        values = function(a.sparsity.entries(a.values))
        if _absent(a):
            fill = function(torch.full((1,), a.fill, dtype=a.dtype, device="cpu")).detach().item()
    except RuntimeError as error:
        if "ZeroDivisionError" not in str(error):
            raise
        raise DivisionByZeroError(
            f"{name}: {a}, {a.dtype}, and the number {scalar}: an integer is divided by zero; elements that are not "
            f"stored are {a.fill}"
        ) from None
    if isinstance(fill, complex):
        fill = fill.real if fill.imag == 0 else fill
    follows = isinstance(scalar, Tensor) and scalar.requires_grad
    if isinstance(fill, complex) or (follows and fill != 0):
        raise UnsupportedError(
            f"{name}: elements of {a}, {a.dtype}, that are not stored become {fill}, which "
            f"{'depends on a number that has a gradient' if follows else 'is complex'}; use to_dense()"
        )
    return Operand(a.sparsity, a.sparsity.spread(values), fill)


def _of_sparse(name: str, a: Operand, b: Operand) -> Any:
    format = a.sparsity.format
    if a.shape != b.shape:
        raise ShapeError(f"{name}: operand 0 ({a}, {a.dtype}) and operand 1 ({b}, {b.dtype}) differ in shape")
    if name != "pow":
        _check_absent(name, a, b)
        if not _absent(b):
            return _evaluate(name, "0", a, b, format)
    quotient = _evaluate(name, "0 | 1", a, b, format.compressed if format.pads else format)
    return quotient._replace(fill=1 if name == "pow" else float("nan"))


def _by_dense(name: str, a: Operand, b: Operand) -> Any:
    kept, divisors = elementwise.broadcast_dims(a, b.values), b.values
    if name == "pow":
        return _evaluate(name, "0 | 1", a, b, "dense", kept)
    if _absent(a):  # 0 divided by NaN or by zero is not 0
        if _whole(a, b) and bool((divisors == 0).any()):
            raise DivisionByZeroError(f"{name}: operand 1 (shape {tuple(b.shape)}, dense, {b.dtype}) has a zero")
        if bool(((divisors == 0) | divisors.isnan()).any()):
            raise UnsupportedError(
                f"{name}: operand 1 (shape {tuple(b.shape)}, dense) has a zero or a NaN, where elements that are not "
                "stored become NaN; use to_dense() on operand 0"
            )
    return _evaluate(name, "0", a, b, a.sparsity.format, kept)


def _of_dense(name: str, a: Operand, b: Operand) -> Any:
    kept = elementwise.broadcast_dims(b, a.values)
    if name != "pow":
        _check_absent(name, a, b)
    return _evaluate(name, "0 | 1", a, b, "dense", kept)


def _evaluate(
    name: str, region: str, a: Operand, b: Operand, format: str | Format, kept: list[bool] | None = None
) -> Operand:
    """The operator on two tensors, of which one that is dense may be repeated along dimensions of the other."""
    letters = tuple(string.ascii_lowercase[: max(a.ndim, b.ndim)])
    given: dict[str, Any] = {}
    accesses = []
    for label, operand in (("A", a), ("B", b)):
        own, given[label] = letters, operand
        if kept is not None and operand.pattern is None:
            own, given[label] = elementwise.squeeze(letters, operand, kept)
        accesses.append(f"{label}({','.join(own)})")
    return evaluate(f"C({','.join(letters)}) = {name}[{region}]({', '.join(accesses)})", format=format, **given)


def _whole(a: Operand, b: Operand) -> bool:
    """Whether integers are divided."""
    kind = torch.promote_types(a.dtype, b.dtype)
    return not kind.is_floating_point and not kind.is_complex


def _absent(a: Operand) -> int:
    """How many elements are not stored."""
    return math.prod(a.shape) - a.sparsity.nnz


def _check_absent(name: str, a: Operand, b: Operand) -> None:
    """Raises a DivisionByZeroError where elements that are not stored divide integers."""
    if _absent(b) and _whole(a, b):
        raise DivisionByZeroError(
            f"{name}: operand 1 ({b}, {b.dtype}) divides integers, and its {_absent(b)} elements that are "
            "not stored are zero; divide the entries with A.with_values(...), or convert to a floating dtype"
        )
