"""`NamedTuple`, as typing's but that annotations of fields stay text; `cached_property`, as functools' but unlocked.

typing compiles each annotation when the class is made, which for the classes of this package takes a tenth of its
import. functools has one lock for the properties of all objects up to Python 3.11, which a forked child finds taken for
good where another thread of its parent was computing any of them.
"""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple", "cached_property"]

if TYPE_CHECKING:
    from functools import cached_property
    from typing import NamedTuple
else:

    class _Maker(type):
        """Makes a named tuple of the body of a class, in a module whose annotations are text."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            """Make it; `NamedTuple` itself, which has no bases, is a class like any other."""
            if not bases:
                return super().__new__(cls, name, bases, body)
            fields = body.get("__annotations__", {})
            defaults = [body.pop(field) for field in fields if field in body]
            made = collections.namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for attribute, value in body.items():
                setattr(made, attribute, value)
            return made

    class NamedTuple(metaclass=_Maker):
        """What classes of named fields derive from."""

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
