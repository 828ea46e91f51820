"""torch's elementwise functions of two tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._ops import division, elementwise

from .registry import implements, named

implements(torch.mul, torch.multiply, Tensor.mul, Tensor.multiply, Tensor.__mul__, Tensor.__rmul__)(
    elementwise.multiply
)
implements(*named("div divide true_divide __truediv__", torch, Tensor))(division.divide)
implements(*named("floor_divide __floordiv__", torch, Tensor))(division.floor_divide)
implements(*named("remainder __mod__", torch, Tensor))(division.remainder)
implements(torch.fmod, Tensor.fmod)(division.fmod)
implements(torch.pow, Tensor.pow, Tensor.__pow__)(division.power)


@implements(torch.add, Tensor.add, Tensor.__add__, Tensor.__radd__)
def add(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input + alpha * other`: entries where either is stored; dense where one is."""
    return elementwise.add(input, elementwise.scaled(other, alpha))


@implements(*named("sub subtract __sub__", torch, Tensor))
def sub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`input - alpha * other`."""
    return elementwise.subtract(input, elementwise.scaled(other, alpha))


@implements(*named("rsub __rsub__", torch, Tensor))
def rsub(input: Any, other: Any, *, alpha: Any = 1) -> Any:
    """`other - alpha * input`."""
    return elementwise.subtract(other, elementwise.scaled(input, alpha))


def _reflected(operator: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """The operator with its operands exchanged."""
    return lambda input, other: operator(other, input)


implements(Tensor.__rfloordiv__)(_reflected(division.floor_divide))
implements(Tensor.__rmod__)(_reflected(division.remainder))
implements(Tensor.__rpow__)(_reflected(division.power))
