"""SciPy's .npz layout of sparse matrices, by the published .npy format: nothing here can run code from a file."""

from __future__ import annotations

import ast
import ctypes
import io
import struct
import zipfile
from typing import IO

import torch
from torch import Tensor

from .errors import DtypeError, FormatError, IndexBoundsError, UnsupportedError

_DTYPES = {
    "b1": torch.bool,
    "u1": torch.uint8,
    "i1": torch.int8,
    "i2": torch.int16,
    "i4": torch.int32,
    "i8": torch.int64,
    "f2": torch.float16,
    "f4": torch.float32,
    "f8": torch.float64,
    "c8": torch.complex64,
    "c16": torch.complex128,
}
_CODES = {dtype: code for code, dtype in _DTYPES.items()}
_MAGIC = b"\x93NUMPY"


def load(file: IO[bytes]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Indices (2, nnz), values and shape of the matrix in `file`."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = {name.removesuffix(".npy"): archive.read(name) for name in archive.namelist()}
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise FormatError(f"not an .npz archive, or a damaged one ({error})") from None

    def tensor(name: str) -> Tensor:
        if name not in members:
            raise FormatError(f"the archive has no array {name!r}; it is not SciPy's layout of a sparse matrix")
        return _array(members[name], name)

    kind = _text(members.get("format", b""))
    size = tuple(tensor("shape").tolist())
    if len(size) != 2 or min(size) < 0:
        raise FormatError(f"the archive's shape is {size}, expected two extents")
    if kind in ("csr", "csc"):
        major = _expand(tensor("indptr"), size[0 if kind == "csr" else 1], tensor("indices").numel())
        pair = [major, tensor("indices").long()]
        indices, values = torch.stack(pair if kind == "csr" else pair[::-1]), tensor("data")
    elif kind == "coo":
        indices, values = torch.stack([tensor("row").long(), tensor("col").long()]), tensor("data")
    elif kind == "bsr":
        indices, values = _blocks(tensor("indptr"), tensor("indices"), tensor("data"), size)
    elif kind == "dia":
        indices, values = _diagonals(tensor("offsets").long(), tensor("data"), size)
    else:
        raise UnsupportedError(f"the archive's format is {kind!r}, expected csr, csc, coo, bsr or dia")
    if values.ndim != 1 or values.numel() != indices.shape[1]:
        raise FormatError(f"the archive has {indices.shape[1]} indices and values of shape {tuple(values.shape)}")
    outside = (indices < 0) | (indices >= torch.tensor(size)[:, None])
    if bool(outside.any()):
        entry = int(outside.any(0).nonzero()[0])
        raise IndexBoundsError(f"entry {entry} is at {tuple(indices[:, entry].tolist())}, outside shape {size}")
    return indices, values, size


def dump(indices: Tensor, values: Tensor, size: tuple[int, ...]) -> bytes:
    """The archive of a matrix, as CSR."""
    if values.dtype not in _CODES:
        raise DtypeError(f".npz files can't hold {values.dtype}; convert the values first")
    order = torch.argsort(indices[0] * max(size[1], 1) + indices[1])
    rows, columns = indices[:, order]
    indptr = torch.zeros(size[0] + 1, dtype=torch.int64)
    indptr[1:] = torch.bincount(rows, minlength=size[0]).cumsum(0)
    narrow = torch.int32 if max(*size, values.numel()) < 2**31 else torch.int64
    members = {
        "indices": _bytes(columns.to(narrow)),
        "indptr": _bytes(indptr.to(narrow)),
        "format": _header("|S3", ()) + b"csr",
        "shape": _bytes(torch.tensor(size, dtype=torch.int64)),
        "data": _bytes(values[order]),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            # a fixed date: equal matrices make equal files
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _split(data: bytes, name: str) -> tuple[str, tuple[int, ...], bool, bytes]:
    """Type code, shape, whether in Fortran's order, and the bytes of an .npy member."""
    try:
        if data[:6] != _MAGIC:
            raise ValueError("no .npy header")
        wide = data[6] > 1
        length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
        start = (12 if wide else 10) + length
        header = ast.literal_eval(data[start - length : start].decode("latin-1"))
        code, shape, fortran = header["descr"], tuple(header["shape"]), bool(header["fortran_order"])
        if not isinstance(code, str) or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError("an unusual header")
    except (ValueError, SyntaxError, KeyError, TypeError, IndexError, struct.error) as error:
        raise FormatError(f"array {name!r} is malformed ({error})") from None
    return code, shape, fortran, data[start:]


def _array(data: bytes, name: str) -> Tensor:
    code, shape, fortran, payload = _split(data, name)
    if "O" in code:
        raise UnsupportedError(f"array {name!r} holds Python objects, which are never unpickled")
    if code[1:] not in _DTYPES or (code[0] == ">" and code[2:] != "1"):
        raise DtypeError(f"array {name!r} has dtype {code!r}, expected bool or a number in this byte order")
    dtype = _DTYPES[code[1:]]
    count = 1
    for extent in shape:
        count *= extent
    if len(payload) != count * dtype.itemsize:
        raise FormatError(f"array {name!r} has {len(payload)} bytes, its shape {shape} needs {count * dtype.itemsize}")
    flat = torch.frombuffer(bytearray(payload), dtype=dtype) if count else torch.empty(0, dtype=dtype)
    return flat.reshape(shape[::-1]).permute(*range(len(shape))[::-1]) if fortran else flat.reshape(shape)


def _text(data: bytes) -> str:
    """A scalar string: bytes, or UTF-32 as NumPy keeps str."""
    if not data:
        return ""
    code, _, _, payload = _split(data, "format")
    return payload.decode("utf-32-le" if "U" in code else "latin-1").rstrip("\0") if code[1:2] in ("S", "U") else ""


def _header(code: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{code}', 'fortran_order': False, 'shape': {shape!r}, }}".encode()
    text += b" " * (-(len(text) + 11) % 64) + b"\n"
    return _MAGIC + b"\x01\x00" + struct.pack("<H", len(text)) + text


def _bytes(tensor: Tensor) -> bytes:
    code = _CODES[tensor.dtype]
    flat = tensor.contiguous()
    payload = ctypes.string_at(flat.data_ptr(), flat.numel() * flat.element_size()) if flat.numel() else b""
    return _header(("|" if code[1:] == "1" else "<") + code, tuple(tensor.shape)) + payload


def _expand(indptr: Tensor, extent: int, count: int) -> Tensor:
    """The coordinate of every entry, from positions."""
    steps = indptr.long().diff()
    if indptr.numel() != extent + 1 or int(indptr[0]) != 0 or int(indptr[-1]) != count or bool((steps < 0).any()):
        raise FormatError(f"array 'indptr' does not rise from 0 to {count} in {extent} steps")
    return torch.repeat_interleave(torch.arange(extent), steps)


def _blocks(indptr: Tensor, indices: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    if (
        data.ndim != 3
        or data.shape[0] != indices.numel()
        or any(n % b for n, b in zip(size, data.shape[1:], strict=True))
    ):
        raise FormatError(f"blocks of shape {tuple(data.shape)} don't tile a matrix of shape {size}")
    height, width = data.shape[1:]
    top = _expand(indptr, size[0] // height, indices.numel()) * height
    rows = (top[:, None, None] + torch.arange(height)[:, None]).expand(data.shape)
    columns = (indices.long()[:, None, None] * width + torch.arange(width)).expand(data.shape)
    return torch.stack([rows.reshape(-1), columns.reshape(-1)]), data.reshape(-1)


def _diagonals(offsets: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    if data.ndim != 2 or data.shape[0] != offsets.numel():
        raise FormatError(f"{offsets.numel()} offsets and diagonals of shape {tuple(data.shape)} don't fit")
    columns = torch.arange(data.shape[1]).expand(data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < size[0]) & (columns < size[1]) & (data != 0)
    return torch.stack([rows[inside], columns[inside]]), data[inside]
