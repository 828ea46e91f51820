"""Nodes of autograd's graph: functions that torch.func's transforms differentiate, too, and what torch's nodes keep."""

from __future__ import annotations

import functools
from collections.abc import Collection
from typing import Any

import torch
from torch import Tensor

from libsparse._storage import ordinary


def apply(function: Any, *inputs: Any) -> Tensor:
    """The result of a function of autograd.

    Args:
        function: Its class, with `compute(*inputs)` for the result alone, and `keep(ctx, inputs, output)`.
        inputs: What it is given.
    """
    # torch takes 50 us longer for a call in the form that transforms need.
    form = function if ordinary.in_transform() is None else _in_transforms(function)
    result: Tensor = form.apply(*inputs)
    return result


@functools.cache
def _in_transforms(function: Any) -> Any:
    """A function of autograd in the form that transforms of torch.func take."""
    ways = {"forward": staticmethod(function.compute), "setup_context": staticmethod(function.keep)}
    return type(f"{function.__name__}InTransforms", (function,), ways)


def keeps(node: Any, layouts: Collection[torch.layout]) -> bool:
    """Whether a node has kept a tensor of one of some layouts for the backward pass."""
    names = _saved(type(node))  # type: ignore[arg-type]  # a class is hashable
    return any([_layout(node, name) in layouts for name in names])


@functools.cache
def _saved(node: type) -> tuple[str, ...]:
    """The names of what nodes of a class keep for the backward pass."""
    return tuple([name for name in dir(node) if name.startswith("_saved_")])


def _layout(node: Any, name: str) -> torch.layout | None:
    """The layout of a tensor that a node has kept under a name; None of anything else."""
    try:
        return getattr(getattr(node, name), "layout", None)
    except RuntimeError:  # it has been freed or written to, which torch says when there is a gradient
        return None
