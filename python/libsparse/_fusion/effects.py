"""What a call does besides computing: it may write to its arguments, read results that are not there, change a mode."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch.utils._pytree import SUPPORTED_NODES

from libsparse._lang.errors import UnsupportedError

from .graph import LazyDense, LazySparse

_WRITERS = frozenset({"__setitem__", "__delitem__", "__set__", "backward"})


DROPOUTS = frozenset({F.dropout, torch.dropout})


def passed(
    input: Any, p: float = 0.5, training: bool = True, inplace: bool = False, *, train: bool | None = None
) -> Any:
    """The operand of a dropout that drops nothing, which is its result; None of any other."""
    idle = p == 0 or not (training if train is None else train)
    return input if type(input) is LazyDense and not inplace and idle else None


def changed(shape: torch.Size) -> UnsupportedError:
    """The error of an operand that something wrote to which torch's functions don't tell of."""
    return UnsupportedError(
        f"ls.compile: an operand of shape {tuple(shape)} was changed in place between the call that reads it and the "
        "call that needs the result, and not by a function of torch; change a copy"
    )


def concerns(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function reads results that are not computed yet, writes, or changes a mode of torch."""
    lazy = any(_is_lazy(value) for value in (*args, *kwargs.values()))
    return lazy or function is torch._C._set_grad_enabled or writes(function, args, kwargs)


def _is_lazy(value: Any) -> bool:
    kind = type(value)
    if kind is list or kind is tuple:
        return any(map(_is_lazy, value))
    return kind is LazyDense or kind is LazySparse or kind in SUPPORTED_NODES


def writes(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a function may write to a tensor that it is given."""
    name = getattr(function, "__name__", "")
    if isinstance(function, torch._ops.OpOverload):
        return bool(function._schema.is_mutable)
    plain = name.endswith("_") and not name.endswith("__")
    compound = name.startswith("__i") and name not in ("__index__", "__int__", "__invert__", "__iter__")
    given = kwargs.get("out") is not None or kwargs.get("inplace")
    module = getattr(function, "__module__", None) or ""
    positional = module == F.__name__ and any(arg is True for arg in args)
    return bool(plain or compound or name in _WRITERS or given or positional or module.startswith("torch.autograd"))


def refuse_lazy(args: tuple[Any, ...]) -> None:
    """Refuses tensors that are not computed in the forward function of a user's autograd function.

    Raises:
        UnsupportedError: Autograd would not follow them.
    """
    if any(type(arg) is LazyDense and arg._lazy.grad for arg in args):
        raise UnsupportedError(
            "ls.compile: a name for the apply of an autograd function was taken outside of the compiled function, and "
            "passes a tensor that is not computed yet; call MyFunction.apply(...) itself, or compute(x.clone())"
        )
