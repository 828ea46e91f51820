"""Functions without a sparse operand, in graphs of torch.compile: each call is one node of the graph, as it is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

import torch

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

_functions: dict[str, Callable[..., Any]] = {}


def one_node(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Lets torch.compile put calls of a function into its graphs; elsewhere the function is called directly."""
    name = function.__name__
    _functions[name] = function

    @functools.wraps(function)
    def call(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        if torch.compiler.is_dynamo_compiling():
            _allow(name)
            result: _Result = _functions[name](*args, **kwargs)
            return result
        return function(*args, **kwargs)

    return call


def _allow(name: str) -> None:
    """Tells torch.compile of a function, when it comes across a call: that imports much, which others don't need."""
    torch.compiler.allow_in_graph(_functions[name])


# As `torch.compiler.assume_constant_result` says it: torch.compile calls the function while it traces.
_allow._dynamo_marked_constant = True  # type: ignore[attr-defined]
