"""Files: MatrixMarket (.mtx, .ttx of tensors), FROSTT text (.tns), Rutherford-Boeing (.rb) and SciPy's .npz.

Each may also be gzipped. Text is parsed in chunks, plain ones by tensor operations and unusual ones line by line; .npz
is read by its published layout and never unpickled.
"""

from __future__ import annotations

import gc
import gzip
import io
import math
import zlib
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, NoReturn

import torch
from torch import Tensor

from libsparse._lang.errors import (
    DtypeError,
    FormatError,
    IndexBoundsError,
    LibsparseError,
    ShapeError,
    UnsupportedError,
)
from libsparse._storage.format import Format
from libsparse._tensor.constructors import from_coo
from libsparse._tensor.sparse_tensor import SparseTensor

from . import boeing, scipy_npz, textual

__all__ = ["read", "write"]

_CHUNK = 1 << 20  # bytes of text parsed at a time
_DTYPES = {int: torch.int64, float: torch.float64}
_FIELDS = ("real", "double", "integer", "pattern", "complex")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")


def read(
    path: str | Path,
    dtype: torch.dtype | None = None,
    shape: Sequence[int] | None = None,
    format: str | Format | None = None,
) -> SparseTensor:
    """Read a sparse tensor from a file.

    Args:
        path: A .mtx, .ttx, .tns, .rb or .npz file, or one of these followed by .gz.
        dtype: Dtype of the values. By default real fields get torch's default dtype, complex ones the complex of that,
            integer ones int64, and pattern files have no values at all (a mask).
        shape: Shape of a .tns tensor, which is else its largest index in every mode; the others know their shape.
        format: Format to store it in: `csr` for matrices and `csf` beyond, by default.

    Returns:
        The tensor. Duplicate entries are added up, explicit zeros stay.

    Raises:
        FormatError: The file is malformed; the message names the line. Or the format takes more memory than there is.
        IndexBoundsError: An index lies outside the shape.
        ShapeError: `shape` disagrees with the file.
        DtypeError: Complex values, and a real `dtype`.
        UnsupportedError: A kind of file that is not known.
        OSError: The file can't be opened.
    """
    path = Path(path)
    kind = _kind(path)
    values: Tensor | None
    with _open(path, "rb") as file:
        try:
            if kind == ".npz":
                indices, values, size = scipy_npz.load(io.BytesIO(file.read()))
            elif kind in (".mtx", ".ttx"):
                indices, values, size = _read_mtx(file, dtype)
            elif kind == ".rb":
                indices, values, size, symmetry = boeing.load(file)
                indices, values = _mirror(indices, values, symmetry)
                values = None if values is None else _values(values, dtype)
            else:
                indices, values, size = _read_tns(file, dtype, shape)
        except LibsparseError as error:
            raise type(error)(f"{path}: {error}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{path}: the compressed file is damaged or cut off ({error})") from None
    if shape is not None and tuple(shape) != size:
        raise ShapeError(f"{path}: the file has shape {size}, shape={tuple(shape)} was asked for")
    if dtype is not None and values is not None and values.is_complex() and not dtype.is_complex:
        raise DtypeError(f"{path}: the file holds complex values; read it as one of them and take A.real or A.imag")
    if dtype is not None:
        values = torch.ones(indices.shape[1], dtype=dtype) if values is None else values.to(dtype)
    try:
        return from_coo(indices, values, size, format=format)
    except LibsparseError as error:
        raise type(error)(f"{path}: {error}") from None


def write(path: str | Path, A: SparseTensor) -> None:
    """Write a sparse tensor to a file; `read` gives it back.

    Args:
        path: Where to; the ending (.mtx, .ttx, .tns, .rb or .npz, also followed by .gz) says how. All but .ttx and .tns
            hold matrices.
        A: The tensor. A pattern-only one becomes a pattern file (.mtx, .ttx, .rb), else ones.

    Raises:
        DtypeError: Not a SparseTensor.
        ShapeError: A file of matrices for a tensor that is none.
        UnsupportedError: A kind of file that is not known, or a fill value other than zero.
    """
    path = Path(path)
    kind = _kind(path)
    if not isinstance(A, SparseTensor):
        raise DtypeError(f"{path}: expected an ls.SparseTensor, got {type(A).__name__}; make one with ls.tensor(...)")
    if A.fill_value != 0:
        raise UnsupportedError(f"{path}: files can't hold a fill value other than 0, this tensor has {A.fill_value}")
    if kind not in (".ttx", ".tns") and A.ndim != 2:
        raise ShapeError(
            f"{path}: a {kind} file holds a matrix, this tensor has shape {tuple(A.shape)}; use .ttx or .tns"
        )
    indices = A.indices().to(torch.int64)
    entries = A.pattern.entries(A.values().detach())
    values: Tensor | None = entries
    if A.dtype == torch.bool:
        values = None if bool(entries.all()) else entries.to(torch.int64)
    with _open(path, "wb") as file:
        if kind == ".npz":
            file.write(scipy_npz.dump(indices, entries, tuple(A.shape)))
            return
        if kind == ".rb":
            boeing.dump(file, indices, values, tuple(A.shape))
            return
        if kind in (".mtx", ".ttx"):
            what = "matrix" if A.ndim == 2 else "tensor"
            file.write(f"%%MatrixMarket {what} coordinate {_field(values)} general\n".encode())
            file.write(f"{' '.join(map(str, A.shape))} {indices.shape[1]}\n".encode())
        elif values is None:
            values = torch.ones(indices.shape[1], dtype=torch.int64)
        elif values.is_complex():
            raise DtypeError(
                f"{path}: a .tns file can't hold complex values; use .mtx, .ttx or .npz, or A.real and A.imag"
            )
        for start in range(0, indices.shape[1], 1 << 16):
            part = slice(start, start + (1 << 16))
            columns: list[Iterator[str]] = [map(str, column) for column in (indices[:, part] + 1).tolist()]
            if values is not None and values.is_complex():
                columns += [_texts(values[part].real), _texts(values[part].imag)]
            elif values is not None:
                columns.append(_texts(values[part]))
            file.write(("\n".join(map(" ".join, zip(*columns, strict=True))) + "\n").encode())


def _field(values: Tensor | None) -> str:
    """MatrixMarket's name of the kind of values."""
    if values is None:
        return "pattern"
    return "complex" if values.is_complex() else "real" if values.is_floating_point() else "integer"


def _texts(values: Tensor) -> Iterator[str]:
    """The shortest decimal texts that read back as the same numbers."""
    if values.dtype == torch.float64 or not values.is_floating_point():
        return map(repr, values.tolist())
    return map("{:.9g}".format, values.tolist())


def _kind(path: Path) -> str:
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix not in (".mtx", ".ttx", ".tns", ".rb", ".npz"):
        raise UnsupportedError(
            f"{path}: don't know this kind of file; use .mtx, .ttx, .tns, .rb or .npz, each also with .gz"
        )
    return suffix


@contextmanager
def _open(path: Path, mode: str) -> Iterator[IO[bytes]]:
    with path.open(mode) as raw:
        if path.suffix != ".gz":
            yield raw
        else:
            # level 6 and no file name or time inside: equal tensors make equal files
            with gzip.GzipFile(filename="", fileobj=raw, mode=mode, compresslevel=6, mtime=0) as packed:
                yield packed  # type: ignore[misc]


# --- lines of numbers ----------------------------------------------------------------------------------------------


class _Lines:
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


def _values(column: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Values as read: int64, or the default float or complex unless the caller's dtype wants what float64 holds."""
    if column.dtype == torch.int64 or dtype is not None:
        return column
    default = torch.get_default_dtype()
    return column.to(default.to_complex() if column.is_complex() else default)


# --- MatrixMarket --------------------------------------------------------------------------------------------------

_Parts = tuple[Tensor, "Tensor | None", tuple[int, ...]]


def _read_mtx(file: IO[bytes], dtype: torch.dtype | None) -> _Parts:
    banner = file.readline().decode("latin-1").lower().split()
    known = len(banner) == 5 and banner[0] == "%%matrixmarket"
    if not known or banner[1] not in ("matrix", "tensor") or banner[2] not in ("coordinate", "array"):
        raise FormatError("line 1: expected '%%MatrixMarket matrix|tensor coordinate|array <field> <symmetry>'")
    what, layout, field, symmetry = banner[1:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (layout == "array" and field == "pattern"):
        raise FormatError(f"line 1: no such kind of {what}: {layout} {field} {symmetry}")
    lines = _Lines(file, b"%", line=1)
    listed = layout == "coordinate"
    sizes = _sizes(lines, what, listed=listed)
    shape = tuple(sizes[:-1] if listed else sizes)
    if symmetry != "general" and (len(shape) != 2 or shape[0] != shape[1]):
        raise FormatError(f"line {lines.line}: a {symmetry} matrix is square, this {what} has extents {shape}")
    numbers: list[type] = [float, float] if field == "complex" else [int if field == "integer" else float]
    values: Tensor | None
    if listed:
        indices, values = _coordinates(lines, sizes, [] if field == "pattern" else numbers)
    else:
        indices, values = _dense_entries(_joined(lines.columns(numbers, [None] * len(numbers))), shape, symmetry)
    indices, values = _mirror(indices, values, symmetry)
    return indices, None if values is None else _values(values, dtype), shape


def _sizes(lines: _Lines, what: str, *, listed: bool) -> list[int]:
    """The extents, and the number of entries of a file that lists coordinates."""
    words = lines.next()
    try:
        sizes = [int(word) for word in words or []]
    except ValueError:
        sizes = []
    fits = len(sizes) == 2 + listed if what == "matrix" else len(sizes) >= 1 + listed
    if not fits or not 0 <= min(sizes) <= max(sizes) < 2**62:
        wanted = "rows, columns" if what == "matrix" else "every extent"
        raise FormatError(
            f"line {max(lines.line, 2)}: expected the numbers of {wanted}{' and entries' if listed else ''}"
        )
    return sizes


def _coordinates(lines: _Lines, sizes: list[int], field: list[type]) -> tuple[Tensor, Tensor | None]:
    *extents, count = sizes
    found = lines.columns([int] * len(extents) + field, [*extents, *[None] * len(field)])
    entries, values = found[: len(extents)], found[len(extents) :]
    if entries[0].numel() != count:
        raise FormatError(
            f"line {lines.line}: the file ends after {entries[0].numel()} entries, its header says {count}"
            if entries[0].numel() < count
            else f"the file has {entries[0].numel()} entries, its header says {count}"
        )
    return torch.stack(entries) - 1, _joined(values) if values else None


def _joined(columns: list[Tensor]) -> Tensor:
    """The values of one column, or the complex ones of two."""
    return torch.complex(*columns) if len(columns) == 2 else columns[0]


def _dense_entries(column: Tensor, shape: tuple[int, ...], symmetry: str) -> tuple[Tensor, Tensor]:
    """The nonzeros of an array file, which lists all elements, the first index fastest, or columns' lower triangles."""
    n = shape[0]
    wanted = {"general": math.prod(shape), "skew-symmetric": n * (n - 1) // 2}.get(symmetry, n * (n + 1) // 2)
    if column.numel() != wanted:  # before anything as large as the shape is made
        extents = " x ".join(map(str, shape))
        raise FormatError(f"expected {wanted} numbers for {extents} {symmetry}, found {column.numel()}")
    kept = column.nonzero().flatten()
    if symmetry == "general":
        rows = []
        rest = kept
        for extent in shape:
            rows.append(rest % max(extent, 1))
            rest = rest // max(extent, 1)
        return torch.stack(rows), column[kept]
    triangle = torch.ones(n, n, dtype=torch.bool).triu(1 if symmetry == "skew-symmetric" else 0)
    return triangle.nonzero()[kept].flip(1).T.contiguous(), column[kept]


def _mirror(indices: Tensor, values: Tensor | None, symmetry: str) -> tuple[Tensor, Tensor | None]:
    """Add the half that a symmetric file leaves out."""
    if symmetry == "general":
        return indices, values
    beside = indices[0] != indices[1]
    if symmetry == "skew-symmetric" and not bool(beside.all()):
        raise FormatError("a skew-symmetric matrix has no entries on its diagonal, this file has")
    other = indices[:, beside].flip(0)
    if values is not None:
        mirrored = values[beside]
        if symmetry == "hermitian":
            mirrored = mirrored.conj().resolve_conj()
        values = torch.cat([values, -mirrored if symmetry == "skew-symmetric" else mirrored])
    return torch.cat([indices, other], dim=1), values


# --- FROSTT --------------------------------------------------------------------------------------------------------


def _read_tns(file: IO[bytes], dtype: torch.dtype | None, shape: Sequence[int] | None) -> _Parts:
    lines = _Lines(file, b"#")
    first = lines.next()
    if first is None:
        if shape is None:
            raise FormatError("the file has no entries; give its shape= to read an empty tensor")
        return (
            torch.empty(len(shape), 0, dtype=torch.int64),
            _values(torch.empty(0, dtype=torch.float64), dtype),
            tuple(shape),
        )
    order = len(first) - 1
    if order < 1 or (shape is not None and len(shape) != order):
        wanted = (
            "indices and a value" if shape is None else f"{len(shape)} indices and a value, for shape={tuple(shape)}"
        )
        raise FormatError(f"line {lines.line}: expected {wanted}, found {len(first)} numbers")
    limits: list[int | None] = [*(shape or [2**62] * order), None]
    lines.put_back(first)
    *columns, values = lines.columns([int] * order + [float], limits)
    size = tuple(shape) if shape is not None else tuple(int(c.max()) for c in columns)
    return torch.stack(columns) - 1, _values(values, dtype), size
