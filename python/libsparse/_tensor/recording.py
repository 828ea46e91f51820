"""Recorders: what notes operations of a compiled function down, and the few places where operations ask for it.

torch tells a recorder of its functions by a mode. Methods of SparseTensor and the package's own functions don't pass
through torch, so they ask here first.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import get_ident
from typing import Any, Protocol


class Recorder(Protocol):
    """What is done with an operation."""

    busy: bool
    inside: int

    def take(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Notes the call of a function down, or calls it."""


recorders: dict[int, Recorder] = {}
"""The recorder of each thread that runs a compiled function; nearly always empty."""


def current() -> Recorder | None:
    """The recorder of this thread, None where there is none or it is computing itself."""
    found = recorders.get(get_ident())
    return None if found is None or found.busy else found
