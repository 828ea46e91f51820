"""Shapes of operands: what they broadcast to, and those of named products in the words of their documentation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from libsparse._lang.errors import DtypeError, ShapeError

from .operands import is_tensor, to_operand


def broadcast(*shapes: Sequence[int]) -> tuple[int, ...] | None:
    """The shape that shapes broadcast to, as in torch; None where they don't.

    `torch.broadcast_shapes` loads sympy when a process first calls it, for as long as thousands of small products.
    """
    found = [1] * max(map(len, shapes), default=0)
    for shape in shapes:
        for axis, extent in zip(range(-len(shape), 0), shape, strict=True):
            if found[axis] == 1:
                found[axis] = extent
            elif extent not in (1, found[axis]):
                return None
    return tuple(found)


def check(title: str, **operands: tuple[Any, str]) -> None:
    """The operands are tensors of the documented shapes.

    Args:
        title: The function, for messages.
        operands: By the name of the argument: a tensor, and the names of its last dimensions, separated by spaces;
            `...` in front stands for leading dimensions that broadcast with those of the others.

    Raises:
        DtypeError: One is no tensor.
        ShapeError: One has too few or too many dimensions, or two differ in an extent of one name.
    """
    found: dict[str, tuple[int, str]] = {}
    leading = []
    for name, (value, words) in operands.items():
        if not is_tensor(value):
            raise DtypeError(f"{title}: {name} is a {type(value).__name__}; expected a tensor: {_documented(operands)}")
        axes = words.replace("...", "").split()
        many = "..." in words
        if len(value.shape) < len(axes) or (not many and len(value.shape) > len(axes)):
            raise ShapeError(
                f"{title}: {name} ({to_operand(value)}) has {len(value.shape)} dimensions; expected "
                f"{_documented(operands)}"
            )
        if many:
            leading.append((name, value.shape[: len(value.shape) - len(axes)]))
        for axis, extent in zip(axes, value.shape[len(value.shape) - len(axes) :], strict=True):
            first, owner = found.setdefault(axis, (extent, name))
            if first != extent:
                told = ", ".join(f"{n} ({to_operand(v)})" for n, (v, _) in operands.items())
                raise ShapeError(
                    f"{title}: {owner} has extent {first} and {name} {extent} for {axis} in {_documented(operands)}; "
                    f"got {told}: transpose one of them?"
                )
    if any(shape for _, shape in leading) and broadcast(*(shape for _, shape in leading)) is None:
        told = ", ".join(f"{name} {tuple(shape)}" for name, shape in leading)
        raise ShapeError(
            f"{title}: the leading dimensions do not broadcast: {told}; expected {_documented(operands)}, these equal "
            "or 1"
        )


def _documented(operands: Mapping[str, tuple[Any, str]]) -> str:
    """The names of all dimensions, for messages."""
    return ", ".join(f"{name} ({', '.join(words.split())})" for name, (_, words) in operands.items())
