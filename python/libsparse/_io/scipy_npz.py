"""SciPy's .npz layout of sparse matrices, by the published .npy format: nothing here can run code from a file."""

from __future__ import annotations

import ast
import ctypes
import io
import math
import struct
import zipfile
from typing import IO

import torch
from torch import Tensor

from libsparse._lang.dtypes import INT32_MAX
from libsparse._lang.errors import DtypeError, FormatError, IndexBoundsError, UnsupportedError
from libsparse._storage import memory, packing

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
_MEMBERS = ("format", "shape", "data", "indices", "indptr", "row", "col", "offsets")
_LONGEST = 10_000  # bytes of a header, as in NumPy: beyond that it is no header
_ELEMENTS = 1 << 59  # whose bytes 64 bits number
_MAGIC = b"\x93NUMPY"


def load(file: IO[bytes]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Indices (2, nnz), values and shape of the matrix in `file`."""
    members = _members(file)

    def data(name: str) -> bytes:
        if name not in members:
            raise FormatError(f"the archive has no array {name!r}; it is not SciPy's layout of a sparse matrix")
        return members[name]

    def tensor(name: str) -> Tensor:
        return _array(data(name), name)

    def integers(name: str) -> Tensor:
        array = tensor(name)
        if array.ndim != 1 or array.dtype.is_floating_point or array.dtype.is_complex or array.dtype == torch.bool:
            raise FormatError(
                f"array {name!r} is {array.dtype} of shape {tuple(array.shape)}, expected a row of integers"
            )
        return array

    kind = _text(data("format"))
    size = tuple(integers("shape").tolist())
    if len(size) != 2 or min(size) < 0:
        raise FormatError(f"the archive's shape is {size}, expected two extents")
    if kind in ("csr", "csc"):
        major = _expand(integers("indptr"), size[0 if kind == "csr" else 1], integers("indices").numel())
        pair, values = [major, integers("indices").long()], tensor("data")
        if kind == "csc":
            pair.reverse()
    elif kind == "coo":
        pair, values = [integers("row").long(), integers("col").long()], tensor("data")
    elif kind == "bsr":
        pair, values = _blocks(integers("indptr"), integers("indices"), tensor("data"), size)
    elif kind == "dia":
        pair, values = _diagonals(integers("offsets").long(), tensor("data"), size)
    else:
        raise UnsupportedError(f"the archive's format is {kind!r}, expected csr, csc, coo, bsr or dia")
    if values.ndim != 1 or not values.numel() == pair[0].numel() == pair[1].numel():
        counts = " and ".join(str(part.numel()) for part in pair)
        raise FormatError(f"the archive has {counts} indices and values of shape {tuple(values.shape)}")
    indices = torch.stack(pair)
    outside = (indices < 0) | (indices >= torch.tensor(size)[:, None])
    if bool(outside.any()):
        entry = int(outside.any(0).nonzero()[0])
        raise IndexBoundsError(f"entry {entry} is at {tuple(indices[:, entry].tolist())}, outside shape {size}")
    return indices, values, size


def _members(file: IO[bytes]) -> dict[str, bytes]:
    """The .npy files of the layout that are in the archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = [member for member in archive.infolist() if member.filename.removesuffix(".npy") in _MEMBERS]
            size = sum(member.file_size for member in found)
            memory.check(2 * size, 1, "reading the archive's arrays", "the file is damaged, or for a larger machine")
            return {member.filename.removesuffix(".npy"): archive.read(member) for member in found}
    except FormatError:
        raise
    except Exception as error:  # zipfile lets through what its readers and decompressors raise
        raise FormatError(f"not an .npz archive, or a damaged one ({error})") from None


def dump(indices: Tensor, values: Tensor, size: tuple[int, ...]) -> bytes:
    """The archive of a matrix, as CSR."""
    if values.dtype not in _CODES:
        raise DtypeError(f".npz files can't hold {values.dtype}; convert the values first")
    order = packing.sort_order(list(indices), size)
    if order is not None:
        indices, values = indices[:, order], values[order]
    rows, columns = indices
    narrow = packing.index_dtype(size, values.numel())
    copies = 3  # an array, and its bytes without and with a header
    memory.check(copies * (size[0] + 1), narrow.itemsize, "row positions in an .npz file", "write .mtx, or .ttx")
    members = {
        "indices": _bytes(columns.to(narrow)),
        "indptr": _bytes(packing.starts(rows, size[0], narrow)),
        "format": _header("|S3", ()) + b"csr",
        "shape": _bytes(torch.tensor(size, dtype=torch.int64)),
        "data": _bytes(values),
    }
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            # a fixed date: equal matrices make equal files
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def _split(data: bytes, name: str) -> tuple[str, tuple[int, ...], bool, memoryview]:
    """Type code, shape, whether in Fortran's order, and the bytes of an .npy member."""
    try:
        if data[:6] != _MAGIC:
            raise ValueError("no .npy header")
        wide = data[6] > 1
        length = struct.unpack_from("<I" if wide else "<H", data, 8)[0]
        start = (12 if wide else 10) + length
        if length > _LONGEST:
            raise ValueError(f"a header of {length} bytes")
        header = ast.literal_eval(data[start - length : start].decode("latin-1"))
        code, shape, fortran = header["descr"], tuple(header["shape"]), bool(header["fortran_order"])
        if not isinstance(code, str) or not all(isinstance(n, int) and n >= 0 for n in shape):
            raise ValueError("an unusual header")
        if math.prod(max(n, 1) for n in shape) > _ELEMENTS:
            raise ValueError(f"shape {shape}")
    except (ValueError, SyntaxError, LookupError, TypeError, RecursionError, MemoryError, struct.error) as error:
        raise FormatError(f"array {name!r} is malformed ({error})") from None
    return code, shape, fortran, memoryview(data)[start:]


def _array(data: bytes, name: str) -> Tensor:
    code, shape, fortran, payload = _split(data, name)
    if "O" in code:
        raise UnsupportedError(f"array {name!r} holds Python objects, which are never unpickled")
    if code[1:] not in _DTYPES or (code[0] == ">" and code[2:] != "1"):
        raise DtypeError(f"array {name!r} has dtype {code!r}, expected bool or a number in this byte order")
    dtype = _DTYPES[code[1:]]
    count = math.prod(shape)
    if len(payload) != count * dtype.itemsize:
        raise FormatError(f"array {name!r} has {len(payload)} bytes, its shape {shape} needs {count * dtype.itemsize}")
    flat = torch.frombuffer(bytearray(payload), dtype=dtype) if count else torch.empty(0, dtype=dtype)
    return flat.reshape(shape[::-1]).permute(*range(len(shape))[::-1]) if fortran else flat.reshape(shape)


def _text(data: bytes) -> str:
    """A scalar string: bytes, or UTF-32 as NumPy keeps str."""
    code, _, _, payload = _split(data, "format")
    wide = "utf-32-le" if "U" in code else "latin-1"
    return str(payload, wide, "replace").rstrip("\0") if code[1:2] in ("S", "U") else ""


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
    rises = indptr.numel() == extent + 1 and int(indptr[0]) == 0 and int(indptr[-1]) == count
    if not rises or bool((indptr[1:] < indptr[:-1]).any()):
        raise FormatError(f"array 'indptr' does not rise from 0 to {count} in {extent} steps")
    return torch.repeat_interleave(indptr.diff().to(torch.int32 if count <= INT32_MAX else torch.int64)).long()


def _blocks(indptr: Tensor, indices: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[list[Tensor], Tensor]:
    if (
        data.ndim != 3
        or 0 in data.shape[1:]
        or data.shape[0] != indices.numel()
        or any(n % b for n, b in zip(size, data.shape[1:], strict=True))
    ):
        raise FormatError(f"blocks of shape {tuple(data.shape)} don't tile a matrix of shape {size}")
    height, width = data.shape[1:]
    top = _expand(indptr, size[0] // height, indices.numel()) * height
    rows = (top[:, None, None] + torch.arange(height)[:, None]).expand(data.shape)
    columns = (indices.long()[:, None, None] * width + torch.arange(width)).expand(data.shape)
    return [rows.reshape(-1), columns.reshape(-1)], data.reshape(-1)


def _diagonals(offsets: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[list[Tensor], Tensor]:
    if data.ndim != 2 or data.shape[0] != offsets.numel():
        raise FormatError(f"{offsets.numel()} offsets and diagonals of shape {tuple(data.shape)} don't fit")
    columns = torch.arange(data.shape[1]).expand(data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < size[0]) & (columns < size[1]) & (data != 0)
    return [rows[inside], columns[inside]], data[inside]
