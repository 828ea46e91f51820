"""torch's functions of lists of tensors, of which some are sparse: each is the function of one tensor, for each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError

from .optimizers import values_of
from .registry import implements

_NAMED = {"addcdiv": ("tensor1", "tensor2", "value"), "addcmul": ("tensor1", "tensor2", "value")}
"""The names of arguments which the functions of one tensor take by name only."""

_WITH_NUMBERS = {"maximum": "clamp_min", "minimum": "clamp_max", "maximum_": "clamp_min_", "minimum_": "clamp_max_"}
"""Functions of lists that take numbers, where those of one tensor don't, and others that do."""


def _for_each(name: str, function: Callable[..., Any], public: bool) -> Callable[..., Any]:
    names = _NAMED.get(name.strip("_"), ())

    def handler(*args: Any, **kwargs: Any) -> Any:
        given = {**dict(zip(names, args[1:], strict=False)), **kwargs} if names else kwargs
        places = args[:1] if names else args
        lists = [value for value in (*places, *given.values()) if isinstance(value, (list, tuple))]
        if any(len(value) != len(lists[0]) for value in lists):
            raise ShapeError(
                f"foreach {name}: lists have {', '.join(str(len(v)) for v in lists)} items; expected one count"
            )
        results = tuple(
            function(*(_item(value, n) for value in places), **{key: _item(value, n) for key, value in given.items()})
            for n in range(len(lists[0]))
        )
        in_place = args[0] if public else None
        return in_place if name.endswith("_") else results

    handler.__name__, handler.__doc__ = f"foreach_{name}", f"`torch.Tensor.{name}` of each tensor of a list."
    return handler


def _item(value: Any, number: int) -> Any:
    return value[number] if isinstance(value, (list, tuple)) else value


def _register() -> None:
    public: Any = getattr(torch, "foreach", None)  # a module that only new versions of torch have
    for title in dir(torch):
        name = title.removeprefix("_foreach_")
        function = torch.pow if name == "pow" else getattr(Tensor, _WITH_NUMBERS.get(name, name), None)
        if name != title and function is not None:
            implements(getattr(torch, title))(_for_each(name, function, public=False))
            if hasattr(public, name):
                implements(getattr(public, name))(_for_each(name, function, public=True))


_register()


@implements(torch._amp_foreach_non_finite_check_and_unscale_)
def unscale(self: Any, found_inf: Tensor, inv_scale: Tensor) -> None:
    """Divides gradients by the scale of a GradScaler, in place, and notes whether one is not finite."""
    values = [values_of(gradient) for gradient in self]
    torch._amp_foreach_non_finite_check_and_unscale_(values, found_inf, inv_scale)
