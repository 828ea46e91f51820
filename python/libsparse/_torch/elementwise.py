"""torch's elementwise functions of two tensors."""

from __future__ import annotations

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
def add(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """`a + alpha * b`: entries where either is stored; dense where one is."""
    return elementwise.add(a, elementwise.scaled(b, alpha))


@implements(*named("sub subtract __sub__", torch, Tensor))
def sub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """`a - alpha * b`."""
    return elementwise.subtract(a, elementwise.scaled(b, alpha))


@implements(*named("rsub __rsub__", torch, Tensor))
def rsub(a: Any, b: Any, *, alpha: Any = 1) -> Any:
    """`b - alpha * a`."""
    return elementwise.subtract(b, elementwise.scaled(a, alpha))


@implements(Tensor.__rfloordiv__)
def rfloordiv(a: Any, b: Any) -> Any:
    """`b // a`."""
    return division.floor_divide(b, a)


@implements(Tensor.__rmod__)
def rmod(a: Any, b: Any) -> Any:
    """`b % a`."""
    return division.remainder(b, a)


@implements(Tensor.__rpow__)
def rpow(a: Any, b: Any) -> Any:
    """`b ** a`."""
    return division.power(b, a)
