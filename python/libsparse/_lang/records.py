"""`NamedTuple`, as typing's but that annotations of fields stay text.

typing compiles each of them when the class is made, which for the classes of this package takes a tenth of its import.
"""

from __future__ import annotations

import collections
from typing import TYPE_CHECKING, Any

__all__ = ["NamedTuple"]

if TYPE_CHECKING:
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
