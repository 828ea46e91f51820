"""Assignments in TACO's notation, read as far as names and indices need; the compiler parses them properly."""

from __future__ import annotations

import re

from .errors import UnsupportedError

ACCESS = re.compile(r"([A-Za-z_]\w*)\s*(?:\(([^()]*)\))?")
FUNCTIONS = frozenset({"min", "max"})  # called with several arguments; everything else with parentheses is an access


def accesses(right: str) -> dict[str, tuple[str, ...]]:
    """The indices of every tensor on the right side of an assignment, in order of appearance; () for a scalar.

    Raises:
        UnsupportedError: A tensor is accessed in two ways.
    """
    found: dict[str, tuple[str, ...]] = {}
    for match in ACCESS.finditer(_without_calls(right)):
        name, indices = match.group(1), split_indices(match.group(2))
        if name in found and found[name] != indices:
            raise UnsupportedError(f"{right.strip()!r}: {name!r} is accessed in two ways; pass it under two names")
        found[name] = indices
    return found


def split_indices(indices: str | None) -> tuple[str, ...]:
    """The index names between the parentheses of an access."""
    return tuple(part.strip() for part in indices.split(",") if part.strip()) if indices else ()


def _without_calls(text: str) -> str:
    """The text with the names of functions and the exponents of numbers left out."""
    text = re.sub(r"(?<![\w.])(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", " ", text)
    return re.sub(rf"\b({'|'.join(sorted(FUNCTIONS))})\s*\(", "(", text)
