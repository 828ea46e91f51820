"""Matrix Market files as nearly all writers make them, read by threads in C; the compiler reads all others.

These have coordinates, no comment between the entries, and real numbers, integers or no numbers; the matrix may be
symmetric. Whatever is unusual or wrong ends the reading here, so nothing in this file makes an error of a file.
"""

from __future__ import annotations

import functools
import io
import threading
import zlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import ModuleType
from typing import IO

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.records import NamedTuple
from libsparse._storage import memory, threads

_BLOCK = 1 << 19  # bytes of text that a thread parses at a time: they stay in the cache of its core
_PACKED = 1 << 17  # bytes of a compressed file that are read at a time
_PACKING = 4  # bytes of text in a byte of a compressed file, roughly
_SPARE = 64  # lines at the end that may be empty, and bytes behind a text that can be read
_FIELDS = {"real": torch.float64, "double": torch.float64, "integer": torch.int64, "pattern": None}
_KINDS = {None: 0, torch.int64: 1, torch.float64: 2, torch.float32: 3}  # as the module in C counts them
_LEAST_POWER, _MOST_POWER = -330, 310


class Entries(NamedTuple):
    """The entries of a file, in its order.

    Attributes:
        shape: Rows and columns.
        rows: Of each entry, int32.
        columns: Of each entry, int32.
        values: int64, float64 or float32; None for a pattern.
        mirrored: Whether an entry that is not on the diagonal stands for two.
    """

    shape: tuple[int, int]
    rows: Tensor
    columns: Tensor
    values: Tensor | None
    mirrored: bool

    def indices(self) -> tuple[Tensor, Tensor | None]:
        """The coordinates, (2, nnz), and values of all entries."""
        rows, columns, values = self.rows, self.columns, self.values
        if self.mirrored:
            others = rows != columns
            rows, columns = torch.cat([rows, columns[others]]), torch.cat([columns, rows[others]])
            values = None if values is None else torch.cat([values, values[others]])
        return torch.stack([rows, columns]), values


def read(path: Path, dtype: torch.dtype) -> Entries | None:
    """The entries of a file; None where the compiler has to read it, or to say what is wrong.

    Args:
        path: The file, which may be compressed.
        dtype: The dtype that real numbers are wanted in; they are given as float64 unless it is float32.
    """
    module = _in_c()
    if module is None or not path.is_file():  # a pipe can be read once
        return None
    with suppress(OSError, EOFError, ValueError, zlib.error), _opened(path) as file:
        head = _head(file)
        if head is not None:
            shape, count, field, mirrored = head
            values = dtype if field == torch.float64 and dtype == torch.float32 else field
            return _Reader(module, path, file).entries(shape, count, values, mirrored)
    return None


@functools.cache
def _in_c() -> ModuleType | None:
    """The module that parses in C, None where the package was built without a C compiler."""
    try:
        from . import _market
    except ImportError:
        return None
    return _market


def _opened(path: Path) -> IO[bytes]:
    if path.suffix == ".gz":
        return io.BufferedReader(_Inflated(path), _PACKED)
    return path.open("rb")


class _Inflated(io.RawIOBase):
    """The content of a compressed file, whose sums zlib checks."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb", buffering=0)
        self._inflater = zlib.decompressobj(wbits=31)

    def readable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Writes some of the content; nothing at its end.

        Raises:
            EOFError: The file is cut off.
        """
        content = b""
        while not content:
            packed = self._inflater.unconsumed_tail
            if self._inflater.eof:  # one more content may follow
                packed = self._inflater.unused_data or self._file.read(_PACKED)
                if not packed:
                    return 0
                self._inflater = zlib.decompressobj(wbits=31)
            packed = packed or self._file.read(_PACKED)
            content = self._inflater.decompress(packed, len(buffer))
            if not packed and not content and not self._inflater.eof:
                raise EOFError
        buffer[: len(content)] = content
        return len(content)


def _head(file: IO[bytes]) -> tuple[tuple[int, int], int, torch.dtype | None, bool] | None:
    """Shape, number of entries, dtype of the values and whether the file is symmetric; None where it is unusual."""
    words = file.readline(_BLOCK).decode("latin-1").lower().split()
    if len(words) != 5 or words[:3] != ["%%matrixmarket", "matrix", "coordinate"]:
        return None
    if words[3] not in _FIELDS or words[4] not in ("general", "symmetric"):
        return None
    line = file.readline(_BLOCK)
    while line.startswith(b"%") or line.isspace():
        line = file.readline(_BLOCK)
    sizes = line.split()
    if len(sizes) != 3 or not all(word.isdigit() for word in sizes):
        return None
    rows, columns, count = map(int, sizes)
    mirrored = words[4] == "symmetric"
    if max(rows, columns, 2 * count) > INT32_MAX or (mirrored and rows != columns):
        return None
    return (rows, columns), count, _FIELDS[words[3]], mirrored


class _Reader:
    """Reads lines by several threads, each of which takes some, and parses them while another takes the next."""

    def __init__(self, module: ModuleType, path: Path, file: IO[bytes]) -> None:
        self._module, self._file, self._packed = module, file, path.suffix == ".gz"
        self._length = path.stat().st_size
        self._lock = threading.Lock()
        self._rest = b""  # the beginning of a line whose end has not been read
        self._lines, self._found = 0, 0  # that were taken, and entries that were in them
        self._ended, self._failed = False, False

    def entries(self, shape: tuple[int, int], count: int, dtype: torch.dtype | None, mirrored: bool) -> Entries | None:
        """The entries that are left of the file; None where a line is not plain, or their number isn't `count`."""
        width = 8 if dtype is None else 8 + dtype.itemsize
        least = 4 if dtype is None else 6  # bytes of a line
        if least * count > self._length + 2 and not self._packed:
            return None
        room = count + _SPARE
        if not memory.is_small(room, 2 * width) and 2 * width * room > memory.available():
            return None
        rows, columns = (torch.empty(room, dtype=torch.int32, device="cpu") for _ in range(2))
        values = None if dtype is None else torch.empty(room, dtype=dtype, device="cpu")
        addresses = [0 if array is None else array.data_ptr() for array in (rows, columns, values)]
        powers = _powers() if dtype in (torch.float64, torch.float32) else None
        addresses.append(0 if powers is None else powers.data_ptr())
        self._room = room

        def parse(text: int, length: int, first: int) -> int:
            return int(self._module.parse(text, length, *shape, first, _KINDS[dtype], *addresses))

        self._parse = parse
        self._run()
        if self._failed or self._found != count:
            return None
        cut = None if values is None else values[:count]
        return Entries(shape, rows[:count], columns[:count], cut, mirrored)

    def _run(self) -> None:
        text = self._length * (_PACKING if self._packed else 1) + 1
        size = min(_BLOCK, text)
        blocks = -(-text // size)
        helpers = [threading.Thread(target=self._work, args=(size,)) for _ in range(min(threads.count(), blocks) - 1)]
        begun = []
        try:
            for helper in helpers:
                with suppress(RuntimeError):  # the process may start no more threads
                    helper.start()
                    begun.append(helper)
            self._work(size)
        except BaseException:
            self._failed = True
            raise
        finally:
            for helper in begun:
                helper.join()

    def _work(self, size: int) -> None:
        text = bytearray(size + _SPARE)
        address = torch.frombuffer(text, dtype=torch.uint8).data_ptr()
        try:
            for length, first, lines in self._taken(text, address, size):
                found = self._parse(address, length, first)
                with self._lock:
                    self._found += found
                    # empty lines leave a gap, which is all right at the end of the file
                    self._failed |= found < 0 or (found < lines and first + lines < self._lines)
        except (OSError, EOFError, zlib.error):
            self._failed = True

    def _taken(self, text: bytearray, address: int, size: int) -> Iterator[tuple[int, int, int]]:
        """Takes whole lines; how long they are, how many are before, and how many they are."""
        view = memoryview(text)
        while True:
            with self._lock:
                if self._ended or self._failed:
                    return
                length = len(self._rest)
                view[:length] = self._rest
                while length < size and not self._ended:
                    more = self._file.readinto(view[length:size])  # type: ignore[attr-defined]
                    length += more
                    self._ended = more == 0
                end = text.rfind(b"\n", 0, length) + 1
                if self._ended and end < length:  # the last line has no end
                    text[length] = ord("\n")
                    end = length = length + 1
                self._rest = bytes(view[end:length])
                first, lines = self._lines, self._module.lines(address, end)
                self._lines += lines
                if self._lines > self._room or end == 0 < length:
                    self._failed = True
                    return
            yield end, first, lines


@functools.cache
def _powers() -> Tensor:
    """Powers of ten as numbers of 128 bits and exponents of two, without the bits below."""
    words: list[int] = []
    for e in range(_LEAST_POWER, _MOST_POWER + 1):
        shift = 2000 if e < 0 else 0  # more bits than a quotient needs
        number = (1 << shift) // 10**-e if e < 0 else 10**e
        cut = number.bit_length() - 128
        number = number >> cut if cut >= 0 else number << -cut
        words += number >> 64, number & (2**64 - 1), cut - shift
    data = b"".join(word.to_bytes(8, "little", signed=word < 0) for word in words)
    return torch.frombuffer(bytearray(data), dtype=torch.uint8)
