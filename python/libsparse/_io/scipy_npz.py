"""SciPy's .npz layout of sparse matrices, whose arrays NumPy reads; nothing is unpickled, so no file can run code."""

from __future__ import annotations

import io
import zipfile
from typing import IO, Any

import torch
from torch import Tensor

from libsparse._lang.dtypes import CODES, INT32_MAX
from libsparse._lang.errors import DtypeError, FormatError, IndexBoundsError, LibsparseError, UnsupportedError
from libsparse._storage import memory, packing, sorting

_MEMBERS = ("format", "shape", "data", "indices", "indptr", "row", "col", "offsets")


def load(file: IO[bytes]) -> tuple[Tensor, Tensor, tuple[int, ...]]:
    """Indices (2, nnz), values and shape of the matrix in `file`."""
    members = _members(file)

    def array(name: str) -> Any:
        if name not in members:
            raise FormatError(f"the archive has no array {name!r}; it is not SciPy's layout of a sparse matrix")
        return members[name]

    def tensor(name: str) -> Tensor:
        return _tensor(array(name), name)

    def integers(name: str) -> Tensor:
        row = tensor(name)
        if row.ndim != 1 or row.dtype.is_floating_point or row.dtype.is_complex or row.dtype == torch.bool:
            raise FormatError(f"array {name!r} is {row.dtype} of shape {tuple(row.shape)}, expected a row of integers")
        return row

    kind = array("format").tobytes().replace(b"\0", b"").decode("latin-1")  # bytes, or UTF-32 of str
    size = tuple(integers("shape").tolist())
    if len(size) != 2 or min(size) < 0:
        raise FormatError(f"the archive's shape is {size}, expected two extents")
    if kind in ("csr", "csc"):
        major = _expand(integers("indptr"), size[0 if kind == "csr" else 1], integers("indices").numel())
        minor = integers("indices")
        narrow = major.dtype == minor.dtype == torch.int32
        pair, values = [major, minor] if narrow else [major.long(), minor.long()], tensor("data")
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
    if not all(_is_within(row, extent) for row, extent in zip(indices, size, strict=True)):
        outside = (indices < 0) | (indices >= torch.tensor(size, device="cpu")[:, None])
        entry = int(outside.any(0).nonzero()[0])
        raise IndexBoundsError(f"entry {entry} is at {tuple(indices[:, entry].tolist())}, outside shape {size}")
    return indices, values, size


def _members(file: IO[bytes]) -> dict[str, Any]:
    """The arrays of the layout that are in the archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            found = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
            found = {name: member for name, member in found.items() if name in _MEMBERS}
            size = sum(member.file_size for member in found.values())
            memory.check(3 * size, 1, "reading the archive's arrays", "the file is damaged, or for a larger machine")
            return {name: _array(archive.read(member), name) for name, member in found.items()}
    except LibsparseError:
        raise
    except Exception as error:  # zipfile lets through what its readers and decompressors raise
        raise FormatError(f"not an .npz archive, or a damaged one ({error})") from None


def _array(data: bytes, name: str) -> Any:
    import numpy as np  # optional

    try:
        return np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # whatever Python's parser raises
        if "Object arrays" in str(error):
            raise UnsupportedError(f"array {name!r} holds Python objects, which are never unpickled") from None
        raise FormatError(f"array {name!r} is malformed ({error})") from None


def _tensor(array: Any, name: str) -> Tensor:
    try:
        tensor = torch.from_numpy(array)
    except (TypeError, ValueError):
        tensor = None
    if tensor is None or tensor.dtype not in CODES:
        raise DtypeError(f"array {name!r} has dtype {array.dtype}, expected bool or a number in this byte order")
    return tensor


def dump(indices: Tensor, values: Tensor, size: tuple[int, ...]) -> bytes:
    """The archive of a matrix, as CSR; equal matrices make equal files."""
    import numpy as np  # optional

    if values.dtype not in CODES or values.dtype == torch.bfloat16:
        raise DtypeError(f".npz files can't hold {values.dtype}; convert the values first")
    order = sorting.sort_order(list(indices), size)
    if order is not None:
        indices, values = indices[:, order], values[order]
    rows, columns = indices
    narrow = packing.index_dtype(size, values.numel())
    copies = 3  # an array, and its bytes without and with a header
    memory.check(copies * (size[0] + 1), narrow.itemsize, "row positions in an .npz file", "write .mtx, or .ttx")
    buffer = io.BytesIO()
    np.savez_compressed(
        buffer,
        indices=columns.to(narrow).numpy(),
        indptr=packing.starts(rows, size[0], narrow).numpy(),
        format=np.array(b"csr"),
        shape=np.array(size),
        data=values.numpy(),
    )
    return buffer.getvalue()


def _is_within(row: Tensor, extent: int) -> bool:
    smallest, greatest = row.aminmax() if row.numel() else (0, -1)
    return int(smallest) >= 0 and int(greatest) < extent


def _expand(indptr: Tensor, extent: int, count: int) -> Tensor:
    """The coordinate of every entry, from positions; int32 where these fit."""
    rises = indptr.numel() == extent + 1 and int(indptr[0]) == 0 and int(indptr[-1]) == count
    if not rises or bool((indptr[1:] < indptr[:-1]).any()):
        raise FormatError(f"array 'indptr' does not rise from 0 to {count} in {extent} steps")
    return torch.repeat_interleave(indptr.diff().to(torch.int32 if count <= INT32_MAX else torch.int64))


def _blocks(indptr: Tensor, indices: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[list[Tensor], Tensor]:
    if (
        data.ndim != 3
        or 0 in data.shape[1:]
        or data.shape[0] != indices.numel()
        or any(n % b for n, b in zip(size, data.shape[1:], strict=True))
    ):
        raise FormatError(f"blocks of shape {tuple(data.shape)} don't tile a matrix of shape {size}")
    height, width = data.shape[1:]
    top = _expand(indptr, size[0] // height, indices.numel()).long() * height
    rows = (top[:, None, None] + torch.arange(height, device="cpu")[:, None]).expand(data.shape)
    columns = (indices.long()[:, None, None] * width + torch.arange(width, device="cpu")).expand(data.shape)
    return [rows.reshape(-1), columns.reshape(-1)], data.reshape(-1)


def _diagonals(offsets: Tensor, data: Tensor, size: tuple[int, ...]) -> tuple[list[Tensor], Tensor]:
    if data.ndim != 2 or data.shape[0] != offsets.numel():
        raise FormatError(f"{offsets.numel()} offsets and diagonals of shape {tuple(data.shape)} don't fit")
    columns = torch.arange(data.shape[1], device="cpu").expand(data.shape)
    rows = columns - offsets[:, None]
    inside = (rows >= 0) & (rows < size[0]) & (columns < size[1]) & (data != 0)
    return [rows[inside], columns[inside]], data[inside]
