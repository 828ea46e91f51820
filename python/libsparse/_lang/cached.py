"""`cached_property`, as functools' but without a lock.

Up to Python 3.11 that has one lock for all objects, which a forked child finds taken for good where another thread of
its parent was computing the property of any of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
else:

    class cached_property:
        """A property that is computed when it is first asked for, and kept; threads that ask at once all compute it."""

        def __init__(self, build: Callable[[Any], Any]) -> None:
            """Take the function that computes it."""
            self._build, self.__doc__ = build, build.__doc__

        def __set_name__(self, owner: type, name: str) -> None:
            """Note under which name it is kept."""
            self._name = name

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute it: an object that keeps it is asked no more."""
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._build(instance))
