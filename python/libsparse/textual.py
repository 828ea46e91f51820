"""Columns of numbers from text, a chunk of lines at a time, by tensor operations on its bytes.

It takes plain text only and declines everything else, malformed or merely unusual; who asks then has a careful way.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import torch
from torch import Tensor

__all__ = ["columns"]

# What a byte is: a digit is its value; the order matters, as what is at most _OTHER is a part of a number.
_MINUS, _OTHER, _SPACE, _NEWLINE, _STRANGE = 10, 11, 12, 13, 14
_DIGITS = 18  # of an integer that int64 holds whatever they are


def _table() -> bytes:
    kinds = bytearray([_STRANGE]) * 256
    for byte in range(33, 127):
        kinds[byte] = _OTHER
    for byte in b" \t\r":
        kinds[byte] = _SPACE
    for byte in b"0123456789":
        kinds[byte] = byte - 48
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
    kinds = bytearray(b"%b%b\n" % (b" " * _DIGITS, text)).translate(_KINDS)
    if _STRANGE in kinds:
        return None
    kind = torch.frombuffer(kinds, dtype=torch.uint8)
    part = kind <= _OTHER
    edges = (part[1:] != part[:-1]).nonzero().squeeze(1) + 1
    starts, ends = edges[::2], edges[1::2]
    if starts.numel() % len(types):
        return None
    starts, ends = starts.view(-1, len(types)), ends.view(-1, len(types))
    line = (kind == _NEWLINE).cumsum(0, dtype=torch.int32)[starts]
    if not bool((line == line[:, :1]).all()) or not bool((line[1:, 0] > line[:-1, 0]).all()):
        return None
    words = text.decode("ascii").split() if float in types else []
    found: list[Tensor] = []
    for n, type_ in enumerate(types):
        column = _integers(kind, starts[:, n].contiguous(), ends[:, n]) if type_ is int else _floats(words[n :: len(types)])
        if column is None:
            return None
        found.append(column)
    return found


def _integers(kind: Tensor, starts: Tensor, ends: Tensor) -> Tensor | None:
    """The numbers between `starts` and `ends`, the last digits of all first."""
    number = torch.zeros(starts.numel(), dtype=torch.int64)
    if number.numel() == 0:
        return number
    negative = kind.index_select(0, starts) == _MINUS
    widths = ends - starts - negative.to(torch.int64)
    if not 1 <= int(widths.min()) <= int(widths.max()) <= _DIGITS:
        return None
    at, rest, largest = ends.clone(), widths.to(torch.uint8), 0
    for place in range(int(widths.max())):
        at -= 1
        digit = kind.index_select(0, at).mul_(rest > place)
        largest = max(largest, int(digit.max()))
        number.add_(digit, alpha=10**place)
    if largest > 9:
        return None
    return torch.where(negative, -number, number) if bool(negative.any()) else number


def _floats(words: list[str]) -> Tensor | None:
    try:
        numbers = array("d", map(float, words))
    except ValueError:
        return None
    return torch.frombuffer(numbers, dtype=torch.float64) if numbers else torch.empty(0, dtype=torch.float64)
