"""Files of tensors: the compiler reads and writes text, SciPy's .npz is read here and never unpickled.

Text is MatrixMarket (.mtx, and .ttx of tensors), FROSTT (.tns) or Rutherford-Boeing (.rb). Each may also be gzipped.
"""

from __future__ import annotations

import gzip
import io
import os
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import torch
from torch import Tensor

from libsparse._compiler import native
from libsparse._lang.dtypes import code
from libsparse._lang.errors import (
    DtypeError,
    FormatError,
    LibsparseError,
    ShapeError,
    UnsupportedError,
)
from libsparse._lang.waiting import Waiting
from libsparse._storage import memory, sorting, threads
from libsparse._storage.format import Format, default_format
from libsparse._storage.pattern import Pattern
from libsparse._tensor.constructors import from_coo
from libsparse._tensor.sparse_tensor import SparseTensor

from . import binsparse_files, matrix_market, scipy_npz

_ENOUGH = 1 << 26  # bytes that are there, whatever the system says


def _path(given: object, call: str) -> Path:
    """The path that a user gives.

    Raises:
        DtypeError: It is none.
    """
    if not isinstance(given, (str, os.PathLike)):
        raise DtypeError(f"path is a {type(given).__name__}; expected a str or a pathlib.Path: {call}")
    return Path(given)


def read(
    path: str | Path,
    dtype: torch.dtype | None = None,
    shape: Sequence[int] | None = None,
    format: str | Format | None = None,
) -> SparseTensor:
    """Read a sparse tensor from a file.

    Args:
        path: A .mtx, .ttx, .tns, .rb or .npz file, or one of these followed by .gz; or a Binsparse file, .bsp.h5 or
            .bsp.npz (needs the package `binsparse`).
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

    Example:
        >>> ls.write("/tmp/eye.mtx", ls.eye(2))
        >>> ls.read("/tmp/eye.mtx").to_dense().tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    path = _path(path, "ls.read(path)")
    kind = _kind(path)
    default = torch.get_default_dtype()
    entries = _read_plain(path, dtype or default) if kind == ".mtx" else None
    if entries is not None:
        return _of_entries(path, entries, dtype, shape, format)
    values: Tensor | None
    fill: int | float = 0
    if kind in binsparse_files.ENDINGS:
        indices, values, size, fill, stored_as = binsparse_files.read(path)
        format = format or stored_as
    elif kind == ".npz":
        indices, values, size = _read_npz(path)
    else:
        indices, values, size = _read_text(path, shape)
        if dtype is None and values is not None and values.dtype != torch.int64:
            values = values.to(default.to_complex() if values.is_complex() else default)
    _check_shape(path, size, shape)
    if dtype is not None and values is not None and values.is_complex() and not dtype.is_complex:
        raise DtypeError(f"{path}: the file holds complex values; read it as one of them and take A.real or A.imag")
    values = _cast(values, indices.shape[1], dtype)
    try:
        checked = kind in binsparse_files.ENDINGS
        made = from_coo(indices, values, size, format=format, check=checked)
        return made if fill == 0 else SparseTensor(made.pattern, made.values(), fill)
    except LibsparseError as error:
        raise type(error)(f"{path}: {error}") from None


def _cast(values: Tensor | None, count: int, dtype: torch.dtype | None) -> Tensor | None:
    """The values in the dtype that is asked for, where one is; those of a pattern are ones."""
    if dtype is None:
        return values
    return torch.ones(count, dtype=dtype, device="cpu") if values is None else values.to(dtype)


def _read_plain(path: Path, dtype: torch.dtype) -> matrix_market.Entries | None:
    with Waiting(f"reading {path.name}"):
        return matrix_market.read(path, dtype)


def _check_shape(path: Path, size: tuple[int, ...], wanted: Sequence[int] | None) -> None:
    if wanted is not None and tuple(wanted) != size:
        raise ShapeError(f"{path}: the file has shape {size}, shape={tuple(wanted)} was asked for")


def _of_entries(
    path: Path,
    entries: matrix_market.Entries,
    dtype: torch.dtype | None,
    shape: Sequence[int] | None,
    format: str | Format | None,
) -> SparseTensor:
    """The matrix of a plain file: most of them list entries in an order that needs no sorting."""
    size = entries.shape
    _check_shape(path, size, shape)
    if dtype is None and entries.values is not None and entries.values.dtype != torch.int64:
        dtype = torch.get_default_dtype()
    try:
        wanted = default_format(2) if format is None else Format(format).resolve(2)
        found = None
        if wanted == default_format(2):
            found = sorting.by_rows(*entries[1:4], size[0], entries.mirrored, threads.count())
        if found is None:
            indices, values = entries.indices()
            return from_coo(indices, _cast(values, indices.shape[1], dtype), size, format=wanted, check=False)
        pos, columns, values = found
        pattern = Pattern(wanted, size, (None, pos), (None, columns))
        return SparseTensor(pattern, _cast(values, len(columns), dtype))
    except LibsparseError as error:
        raise type(error)(f"{path}: {error}") from None


def write(path: str | Path, A: SparseTensor) -> None:
    """Write a sparse tensor to a file; `read` gives it back (text in torch's default dtype, unless told `dtype=`).

    Args:
        path: Where to; the ending (.mtx, .ttx, .tns, .rb or .npz, also followed by .gz, .bsp.h5 or
            .bsp.npz) says how. All but .ttx, .tns and Binsparse files hold matrices, and these alone fill values.
        A: The tensor. A pattern-only one becomes a pattern file (.mtx, .ttx, .rb), else ones.

    Raises:
        DtypeError: Not a SparseTensor.
        ShapeError: A file of matrices for a tensor that is none.
        UnsupportedError: A kind of file that is not known, or a fill value other than zero.

    Example:
        >>> ls.write("/tmp/eye.npz", ls.eye(2))
        >>> ls.read("/tmp/eye.npz").nnz
        2
    """
    path = _path(path, "ls.write(path, A)")
    kind = _kind(path)
    if not isinstance(A, SparseTensor):
        raise DtypeError(f"{path}: expected an ls.SparseTensor, got {type(A).__name__}; make one with ls.tensor(...)")
    if kind in binsparse_files.ENDINGS:
        binsparse_files.write(path, A)
        return
    if A.fill_value != 0:
        raise UnsupportedError(f"{path}: files can't hold a fill value other than 0, this tensor has {A.fill_value}")
    if kind not in (".ttx", ".tns") and A.ndim != 2:
        raise ShapeError(
            f"{path}: a {kind} file holds a matrix, this tensor has shape {tuple(A.shape)}; use .ttx or .tns"
        )
    indices = A.indices().to(torch.int64)
    entries = A.pattern.entries(A.values().detach())
    if kind == ".npz":
        with _open(path, "wb") as file:
            file.write(scipy_npz.dump(indices, entries, tuple(A.shape)))
        return
    dtype = torch.int64 if A.dtype == torch.bool and not bool(entries.all()) else A.dtype
    wide = torch.complex128 if dtype.is_complex else torch.float64 if dtype.is_floating_point else torch.int64
    values = None if dtype == torch.bool else entries.to(wide)
    try:
        with Waiting(f"writing {path.name}"):
            native.write_tensor(str(path), tuple(A.shape), code(dtype), indices, values)
    except OSError as error:
        error.filename = str(path)
        raise


def _read_text(path: Path, shape: Sequence[int] | None) -> tuple[Tensor, Tensor | None, tuple[int, ...]]:
    options = {"shape": None if shape is None else [int(n) for n in shape], "memory": max(memory.available(), _ENOUGH)}
    try:
        with Waiting(f"reading {path.name}"):
            size, indices, values = native.read_tensor(str(path), options)
    except OSError as error:
        error.filename = str(path)
        raise
    return indices, values, size


def _read_npz(path: Path) -> tuple[Tensor, Tensor | None, tuple[int, ...]]:
    with _open(path, "rb") as file:
        try:
            return scipy_npz.load(io.BytesIO(file.read()))
        except LibsparseError as error:
            raise type(error)(f"{path}: {error}") from None
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise FormatError(f"{path}: the compressed file is damaged or cut off ({error})") from None


def _kind(path: Path) -> str:
    for ending in binsparse_files.ENDINGS:
        if path.name.endswith(ending):
            return ending
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix
    if suffix not in (".mtx", ".ttx", ".tns", ".rb", ".npz"):
        raise UnsupportedError(
            f"{path}: don't know this kind of file; use .mtx, .ttx, .tns, .rb or .npz, each also with .gz, or .bsp.h5 "
            "or .bsp.npz"
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
