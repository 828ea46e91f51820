"""Columns of numbers from text, a chunk of lines at a time, with NumPy.

It takes plain text only and declines everything else, malformed or merely unusual, and all where there is no NumPy: who
asks has another way, which is slower.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["columns"]

# What a byte is, in an order in which the largest of a number's bytes says what number it is.
_SPACE, _NEWLINE, _DIGIT, _MINUS, _OTHER, _STRANGE = range(6)
_INTEGER_DIGITS = 18  # that int64 holds whatever they are
_FLOAT_DIGITS = 15  # that float64 holds whatever they are


def _table() -> bytes:
    kinds = bytearray([_STRANGE]) * 256
    for byte in range(33, 127):
        kinds[byte] = _OTHER
    for byte in b" \t\r":
        kinds[byte] = _SPACE
    for byte in b"0123456789":
        kinds[byte] = _DIGIT
    kinds[ord("\n")], kinds[ord("-")] = _NEWLINE, _MINUS
    return bytes(kinds)


_KINDS = _table()


def columns(text: bytes, types: Sequence[type]) -> list[Tensor] | None:
    """Parse lines that have one number for each of `types`, or nothing.

    Args:
        text: Whole lines.
        types: int or float for each column.

    Returns:
        An int64 or float64 tensor a column; None where some line is not plainly that.
    """
    try:
        import numpy as np
    except ImportError:
        return None
    kinds = b"\n%b\n" % text.translate(_KINDS)
    if _STRANGE in kinds:
        return None
    kind = np.frombuffer(kinds, dtype=np.uint8)
    part = kind >= _DIGIT
    edges = np.flatnonzero(part[1:] != part[:-1]) + 1
    starts, width = edges[::2], len(types)
    if starts.size % width:
        return None
    line = np.cumsum(kind == _NEWLINE, dtype=np.int32)[starts].reshape(-1, width)
    if (line != line[:, :1]).any() or (line[1:, 0] == line[:-1, 0]).any():
        return None
    lengths = (edges[1::2] - starts).reshape(-1, width)
    whole = [n for n, type_ in enumerate(types) if type_ is int]
    longest = _INTEGER_DIGITS if len(whole) == width else _FLOAT_DIGITS
    if starts.size and whole:
        largest = np.maximum.reduceat(kind, edges)[::2].reshape(-1, width)
        if largest[:, whole].max() > _MINUS or lengths[:, whole].max() > longest:
            return None
    dtype = np.int64 if len(whole) == width else np.float64
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # some versions only warn of what is no number
            numbers = np.fromstring(text, sep=" ", dtype=dtype)
    except (ValueError, DeprecationWarning):
        return None
    if numbers.size != starts.size:
        return None
    table = torch.from_numpy(numbers).view(-1, width)
    return [table[:, n].to(torch.int64 if type_ is int else torch.float64) for n, type_ in enumerate(types)]
