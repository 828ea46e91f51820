"""MatrixMarket (.mtx, and .ttx of tensors) and FROSTT (.tns): a header, and a line for each entry."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import IO

import torch
from torch import Tensor

from libsparse._lang.errors import FormatError

from .lines import Lines

_FIELDS = ("real", "double", "integer", "pattern", "complex")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric", "hermitian")
_Parts = tuple[Tensor, "Tensor | None", tuple[int, ...]]


def read_mtx(file: IO[bytes], dtype: torch.dtype | None) -> _Parts:
    banner = file.readline().decode("latin-1").lower().split()
    known = len(banner) == 5 and banner[0] == "%%matrixmarket"
    if not known or banner[1] not in ("matrix", "tensor") or banner[2] not in ("coordinate", "array"):
        raise FormatError("line 1: expected '%%MatrixMarket matrix|tensor coordinate|array <field> <symmetry>'")
    what, layout, field, symmetry = banner[1:]
    if field not in _FIELDS or symmetry not in _SYMMETRIES or (layout == "array" and field == "pattern"):
        raise FormatError(f"line 1: no such kind of {what}: {layout} {field} {symmetry}")
    lines = Lines(file, b"%", line=1)
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
    indices, values = mirror(indices, values, symmetry)
    return indices, None if values is None else to_values(values, dtype), shape


def _sizes(lines: Lines, what: str, *, listed: bool) -> list[int]:
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


def _coordinates(lines: Lines, sizes: list[int], field: list[type]) -> tuple[Tensor, Tensor | None]:
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


def mirror(indices: Tensor, values: Tensor | None, symmetry: str) -> tuple[Tensor, Tensor | None]:
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


def read_tns(file: IO[bytes], dtype: torch.dtype | None, shape: Sequence[int] | None) -> _Parts:
    lines = Lines(file, b"#")
    first = lines.next()
    if first is None:
        if shape is None:
            raise FormatError("the file has no entries; give its shape= to read an empty tensor")
        return (
            torch.empty(len(shape), 0, dtype=torch.int64),
            to_values(torch.empty(0, dtype=torch.float64), dtype),
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
    return torch.stack(columns) - 1, to_values(values, dtype), size


def to_values(column: Tensor, dtype: torch.dtype | None) -> Tensor:
    """Values as read: int64, or the default float or complex unless the caller's dtype wants what float64 holds."""
    if column.dtype == torch.int64 or dtype is not None:
        return column
    default = torch.get_default_dtype()
    return column.to(default.to_complex() if column.is_complex() else default)
