"""Functions that have to read coordinates, while torch traces: each is one operator of the graph.

`_trace`, which is above this room, registers the operators.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, ParamSpec

from libsparse._lang.records import NamedTuple
from libsparse._runtime.problem import Operand
from libsparse._storage.checks import Names
from libsparse._storage.fakes import is_fake, refuse_jit_trace
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

_Arguments = ParamSpec("_Arguments")


class Operators(NamedTuple):
    """What the functions become.

    Attributes:
        move: Calls a function of `movers`.
        assemble: The values and the pattern that coordinates assemble to.
        checked: The pattern of the arrays of a format, of which contents are checked when the graph runs.
    """

    move: Callable[[str, tuple[Any, ...], dict[str, Any]], Operand]
    assemble: Callable[[Sequence[Any], Any, Sequence[int], Format, str], Operand]
    checked: Callable[[Format, Sequence[int], Sequence[Any], Sequence[Any], bool, Names], Pattern]


class Mover(NamedTuple):
    """A function that gives elements other places and computes none.

    Attributes:
        function: The function, of sparse operands.
        dense: The same function of dense tensors, which says the shape of the result.
        zero_fill: Whether it refuses fill values other than 0.
    """

    function: Callable[..., Operand]
    dense: Callable[..., Any]
    zero_fill: bool


movers: dict[str, Mover] = {}
operators: list[Operators] = []
"""The operators, once they are registered."""


def moves(
    dense: Callable[..., Any], zero_fill: bool = False
) -> Callable[[Callable[_Arguments, Operand]], Callable[_Arguments, Operand]]:
    """Registers a function that gives elements other places and computes none; the arguments are those of `Mover`."""

    def register(function: Callable[_Arguments, Operand]) -> Callable[_Arguments, Operand]:
        name = function.__name__.lstrip("_")
        movers[name] = Mover(function, dense, zero_fill)

        @functools.wraps(function)
        def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> Operand:
            if is_traced(args[0] if args else tuple(kwargs.values())):
                return operators[0].move(name, args, kwargs)
            refuse_jit_trace()
            return function(*args, **kwargs)

        return call

    return register


def is_traced(value: Any) -> bool:
    """Whether torch traces what is done to a sparse tensor, or to one of a list of tensors."""
    if isinstance(value, Operand):
        return value.pattern is not None and (value.pattern.traced or is_fake(value.data))
    if hasattr(type(value), "_operand"):
        return bool(value._pattern.traced) or is_fake(value._held)
    return isinstance(value, (list, tuple)) and any(map(is_traced, value))
