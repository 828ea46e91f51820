"""Binsparse files: the arrays of a sparse tensor with a description of them, in HDF5 or .npz.

They are read and written by the package `binsparse`, the format's reference implementation
(https://graphblas.org/binsparse-specification).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, FormatError, LibsparseError, ShapeError, UnsupportedError
from libsparse._tensor.sparse_tensor import SparseTensor

ENDINGS = (".bsp.h5", ".bsp.hdf5", ".bsp.npz")
_COMPRESSED = {"csr": "CSRMatrix", "csc": "CSCMatrix", "dcsr": "DCSRMatrix", "dcsc": "DCSCMatrix"}


def _package(path: Path) -> Any:
    try:
        import binsparse  # optional, and slow to import
    except ImportError:
        raise UnsupportedError(f"{path}: Binsparse files need the package binsparse: pip install binsparse") from None
    return binsparse


def write(path: Path, A: SparseTensor) -> None:
    """Writes a tensor: `csr csc dcsr dcsc` as they are, others by their coordinates; a pattern has one value for all.

    Raises:
        UnsupportedError: The package `binsparse` is not installed.
        DtypeError: A dtype that the files can't hold.
        ShapeError: The values are arrays.
    """
    package = _package(path)
    if A.dtype not in dtypes.CODES or A.dtype in (torch.float16, torch.bfloat16):
        raise DtypeError(f"{path}: Binsparse files can't hold {A.dtype}; convert the values first: A.float()")
    pattern, fill = A.pattern, A.fill_value
    if pattern.block:
        raise ShapeError(f"{path}: Binsparse files hold numbers, the entries of this tensor have shape {pattern.block}")
    values = pattern.entries(A.values().detach()).numpy()
    if A._operand().data is None:
        values = torch.ones(1, dtype=torch.bool, device="cpu").expand(A.nnz).numpy()
    common: dict[str, Any] = {"shape": tuple(A.shape), "number_of_stored_values": A.nnz}
    if fill != 0:
        common |= {"fill": True, "fill_value": torch.tensor([fill], dtype=A.dtype, device="cpu").numpy()[0]}
    package.save_binsparse(_described(package, A, common, values), path)


def _described(package: Any, A: SparseTensor, common: dict[str, Any], values: Any) -> Any:
    """The tensor in a format of Binsparse."""
    kind, coords = _COMPRESSED.get(str(A.format)), A.indices().numpy()
    if kind is not None:
        arrays = {"pointers_to_1": A.pos(1), "indices_1": A.crd(1)}
        if kind.startswith("DC"):
            arrays["indices_0"] = A.crd(0)
        given = {name: array.numpy() for name, array in arrays.items() if array is not None}
        return getattr(package, kind)(**common, **given, values=values)
    if A.ndim == 1:
        return package.CVECVector(**common, indices_0=coords[0], values=values)
    if A.ndim == 2:
        return package.COORMatrix(**common, indices_0=coords[0], indices_1=coords[1], values=values)
    level = package.SparseLevel(A.ndim, package.ElementLevel(values), tuple(coords))
    return package.CustomTensor(**common, level=level)


def read(path: Path) -> tuple[Tensor, Tensor | None, tuple[int, ...], float, str | None]:
    """The coordinates, values (None for a pattern), shape, fill value and format of a file.

    Raises:
        UnsupportedError: The package `binsparse` is not installed, or levels that are not known here.
        FormatError: The file is malformed.
    """
    package = _package(path)
    try:
        found = package.load_binsparse(path, alias=True)
        coords, values = _coordinates(found)
        fill = 0 if found.fill is not True else found.fill_value.item()
        pattern = values.dtype == bool and values.strides == (0,) and bool(values.all())
        known = {name: format for format, name in _COMPRESSED.items()}.get(type(found).__name__)
        size = tuple(int(extent) for extent in found.shape)
        return coords, None if pattern else _tensor(values), size, fill, known
    except FileNotFoundError:
        raise
    except (ValueError, TypeError, KeyError, RuntimeError, OSError, package.BinsparseParseError) as error:
        if isinstance(error, LibsparseError):
            raise type(error)(f"{path}: {error}") from None
        raise FormatError(f"{path}: not a Binsparse file, or a damaged one ({error})") from None


def _coordinates(found: Any) -> tuple[Tensor, Any]:
    """The coordinates, a row a dimension, and the values as they are in the file."""
    name = type(found).__name__
    if name in ("DVECVector", "DMATRMatrix", "DMATCMatrix"):
        raise UnsupportedError(f"{name} is dense; read it by the package binsparse, and use ls.tensor(...)")
    if name == "CustomTensor":
        level = found.level
        if level.level_desc != "sparse" or level.level.level_desc != "element":
            raise UnsupportedError("levels other than one list of coordinates; write the tensor as COO")
        order = found.transpose or range(len(found.shape))
        rows = dict(zip(order, map(_tensor, level.indices), strict=True))
        return torch.stack([rows[mode] for mode in range(len(rows))]), level.level.values
    if name == "CVECVector":
        return _tensor(found.indices_0)[None], found.values
    inner = _tensor(found.indices_1)
    if name in ("COORMatrix", "COOCMatrix"):
        return torch.stack([_tensor(found.indices_0), inner]), found.values
    lengths = _tensor(found.pointers_to_1).diff()
    by_columns = name in ("CSCMatrix", "DCSCMatrix")
    outer = (
        _tensor(found.indices_0)
        if name.startswith("DC")
        else torch.arange(found.shape[1 if by_columns else 0], device="cpu")
    )
    if len(lengths) != len(outer):
        raise FormatError(f"{len(lengths) + 1} pointers of {len(outer)} rows; expected one more than rows")
    both = [outer.repeat_interleave(lengths), inner]
    return torch.stack(both[::-1] if by_columns else both), found.values


def _tensor(array: Any) -> Tensor:
    """An array of NumPy as a tensor of a type that libsparse has."""
    wide = {"uint16": "int32", "uint32": "int64", "uint64": "int64"}.get(str(array.dtype))
    return torch.from_numpy(array.astype(wide or array.dtype, order="C"))
