"""Recorders: what notes operations of a compiled function down, and the few places where operations ask for it.

torch tells a recorder of its functions by a mode. Methods of SparseTensor and the package's own functions don't pass
through torch, so they ask here first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from threading import get_ident
from typing import Any, Protocol, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])


class Recorder(Protocol):
    """What is done with an operation."""

    busy: bool

    def take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Notes the call of a function down, or calls it."""


recorders: dict[int, Recorder] = {}
"""The recorder of each thread that runs a compiled function; nearly always empty."""


def current() -> Recorder | None:
    """The recorder of this thread, None where there is none or it is computing itself."""
    found = recorders.get(get_ident())
    return None if found is None or found.busy else found


def recorded(function: _Function) -> _Function:
    """A function of the package whose calls a recorder sees."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if recorders and (recorder := current()) is not None:
            return recorder.take(call, args, kwargs)
        return function(*args, **kwargs)

    return call  # type: ignore[return-value]
