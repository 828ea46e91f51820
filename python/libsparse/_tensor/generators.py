"""Tensors of a kind: identities, diagonals and random ones."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._ops.indexing.entries import check_extents, integer
from libsparse._storage import memory, validate
from libsparse._storage.format import Format

from .arguments import assembled, one_an_entry
from .in_graphs import one_node
from .sparse_tensor import SparseTensor


@one_node
def eye(n: int, m: int | None = None, format: str | Format = "csr", dtype: torch.dtype | None = None) -> SparseTensor:
    """The identity matrix.

    Args:
        n: Rows.
        m: Columns; `n` by default.
        format: The format.
        dtype: Of the values.

    Example:
        >>> ls.eye(2, 3).to_dense().tolist()
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    rows = validate.extent("n", n)
    columns = rows if m is None else validate.extent("m", m)
    if dtype is not None:
        dtypes.code(dtype)
    count = min(rows, columns)
    memory.check(count, 24, f"eye({rows}, {columns}) with its coordinates", "pass fewer rows")
    line = torch.arange(count, device="cpu")
    return assembled(
        [line, line], torch.ones(line.numel(), dtype=dtype, device="cpu"), torch.Size((rows, columns)), format
    )


@one_node
def diag(values: Tensor, diagonal: int | str | Format = 0, format: str | Format | None = None) -> SparseTensor:
    """The square matrix with `values` on a diagonal, all of them stored; differentiable.

    Args:
        values: (n,), dense or sparse. Elements that a sparse vector does not store count with its fill value: where
            that is 0, the matrix does not store them, either.
        diagonal: How much the column of each value is larger than its row. A format in this place is the next argument.
        format: The format; `csr` by default.

    Raises:
        ShapeError: `values` is no vector, or the matrix would have extents that do not fit 64 bits.
        DtypeError: `diagonal` is neither an int nor a format.

    Example:
        >>> ls.diag(torch.tensor([1.0, 2.0])).to_dense().tolist()
        [[1.0, 0.0], [0.0, 2.0]]
        >>> ls.diag(torch.tensor([3.0]), 1).to_dense().tolist()
        [[0.0, 3.0], [0.0, 0.0]]
    """
    if format is None and isinstance(diagonal, (str, Format)):
        format, diagonal = diagonal, 0
    offset, wanted = integer("diag: diagonal", diagonal), "csr" if format is None else format
    values = validate.tensor("values", values)
    if values.ndim != 1:
        raise ShapeError(f"values has shape {tuple(values.shape)}; expected a vector (n,); see torch.diag, A.set_diag")
    if isinstance(values, SparseTensor):
        if values.fill_value == 0:
            matrix: SparseTensor = torch.diag(values, offset)  # type: ignore[assignment]
            return matrix.to_format(wanted)
        values = values.to_dense()
    extent = values.shape[0] + abs(offset)
    check_extents([extent], "diag")
    line = torch.arange(values.shape[0], device="cpu")
    coords = [line - offset, line] if offset < 0 else [line, line + offset]
    return assembled(coords, one_an_entry("values", values, line.numel()), torch.Size((extent, extent)), wanted)


@one_node
def random(
    shape: Sequence[int],
    density: float,
    format: str | Format | None = None,
    generator: torch.Generator | None = None,
    dtype: torch.dtype | None = None,
) -> SparseTensor:
    """A tensor with standard normal values at random places.

    Args:
        shape: The shape.
        density: The share of entries that are stored, from 0 to 1.
        format: As in `tensor`.
        generator: Source of randomness.
        dtype: Of the values.

    Example:
        >>> ls.random((10, 10), density=0.2).nnz
        20
    """
    size = validate.shape(shape)
    given: Any = density
    if not isinstance(given, numbers.Real):  # also NumPy's
        raise DtypeError(f"density is a {type(given).__name__}; expected a number from 0 to 1")
    density = float(given)
    if not 0 <= density <= 1:
        raise ShapeError(f"density is {density}; expected a number from 0 to 1")
    if dtype is not None:
        dtypes.code(dtype)
        if not (dtype.is_floating_point or dtype.is_complex):
            raise DtypeError(f"dtype is {dtype}; expected a floating or complex one: values are drawn from a normal")
    if not isinstance(generator, torch.Generator | None):
        raise DtypeError(f"generator is a {type(generator).__name__}; expected a torch.Generator")
    total = math.prod(size)
    if total >= 2**63:
        raise ShapeError(f"shape is {tuple(size)}, which has 2^63 elements or more; draw coordinates for ls.from_coo")
    count = round(total * density)
    memory.check(count, 32, f"{count} entries, density {density} of shape {tuple(size)},", "choose a lower density")
    if density > 0.1 and total < 2**31:
        flat = torch.randperm(total, generator=generator, device="cpu")[:count]
    else:
        flat = torch.empty(0, dtype=torch.int64, device="cpu")
        while flat.numel() < count:
            more = torch.randint(total, (count - flat.numel() + 16,), generator=generator, device="cpu")
            flat = torch.unique(torch.cat([flat, more]))
        flat = flat[torch.randperm(flat.numel(), generator=generator, device="cpu")[:count]]
    rest = flat.sort().values
    coords: list[Tensor] = []
    for extent in reversed(size):
        coords.insert(0, rest % extent)
        rest = rest // extent
    return assembled(coords, torch.randn(count, generator=generator, dtype=dtype, device="cpu"), size, format)
