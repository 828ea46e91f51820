"""Columns of numbers from text, a chunk of lines at a time, with NumPy.

It takes plain text only and declines everything else, malformed or merely unusual, and all where there is no NumPy: who
asks has another way, which is slower.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

__all__ = ["columns"]

_SPACE, _NEWLINE, _PART, _STRANGE = range(4)  # what a byte is
_DIGITS = 18  # of an integer that int64 holds whatever they are


def _table() -> bytes:
    kinds = bytearray([_STRANGE]) * 256
    kinds[33:127] = bytes([_PART]) * 94
    for byte in b" \t\r":
        kinds[byte] = _SPACE
    kinds[ord("\n")] = _NEWLINE
    return bytes(kinds)


_KINDS = _table()


def columns(text: bytes, types: Sequence[type]) -> list[Tensor] | None:
    """Parse lines that have one number for each of `types`, or nothing.

    Args:
        text: Whole lines.
        types: int or float for each column, the integers first.

    Returns:
        An int64 or float64 tensor a column; None where some line is not plainly that.
    """
    try:
        import numpy as np
    except ImportError:
        return None
    kinds = (b"\n%b\n" % text).translate(_KINDS)
    if _STRANGE in kinds:
        return None
    kind = np.frombuffer(kinds, np.uint8)
    part = kind == _PART
    edges = np.flatnonzero(part[1:] != part[:-1])
    if edges.size % (2 * len(types)):
        return None
    starts, ends = edges[::2].reshape(-1, len(types)), edges[1::2].reshape(-1, len(types))
    line = np.cumsum(kind[1:] == _NEWLINE, dtype=np.int32)[starts]
    if (line != line[:, :1]).any() or (line[1:, 0] == line[:-1, 0]).any():
        return None
    whole = list(types).count(int)
    found: list[Tensor] = []
    if whole:
        if starts.size and (ends - starts)[:, :whole].max() > _DIGITS:
            return None
        numbers = _integers(np, text if whole == len(types) else _only(np, text, starts[:, :whole], ends[:, :whole]))
        if numbers is None or numbers.size != starts.shape[0] * whole:
            return None
        found += [torch.from_numpy(column.copy()) for column in numbers.reshape(-1, whole).T]
    if whole < len(types):
        values = _floats(np, text if not whole else _only(np, text, starts[:, whole:], ends[:, whole:]))
        if values is None:
            return None
        found += [torch.from_numpy(column.copy()) for column in values.reshape(-1, len(types) - whole).T]
    return found


def _only(np: Any, text: bytes, starts: Any, ends: Any) -> bytes:
    """The words between `starts` and `ends`, and spaces for all others."""
    mark = np.zeros(len(text) + 1, np.int8)
    mark[starts] = 1
    mark[ends] = -1
    inside = np.cumsum(mark, dtype=np.int8)[:-1]
    kept: bytes = np.where(inside, np.frombuffer(text, np.uint8), np.uint8(32)).tobytes()
    return kept


def _integers(np: Any, text: bytes) -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # some versions only warn of what is no number
            return np.fromstring(text, sep=" ", dtype=np.int64)
    except (ValueError, DeprecationWarning):
        return None


def _floats(np: Any, text: bytes) -> Any:
    try:
        return np.array(array("d", map(float, text.decode("ascii").split())))
    except ValueError:
        return None
