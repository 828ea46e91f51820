"""Constructors: sparse tensors from coordinates, masks and dense data."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang import dtypes
from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._ops import foreign, layouts
from libsparse._ops.assemble import REDUCTIONS, of_nonzeros
from libsparse._ops.indexing import masked
from libsparse._ops.operands import to_operand
from libsparse._storage import validate
from libsparse._storage.fakes import is_fake
from libsparse._storage.format import Format

from .arguments import assembled, given_shape, on_cpu, one_an_entry, split_blocks, stacked
from .from_arrays import from_csr
from .in_graphs import one_node
from .sparse_tensor import SparseTensor, dress


@one_node
def tensor(data: Any, format: str | Format | None = None, dtype: torch.dtype | None = None) -> SparseTensor:
    """A sparse tensor of the nonzeros of a dense tensor or a nested list; differentiable.

    Args:
        data: Of any rank from 1 on; also a NumPy array; a sparse array of torch, SciPy or PyData, whose format and fill
            value are kept; a matrix of torch_sparse, as PyG's `adj_t`, differentiable; or a graph of NetworkX: its
            adjacency matrix, of the edges' `weight`.
        format: `csr` for matrices, `s` and `csf` otherwise, by default. Dense formats give a plain tensor.
        dtype: Of the values; by default that of `data`.

    Example:
        >>> ls.tensor([[0.0, 2.0], [1.0, 0.0]], format="coo").nnz
        2
    """
    if isinstance(data, SparseTensor):
        wanted = data.format if format is None else Format(format).resolve(data.ndim)
        return (data if dtype is None else data.to(dtype)).to_format(wanted)
    if isinstance(data, Tensor) and data.layout is not torch.strided:
        return tensor(dress(layouts.read(data, compared=True)), format, dtype)
    if foreign.is_foreign(data):
        return tensor(dress(foreign.read(data)), format, dtype)
    if foreign.is_of_torch_sparse(data):
        row, col, values = data.coo()
        shape = (*data.sparse_sizes(), *(() if values is None else values.shape[1:]))
        return tensor(from_coo((row, col), values, shape, format), dtype=dtype)
    if foreign.is_graph(data):
        return tensor(dress(foreign.read_graph(data, format)), dtype=dtype)
    dense = validate.tensor("data", data, written=False)
    on_cpu("data", dense)
    if dtype is not None:
        dtypes.code(dtype)
        dense = dense.to(dtype)
    dtypes.code(dense.dtype)
    if dense.ndim == 0:
        raise ShapeError("data has no dimensions, shape (), which no sparse format stores; use a plain torch tensor")
    if dense.dtype == torch.bool:
        coords = dense.nonzero(as_tuple=True)
        return assembled(coords, dense[coords], dense.shape, format)
    found: SparseTensor = dress(of_nonzeros(dense, format))
    return found


@one_node
def from_coo(
    indices: Any,
    values: Any,
    shape: Sequence[int] | None = None,
    format: str | Format | None = None,
    reduce: str = "sum",
    check: bool = True,
) -> SparseTensor:
    """A sparse tensor from coordinates in any order; duplicates are reduced, and autograd follows `values`.

    Args:
        indices: (ndim, nnz), integers; or a sequence of ndim arrays (nnz,), such as `(row, col)` and what
            `torch.where(mask)` returns.
        values: (nnz,), or None for a tensor that is only a pattern; or `(nnz, *block)` for values that are arrays, of
            which `shape` has the extents behind those of the `ndim` sparse dimensions.
        shape: The shape, which has to be given: indices don't say which rows behind the last entry are there.
        format: `csr` for matrices, `s` and `csf` otherwise, by default. Dense formats give a plain tensor.
        reduce: The reduction of duplicates: `sum mean prod max min`.
        check: Whether to verify that every index is within `shape`; without it, others crash the process.

    Raises:
        IndexBoundsError: An index is out of range.
        ShapeError: Lengths do not agree, or there is no shape.

    Example:
        >>> ls.from_coo([[0, 1, 1], [1, 0, 0]], [2.0, 1.0, 3.0], (2, 2)).to_dense().tolist()
        [[0.0, 2.0], [4.0, 0.0]]
    """
    size = given_shape(shape, "(int(row.max()) + 1, int(col.max()) + 1)")
    return _from_coo(("indices", stacked("indices", indices)), ("values", values), size, format, reduce, check)


def _from_coo(
    coordinates: tuple[str, Any],
    numbers: tuple[str, Any],
    shape: torch.Size,
    format: str | Format | None = None,
    reduce: str = "sum",
    check: bool = True,
) -> SparseTensor:
    """What `from_coo` does, of arguments with their names for messages."""
    name, indices = coordinates
    size, block = split_blocks(shape, *numbers)
    coords = validate.index_array(name, indices, 2, "(ndim, nnz): a row of coordinates a dimension", copy=False)
    if coords.shape[0] != len(size):
        raise ShapeError(
            f"{name} has shape {tuple(coords.shape)}; expected {len(size)} rows, one a sparse dimension of shape "
            f"{tuple(shape)}: transpose it?"
        )
    if not isinstance(reduce, str) or reduce not in REDUCTIONS:
        raise FormatError(f"from_coo: reduce={reduce!r}; expected one of {', '.join(REDUCTIONS)}")
    vals, rows = one_an_entry(*numbers, coords.shape[1], block), coords.unbind()
    if check and not (len(rows) > 0 and validate.within(coords, min(size))):  # one look where that is enough
        for mode, row in enumerate(rows):
            validate.bounds(f"{name}[{mode}]", row, size[mode], meaning=f"dimension {mode} of shape {tuple(shape)}")
    return assembled(rows, vals, size, format, reduce)


@one_node
def from_edge_index(edge_index: Any, edge_weight: Any = None, num_nodes: int | None = None) -> SparseTensor:
    """The adjacency matrix of PyG's edge list: entry (source, target) for each edge.

    An edge that is listed several times is one entry: its weights are added up. Without weights it counts once.

    Args:
        edge_index: (2, edges), or two arrays (edges,).
        edge_weight: (edges,), or None for a tensor that is only a pattern.
        num_nodes: Rows and columns; by default one more than the largest index.

    Raises:
        ShapeError: `edge_index` has another shape, or `num_nodes` is a pair.
        DtypeError: `edge_weight` is an integer, as if it were `num_nodes`.

    Example:
        >>> ls.from_edge_index([[0, 1], [1, 2]], num_nodes=3).indices().tolist()
        [[0, 1], [1, 2]]
    """
    given, expected = stacked("edge_index", edge_index), "(2, edges): sources and targets"
    edges = validate.index_array("edge_index", given, 2, expected, copy=False)
    if len(edges) != 2:
        raise ShapeError(f"edge_index has shape {tuple(edges.shape)}; expected (2, edges): sources and targets")
    if type(edge_weight) is int:
        raise DtypeError(f"edge_weight is the number {edge_weight}; expected (edges,): num_nodes={edge_weight}?")
    if isinstance(num_nodes, (tuple, list)):
        raise ShapeError(
            f"num_nodes is {num_nodes!r}; expected one number, of rows and columns: for a matrix from senders to "
            f"receivers write ls.from_coo(edge_index, edge_weight, shape={tuple(num_nodes)!r})"
        )
    if num_nodes is None:
        count = max(int(edges.max()) + 1, 0) if edges.numel() else 0
    else:
        count = validate.extent("num_nodes", num_nodes)
    return _from_coo(("edge_index", edges), ("edge_weight", edge_weight), torch.Size((count, count)))


@one_node
def from_topk(indices: Any, values: Any, n: int) -> SparseTensor:
    """The matrix whose row i holds `values[i]` at the columns `indices[i]`, as `torch.topk` gives them.

    Args:
        indices: (rows, k).
        values: (rows, k), or None.
        n: The number of columns.

    Raises:
        FormatError: A row has a column twice.

    Example:
        >>> values, indices = torch.tensor([[1.0, 5.0, 3.0]]).topk(2)
        >>> ls.from_topk(indices, values, 3).to_dense().tolist()
        [[0.0, 5.0, 3.0]]
    """
    cols = validate.index_array("indices", indices, 2, "(rows, k), as torch.topk gives it").to(torch.int64)
    columns = validate.extent("n", n)
    ordered, places = cols.sort(1)
    twice = (ordered[:, 1:] == ordered[:, :-1]).nonzero() if not is_fake(cols) else cols[:0]
    if len(twice):
        row, place = twice[0].tolist()
        raise FormatError(
            f"from_topk: row {row} of indices has {int(ordered[row, place])} twice; "
            "add up repeated ones with from_coo(..., reduce='sum')"
        )
    validate.bounds("indices", cols.reshape(-1), columns, meaning=f"a column of the {columns} that n says")
    given = None if values is None else validate.tensor("values", values)
    if given is not None and given.shape != cols.shape:
        raise ShapeError(f"values has shape {tuple(given.shape)}; expected {tuple(cols.shape)}, the shape of indices")
    rows, k = cols.shape
    starts = torch.arange(rows + 1, device="cpu") * k  # rows are in order, so that CSR's arrays are at hand
    flat = None if given is None else given.gather(1, places).reshape(-1)
    return from_csr(starts, ordered.reshape(-1), flat, (rows, columns), check=False)


@one_node
def from_mask(mask: Any, format: str | Format | None = None) -> SparseTensor:
    """The pattern of the true elements of a bool tensor, or of an array of NumPy, without values.

    Args:
        mask: Of any rank from 1 on.
        format: As in `tensor`.

    Example:
        >>> ls.from_mask(torch.eye(2) > 0).indices().tolist()
        [[0, 1], [0, 1]]
    """
    if not isinstance(mask, Tensor) and hasattr(mask, "__array__"):
        mask = validate.tensor("mask", mask, written=False)
    if not isinstance(mask, Tensor) or mask.dtype != torch.bool:
        kind = f"{mask.dtype} tensor" if isinstance(mask, Tensor) else type(mask).__name__
        raise DtypeError(f"mask is a {kind}; expected a bool tensor: write `x != 0` for another")
    if isinstance(mask, SparseTensor):
        found: SparseTensor = dress(masked.true_entries(to_operand(mask), format))
        return found
    if mask.ndim == 0:
        raise FormatError("mask has no dimensions, shape (), which no sparse format stores")
    on_cpu("mask", mask)
    pattern: SparseTensor = dress(of_nonzeros(mask, format))
    return pattern
