"""Autocast: inside of `torch.autocast("cpu")`, products compute in its type, as torch's own do."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .operands import is_tensor, to_operand

_any = torch._C._is_any_autocast_enabled


def as_product(base: Any, dtype: torch.dtype) -> Any:
    """What is added to a product of a dtype: in the type of autocast where the product is, and this is floating."""
    cast_to = _any() and torch.is_autocast_enabled("cpu") and dtype == torch.get_autocast_dtype("cpu")
    return base.to(dtype) if cast_to and base.dtype.is_floating_point and base.dtype != torch.float64 else base


def cast(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """The operands of a product: in the type of autocast where several are floating, and it is on; else as they are."""
    if not _any() or not torch.is_autocast_enabled("cpu"):
        return operands
    dtype = torch.get_autocast_dtype("cpu")
    plain = [to_operand(o, n) if is_tensor(o) else o for n, o in enumerate(operands)]
    if sum(is_tensor(o) for o in plain) < 2:
        return operands
    return tuple(
        o.with_data(o.data.to(dtype))
        if is_tensor(o) and o.data is not None and o.dtype.is_floating_point and o.dtype != torch.float64
        else o
        for o in plain
    )


def ignored(operation: Callable[..., Any]) -> Callable[..., Any]:
    """A product that autocast leaves in the dtypes of its operands, as it leaves torch's of that name."""

    @functools.wraps(operation)
    def call(*args: Any, **kwargs: Any) -> Any:
        if not _any():
            return operation(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            return operation(*args, **kwargs)

    return call
