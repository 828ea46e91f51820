"""Lines of numbers, parsed in chunks: plain ones by tensor operations, and unusual ones line by line."""

from __future__ import annotations

import gc
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO, Any, NoReturn

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError, IndexBoundsError

from . import textual

_CHUNK = 1 << 20  # bytes of text parsed at a time
_DTYPES = {int: torch.int64, float: torch.float64}


class Lines:
    """The data lines of a text file in chunks, with comments and blank lines left out and line numbers kept."""

    def __init__(self, file: IO[bytes], comment: bytes, line: int = 0) -> None:
        self.file, self.comment, self.line = file, comment, line
        self.held = b""

    def next(self) -> list[bytes] | None:
        """The words of the next data line."""
        for text in self.file:
            self.line += 1
            words = text.split()
            if words and not words[0].startswith(self.comment):
                return words
        return None

    def put_back(self, words: list[bytes]) -> None:
        """Have `columns` parse the line that `next` gave, too."""
        self.held, self.line = b" ".join(words) + b"\n", self.line - 1

    def _chunk(self) -> bytes:
        held, self.held = self.held, b""
        text = held + self.file.read(_CHUNK)
        return text if not text or text.endswith(b"\n") else text + self.file.readline()

    def columns(self, types: Sequence[type], limits: Sequence[int | None]) -> list[Tensor]:
        """Parse what is left into one tensor a column.

        Args:
            types: int or float for each column.
            limits: Largest value of an index column (the smallest is 1), None for a column of values.
        """
        parts: list[list[Tensor]] = [[torch.empty(0, dtype=_DTYPES[kind])] for kind in types]
        with _no_collector():
            while text := self._chunk():
                found = None if self.comment in text else textual.columns(text, types)
                if found is None:
                    found = self._parse(text, types, limits)
                if any(_outside(part, limit) for part, limit in zip(found, limits, strict=True)):
                    self._complain(text, types, limits)
                for column, part in zip(parts, found, strict=True):
                    column.append(part)
                self.line += text.count(b"\n")
        return [torch.cat(column) for column in parts]

    def _parse(self, text: bytes, types: Sequence[type], limits: Sequence[int | None]) -> list[Tensor]:
        rows = [words for words in map(bytes.split, _split(text)) if words and not words[0].startswith(self.comment)]
        try:
            columns = list(zip(*rows, strict=True)) if rows else [()] * len(types)
            return [
                _tensor(array("q" if kind is int else "d", map(kind, column)))
                for kind, column in zip(types, columns, strict=True)
            ]
        except (ValueError, OverflowError):
            self._complain(text, types, limits)

    def _complain(self, text: bytes, types: Sequence[type], limits: Sequence[int | None]) -> NoReturn:
        """Find the line that can't be read."""
        for offset, line in enumerate(_split(text), 1):
            words = line.split()
            if not words or words[0].startswith(self.comment):
                continue
            where = f"line {self.line + offset}"
            shown = line.decode("utf-8", "replace").strip()[:60]
            if len(words) != len(types):
                raise FormatError(f"{where}: expected {len(types)} numbers, found {len(words)}: {shown!r}")
            for word, kind, limit in zip(words, types, limits, strict=True):
                try:
                    number = kind(word)
                    array("q" if kind is int else "d", [number])
                except (ValueError, OverflowError):
                    noun = "an integer" if kind is int else "a number"
                    raise FormatError(f"{where}: expected {noun}, found {word.decode('utf-8', 'replace')!r}") from None
                if limit is not None and not 1 <= number <= limit:
                    raise IndexBoundsError(f"{where}: index {number} is outside 1..{limit}: {shown!r}")
        raise FormatError(f"malformed numbers after line {self.line}")  # pragma: no cover


def _split(text: bytes) -> list[bytes]:
    return text.split(b"\n")


def _outside(column: Tensor, limit: int | None) -> bool:
    return limit is not None and column.numel() > 0 and not 1 <= int(column.min()) <= int(column.max()) <= limit


@contextmanager
def _no_collector() -> Iterator[None]:
    """Pause Python's cycle collector: millions of short-lived lists would wake it again and again, for nothing."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _tensor(numbers: array[Any]) -> Tensor:
    dtype = torch.int64 if numbers.typecode == "q" else torch.float64
    return torch.frombuffer(numbers, dtype=dtype) if numbers else torch.empty(0, dtype=dtype)
