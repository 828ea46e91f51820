"""Rutherford-Boeing files: a matrix by columns, its numbers in Fortran's formats, which have fixed widths.

Four lines say how many numbers follow and how they are written; numbers may touch one another.
"""

from __future__ import annotations

import functools
import re
from array import array
from collections.abc import Callable, Iterator
from typing import IO, Any, NamedTuple, NoReturn

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError, IndexBoundsError, UnsupportedError

__all__ = ["dump", "load"]

_SYMMETRIES = {"u": "general", "r": "general", "s": "symmetric", "z": "skew-symmetric", "h": "hermitian"}
_FORMAT = re.compile(r"\((?:([+-]?\d{1,2})P,?)?(\d{0,5})([IEDFG])(\d{1,3})(?:\.(\d{1,3})(?:E\d{1,2})?)?\)")
_REAL = re.compile(r"([+-]?[0-9.]+)(?:[eEdD]([+-]?\d{1,9})|([+-]\d{1,9}))")
_LINE = 80  # the length of a line, in which three numbers of 17 digits fit
_REALS, _WIDTH = 3, 26
_MOST_COLUMNS = 2**30  # a file lists every one


class _Fixed(NamedTuple):
    """One of Fortran's formats, such as (8I10) or (1P,4D20.12).

    Attributes:
        each: Numbers a line.
        width: Characters a number.
        decimals: How many digits of a number without a point are behind it.
        scale: The power of ten by which a number without an exponent is too large.
    """

    each: int
    width: int
    decimals: int
    scale: int


def load(file: IO[bytes]) -> tuple[Tensor, Tensor | None, tuple[int, int], str]:
    """Indices (2, nnz), values (int64, float64, complex128 or none), shape and symmetry of the matrix in `file`.

    Raises:
        FormatError: The file is malformed.
        IndexBoundsError: A row lies outside the matrix.
        UnsupportedError: A matrix that is not assembled.
    """
    lines = _Lines(file)
    lines.next("a title")
    cards = lines.words("the numbers of lines")
    if len(cards) not in (4, 5) or not all(card.isdigit() for card in cards):
        lines.fail("expected 4 numbers of lines")
    kind, shape, count = _kind(lines)
    pointers, rows, values = _formats(lines, kind)
    if len(cards) == 5 and int(cards[4]) > 0:  # Harwell-Boeing has the format of right-hand sides here
        lines.next("the kind of the right-hand sides")
    starts = lines.integers(pointers, shape[1] + 1, "where a column begins")
    steps = starts.diff()
    if int(starts[0]) != 1 or int(starts[-1]) != count + 1 or bool((steps < 0).any()):
        lines.fail(f"columns begin at 1, in order, and end at {count + 1}; these don't")
    found = lines.integers(rows, count, "the row of an entry")
    outside = (found < 1) | (found > shape[0])
    if bool(outside.any()):
        entry = int(outside.nonzero()[0])
        raise IndexBoundsError(
            f"line {lines.line}: row {int(found[entry])} of entry {entry + 1} is outside 1..{shape[0]}"
        )
    indices = torch.stack([found - 1, torch.repeat_interleave(torch.arange(shape[1]), steps)])
    data: Tensor | None = None
    if kind[0] == "i":
        data = lines.integers(values, count, "a value")
    elif kind[0] in "rc":
        parts = lines.reals(values, count * (1 + (kind[0] == "c")), "a value")
        data = torch.view_as_complex(parts.reshape(-1, 2)) if kind[0] == "c" else parts
    return indices, data, shape, _SYMMETRIES[kind[1]]


def _kind(lines: _Lines) -> tuple[str, tuple[int, int], int]:
    """The three letters of the type, the shape and the number of entries."""
    words = lines.words("the type of the matrix")
    kind = words[0].lower() if words else ""
    sizes = [int(word) for word in words[1:4] if word.isdigit()]
    if len(words) not in (4, 5) or len(kind) != 3 or len(sizes) != 3 or max(sizes) >= 2**62:
        lines.fail("expected a type of three letters, rows, columns and entries")
    if kind[2] == "e":
        raise UnsupportedError(
            f"line {lines.line}: the matrix is a sum of elements (type {kind}); only assembled ones are read"
        )
    if kind[0] not in "ricp" or kind[1] not in _SYMMETRIES or kind[2] != "a" or (kind[1] == "h" and kind[0] != "c"):
        lines.fail(f"no such type: {kind}; r, i, c or p, then u, r, s, z or h, then a")
    if kind[1] in "szh" and sizes[0] != sizes[1]:
        lines.fail(f"a {_SYMMETRIES[kind[1]]} matrix is square, this one is {sizes[0]} x {sizes[1]}")
    return kind, (sizes[0], sizes[1]), sizes[2]


def _formats(lines: _Lines, kind: str) -> list[_Fixed]:
    """The formats of pointers, rows and values."""
    text = lines.next("the formats of the numbers").replace(" ", "").upper()
    found = re.findall(r"\([^()]*\)", text)
    if len(found) < 3 - (kind[0] == "p"):
        lines.fail("expected formats such as (8I10) for pointers, rows and values")
    formats = []
    for number, text in enumerate(found[:3]):
        match = _FORMAT.fullmatch(text)
        whole = number < 2 or kind[0] == "i"
        if match is None or (match[3] == "I") != whole or int(match[4]) == 0:
            lines.fail(f"the format {text} is none of numbers one after the other")
        scale, each, _, width, decimals = match.groups(default="")
        formats.append(_Fixed(max(1, int(each or 1)), int(width), int(decimals or 0), int(scale or 0)))
    return [*formats, *[_Fixed(1, 1, 0, 0)] * (3 - len(formats))]


class _Lines:
    """The lines of a file, and numbers from them."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.line = file, 0

    def fail(self, what: str) -> NoReturn:
        raise FormatError(f"line {self.line}: {what}")

    def next(self, what: str) -> str:
        text = self.file.readline()
        if not text:
            self.fail(f"the file ends where {what} is expected")
        self.line += 1
        return text.decode("latin-1").rstrip("\r\n")

    def words(self, what: str) -> list[str]:
        return self.next(what).split()

    def _texts(self, fixed: _Fixed, count: int, what: str) -> Iterator[str]:
        """As many numbers, as texts."""
        places = [slice(k * fixed.width, (k + 1) * fixed.width) for k in range(min(fixed.each, _LINE * 4))]
        while count > 0:
            line = self.next(what)
            found = [text for place in places if (text := line[place].strip())]
            yield from found[:count]
            count -= len(found)

    def integers(self, fixed: _Fixed, count: int, what: str) -> Tensor:
        return self._numbers("q", int, fixed, count, what)

    def reals(self, fixed: _Fixed, count: int, what: str) -> Tensor:
        return self._numbers("d", functools.partial(_real, fixed), fixed, count, what)

    def _numbers(self, code: str, convert: Callable[[str], Any], fixed: _Fixed, count: int, what: str) -> Tensor:
        try:
            numbers = array(code, map(convert, self._texts(fixed, count, what)))
        except FormatError:
            raise
        except (ValueError, OverflowError):
            self.fail(f"expected {what}, found no number")
        dtype = torch.int64 if code == "q" else torch.float64
        return torch.frombuffer(numbers, dtype=dtype) if numbers else torch.empty(0, dtype=dtype)


def _real(fixed: _Fixed, text: str) -> float:
    """A number as Fortran reads it: the letter of an exponent may be D or missing, and so may the point."""
    match = _REAL.fullmatch(text)
    shift = -fixed.scale
    if match is not None:
        text, shift = match[1], int(match[2] or match[3])
    if not text.strip("+-0123456789"):
        shift -= fixed.decimals
    return float(f"{text}e{shift}" if shift else text)


def dump(file: IO[bytes], indices: Tensor, values: Tensor | None, shape: tuple[int, ...]) -> None:
    """Write the matrix by columns.

    Raises:
        UnsupportedError: It has too many columns to list.
    """
    if shape[1] > _MOST_COLUMNS:
        raise UnsupportedError(f"a .rb file lists every column, and there are {shape[1]}; use .mtx")
    order = torch.argsort(indices[0], stable=True)
    order = order[torch.argsort(indices[1][order], stable=True)]
    starts = torch.ones(shape[1] + 1, dtype=torch.int64)
    starts[1:] += torch.bincount(indices[1], minlength=shape[1]).cumsum(0)
    parts = [_whole(starts), _whole(indices[0][order] + 1)]
    letter = "p"
    if values is not None:
        letter, part = _numbers(values.detach()[order])
        parts.append(part)
    counts = [-(-len(words) // each) for _, each, _, words in parts] + [0] * (3 - len(parts))
    formats = [text for text, *_ in parts] + [""] * (3 - len(parts))
    square = "u" if shape[0] == shape[1] else "r"
    head = (
        f"{'written by libsparse':<72}{'matrix':<8}\n"
        f"{sum(counts):14d} {counts[0]:13d} {counts[1]:13d} {counts[2]:13d}\n"
        f"{letter}{square}a{'':11} {shape[0]:13d} {shape[1]:13d} {indices.shape[1]:13d} {0:13d}\n"
        f"{formats[0]:<16}{formats[1]:<16}{formats[2]:<20}\n"
    )
    file.write(head.encode())
    for _, each, width, words in parts:
        for start in range(0, len(words), each):
            file.write(("".join(word.rjust(width) for word in words[start : start + each]) + "\n").encode())


_Block = tuple[str, int, int, list[str]]  # format, numbers a line, characters a number, numbers


def _whole(numbers: Tensor) -> _Block:
    words = list(map(str, numbers.tolist()))
    width = max(map(len, words), default=1) + 1
    return f"({_LINE // width}I{width})", _LINE // width, width, words


def _numbers(values: Tensor) -> tuple[str, _Block]:
    """The letter of the type of values, and their block."""
    if not values.is_floating_point() and not values.is_complex():
        return "i", _whole(values.to(torch.int64))
    letter = "c" if values.is_complex() else "r"
    parts = torch.view_as_real(values.to(torch.complex128)).reshape(-1) if letter == "c" else values
    words = list(map("{:.17E}".format, parts.tolist()))
    return letter, (f"({_REALS}E{_WIDTH}.17)", _REALS, _WIDTH, words)
