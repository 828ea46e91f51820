"""Files: MatrixMarket (.mtx, .ttx of tensors), FROSTT text (.tns), Rutherford-Boeing (.rb) and SciPy's .npz.

Each may also be gzipped. Text is parsed in chunks, plain ones by tensor operations and unusual ones line by line; .npz
is read by its published layout and never unpickled.
"""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import torch
from torch import Tensor

from libsparse._lang.errors import (
    DtypeError,
    FormatError,
    LibsparseError,
    ShapeError,
    UnsupportedError,
)
from libsparse._storage.format import Format
from libsparse._tensor.constructors import from_coo
from libsparse._tensor.sparse_tensor import SparseTensor

from . import boeing, scipy_npz, text_formats

__all__ = ["read", "write"]


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
                indices, values, size = text_formats.read_mtx(file, dtype)
            elif kind == ".rb":
                indices, values, size, symmetry = boeing.load(file)
                indices, values = text_formats.mirror(indices, values, symmetry)
                values = None if values is None else text_formats.to_values(values, dtype)
            else:
                indices, values, size = text_formats.read_tns(file, dtype, shape)
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
