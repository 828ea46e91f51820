"""Constructors: sparse tensors from coordinates, levels, masks and dense data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, FormatError, ShapeError, UnsupportedError
from libsparse._ops import foreign
from libsparse._ops.assemble import REDUCTIONS, assemble
from libsparse._ops.layouts import pattern_from_levels
from libsparse._storage import validate
from libsparse._storage.format import Format

from .sparse_tensor import SparseTensor, dress


def tensor(data: Any, format: str | Format | None = None, dtype: torch.dtype | None = None) -> SparseTensor:
    """A sparse tensor of the nonzeros of a dense tensor or a nested list; differentiable.

    Args:
        data: Of any rank from 1 on; also a NumPy array, or a SciPy sparse array, whose format is kept.
        format: `csr` for matrices, `s` and `csf` otherwise, by default. Dense formats give a plain tensor.
        dtype: Of the values; by default that of `data`.
    """
    if isinstance(data, SparseTensor):
        wanted = data.format if format is None else Format(format).resolve(data.ndim)
        return (data if dtype is None else data.to(dtype)).to_format(wanted)
    if foreign.is_foreign(data):
        return tensor(dress(foreign.read(data)), format, dtype)
    dense = validate.tensor("data", data)
    _on_cpu("data", dense)
    if dtype is not None:
        dtypes.code(dtype)
        dense = dense.to(dtype)
    dtypes.code(dense.dtype)
    if dense.ndim == 0:
        raise ShapeError("a number has no sparse format; use a plain torch tensor")
    coords = dense.detach().nonzero(as_tuple=True)
    return _tensor(coords, dense[coords], dense.shape, format)


def from_coo(
    indices: Any,
    values: Any,
    shape: Sequence[int],
    format: str | Format | None = None,
    reduce: str = "sum",
    check: bool = True,
) -> SparseTensor:
    """A sparse tensor from coordinates in any order; duplicates are reduced, and autograd follows `values`.

    Args:
        indices: (ndim, nnz), integers.
        values: (nnz,), or None for a tensor that is only a pattern; or (nnz, *block) for values that are arrays, of
            which `shape` has the extents behind those of the `ndim` sparse dimensions.
        shape: The shape.
        format: `csr` for matrices, `s` and `csf` otherwise, by default. Dense formats give a plain tensor.
        reduce: The reduction of duplicates: `sum mean prod max min`.
        check: Whether to verify that every index is within `shape`.

    Raises:
        IndexBoundsError: An index is out of range.
        ShapeError: Lengths do not agree.
    """
    size, block = _blocks(validate.shape(shape), values)
    coords = validate.index_array("indices", indices, 2).to(torch.int64)
    if coords.shape[0] != len(size):
        raise ShapeError(f"indices has {coords.shape[0]} rows, shape {tuple(size)} has {len(size)} dimensions")
    if reduce not in REDUCTIONS:
        raise FormatError(f"from_coo: reduce={reduce!r}; expected one of {', '.join(REDUCTIONS)}")
    vals = _values("values", values, coords.shape[1], block)
    if check:
        for mode, row in enumerate(coords):
            validate.bounds(f"indices[{mode}]", row, size[mode])
    return _tensor(list(coords), vals, size, format, reduce)


def from_csr(crow: Any, col: Any, values: Any, shape: Sequence[int], check: bool = True) -> SparseTensor:
    """A CSR matrix from its arrays; the arrays of indices are copied, autograd follows `values`.

    Args:
        crow: (rows + 1,), where each row starts.
        col: (nnz,), ascending in each row.
        values: (nnz,), or None for a tensor that is only a pattern.
        shape: (rows, columns).
        check: Whether to verify contents, not only lengths.
    """
    return from_levels("csr", shape, [None, crow], [None, col], values, check=check)


def from_csc(ccol: Any, row: Any, values: Any, shape: Sequence[int], check: bool = True) -> SparseTensor:
    """A CSC matrix from its arrays; as `from_csr`.

    Args:
        ccol: (columns + 1,), where each column starts.
        row: (nnz,), ascending in each column.
        values: (nnz,), or None.
        shape: (rows, columns).
        check: Whether to verify contents, not only lengths.
    """
    return from_levels("csc", shape, [None, ccol], [None, row], values, check=check)


def from_bsr(crow: Any, col: Any, values: Any, shape: Sequence[int], check: bool = True) -> SparseTensor:
    """A matrix of dense blocks from the arrays of torch's BSR; blocks may stand out of the shape.

    Args:
        crow: (rows of blocks + 1,), where each row of blocks starts.
        col: (blocks,), ascending in each row, counted in blocks.
        values: (blocks, height, width).
        shape: (rows, columns).
        check: Whether to verify contents, not only lengths.
    """
    blocks = validate.tensor("values", values)
    if blocks.ndim != 3 or 0 in blocks.shape[1:]:
        raise ShapeError(f"values has shape {tuple(blocks.shape)}; expected (blocks, height, width)")
    format = f"bsr({blocks.shape[1]},{blocks.shape[2]})"
    return from_levels(format, shape, [None, crow], [None, col], blocks.reshape(-1), check=check)


def from_levels(
    format: str | Format,
    shape: Sequence[int],
    pos: Sequence[Any],
    crd: Sequence[Any],
    values: Any,
    check: bool = True,
) -> SparseTensor:
    """A sparse tensor of any format from the arrays of its levels.

    Args:
        format: The format.
        shape: The shape.
        pos: Positions of each level, in storage order; None where a level has none.
        crd: Coordinates of each level; None where a level has none.
        values: (nnz,), or None for a tensor that is only a pattern; or (nnz, *block) for values that are arrays, of
            which `shape` has the extents behind its others.
        check: Whether to verify contents, not only lengths.

    Raises:
        FormatError: Positions decrease, coordinates are not sorted, or arrays don't fit the format.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: A length is wrong.
    """
    size, block = _blocks(validate.shape(shape), values)
    pattern = pattern_from_levels(format, size, pos, crd, check)
    return SparseTensor(pattern.with_blocks(block), _values("values", values, pattern.size, block))


def from_edge_index(edge_index: Any, edge_weight: Any = None, num_nodes: int | None = None) -> SparseTensor:
    """The adjacency matrix of PyG's edge list: entry (source, target) for each edge.

    Args:
        edge_index: (2, edges).
        edge_weight: (edges,), or None for a tensor that is only a pattern.
        num_nodes: Rows and columns; by default one more than the largest index.
    """
    edges = validate.index_array("edge_index", edge_index, 2)
    count = num_nodes if num_nodes is not None else (int(edges.max()) + 1 if edges.numel() else 0)
    return from_coo(edges, edge_weight, (count, count))


def from_topk(indices: Any, values: Any, n: int) -> SparseTensor:
    """The matrix whose row i holds `values[i]` at the columns `indices[i]`, as `torch.topk` gives them.

    Args:
        indices: (rows, k).
        values: (rows, k), or None.
        n: The number of columns.

    Raises:
        FormatError: A row has a column twice.
    """
    cols = validate.index_array("indices", indices, 2).to(torch.int64)
    ordered = cols.sort(1).values
    twice = (ordered[:, 1:] == ordered[:, :-1]).nonzero()
    if len(twice):
        row, place = twice[0].tolist()
        raise FormatError(
            f"from_topk: row {row} of indices has {int(ordered[row, place])} twice; "
            "add up repeated ones with from_coo(..., reduce='sum')"
        )
    rows = torch.arange(cols.shape[0]).repeat_interleave(cols.shape[1])
    flat = None if values is None else validate.tensor("values", values).reshape(-1)
    return from_coo(torch.stack([rows, cols.reshape(-1)]), flat, (cols.shape[0], n))


def from_mask(mask: Tensor, format: str | Format | None = None) -> SparseTensor:
    """The pattern of the true elements of a bool tensor, without values.

    Args:
        mask: Of any rank from 1 on.
        format: As in `tensor`.
    """
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        raise DtypeError("from_mask takes a bool tensor; write `x != 0` for another")
    if isinstance(mask, SparseTensor):
        return mask.with_values(None)
    _on_cpu("mask", mask)
    return _tensor(mask.nonzero(as_tuple=True), None, mask.shape, format)


def eye(n: int, m: int | None = None, format: str | Format = "csr", dtype: torch.dtype | None = None) -> SparseTensor:
    """The identity matrix.

    Args:
        n: Rows.
        m: Columns; `n` by default.
        format: The format.
        dtype: Of the values.
    """
    columns = n if m is None else m
    validate.shape((n, columns))
    line = torch.arange(min(n, columns))
    return _tensor([line, line], torch.ones(line.numel(), dtype=dtype), torch.Size((n, columns)), format)


def diag(values: Tensor, format: str | Format = "csr") -> SparseTensor:
    """The square matrix with `values` on its diagonal, all of them stored; differentiable.

    Args:
        values: (n,).
        format: The format.
    """
    values = validate.tensor("values", values)
    if values.ndim != 1:
        raise ShapeError(f"diag takes a vector, got shape {tuple(values.shape)}")
    line = torch.arange(values.shape[0])
    return _tensor([line, line], _values("values", values, line.numel()), torch.Size((line.numel(),) * 2), format)


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
    """
    size = validate.shape(shape)
    if not 0 <= density <= 1:
        raise ShapeError(f"random: density {density} is not between 0 and 1")
    total = math.prod(size)
    if total >= 2**63:
        raise ShapeError(f"random: shape {tuple(size)} has too many elements; draw coordinates for from_coo")
    count = round(total * density)
    if density > 0.1 and total < 2**31:
        flat = torch.randperm(total, generator=generator)[:count]
    else:
        flat = torch.empty(0, dtype=torch.int64)
        while flat.numel() < count:
            more = torch.randint(total, (count - flat.numel() + 16,), generator=generator)
            flat = torch.unique(torch.cat([flat, more]))
        flat = flat[torch.randperm(flat.numel(), generator=generator)[:count]]
    coords = list(torch.unravel_index(flat.sort().values, size))
    return _tensor(coords, torch.randn(count, generator=generator, dtype=dtype), size, format)


def _tensor(
    coords: Sequence[Tensor],
    values: Tensor | None,
    shape: Sequence[int],
    format: str | Format | None,
    reduce: str = "sum",
) -> SparseTensor:
    """The tensor that coordinates assemble to."""
    assembled: SparseTensor = dress(assemble(list(coords), values, shape, format, reduce))
    return assembled


def _blocks(shape: torch.Size, values: Any) -> tuple[torch.Size, tuple[int, ...]]:
    """The sparse dimensions of a shape, and those that are of the values, where these are arrays."""
    ndim = values.ndim - 1 if isinstance(values, Tensor) and values.ndim > 1 else 0
    if not ndim:
        return shape, ()
    if len(shape) <= ndim or shape[-ndim:] != values.shape[1:]:
        raise ShapeError(
            f"values has shape {tuple(values.shape)}, shape is {tuple(shape)}; expected values (nnz,), or values "
            "(nnz, *block) and a shape that ends with the extents of the block"
        )
    return shape[:-ndim], tuple(shape[-ndim:])


def _values(name: str, given: Any, count: int, block: tuple[int, ...] = ()) -> Tensor | None:
    if given is None:
        return None
    values = validate.tensor(name, given)
    if values.ndim == 0:
        values = values.expand(count)
    if values.shape != (count, *block):
        raise ShapeError(f"{name} has shape {tuple(values.shape)}; expected {(count, *block)}, one an entry")
    _on_cpu(name, values)
    return values


def _on_cpu(name: str, value: Tensor) -> None:
    if not value.is_cpu or value.layout is not torch.strided:
        raise UnsupportedError(f"{name} is {value.layout} on {value.device}; expected a strided tensor on the CPU")
