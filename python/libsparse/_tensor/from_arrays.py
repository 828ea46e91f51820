"""Constructors from the arrays of levels: those of CSR, CSC and BSR, and of any format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from libsparse._lang.errors import DtypeError, FormatError, ShapeError
from libsparse._ops.assemble import compressed_pattern, pattern_from_levels
from libsparse._ops.operands import PLAIN
from libsparse._runtime.problem import Operand
from libsparse._storage import checks, validate
from libsparse._storage.format import Format

from .arguments import given_shape, one_an_entry, split_blocks
from .in_graphs import one_node
from .sparse_tensor import SparseTensor, dress


@one_node
def from_csr(crow: Any, col: Any, values: Any, shape: Sequence[int] | None = None, check: bool = True) -> SparseTensor:
    """A CSR matrix from its arrays; the arrays of indices are copied, autograd follows `values`.

    Args:
        crow: (rows + 1,), where each row starts.
        col: (nnz,), ascending in each row.
        values: (nnz,), or None for a tensor that is only a pattern.
        shape: (rows, columns), which has to be given.
        check: Whether to verify contents, not only lengths. Without it, arrays that are not as described give wrong
            results, or crash the process.

    Example:
        >>> ls.from_csr([0, 1, 2], [1, 0], [2.0, 1.0], (2, 2)).to_dense().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """
    size = given_shape(shape, "(len(crow) - 1, int(col.max()) + 1)")
    return _compressed("csr", (crow, col), values, size, check, checks.Names("crow", "col", "row"))


@one_node
def from_csc(ccol: Any, row: Any, values: Any, shape: Sequence[int] | None = None, check: bool = True) -> SparseTensor:
    """A CSC matrix from its arrays; as `from_csr`.

    Args:
        ccol: (columns + 1,), where each column starts.
        row: (nnz,), ascending in each column.
        values: (nnz,), or None.
        shape: (rows, columns), which has to be given.
        check: Whether to verify contents, not only lengths. Without it, arrays that are not as described give wrong
            results, or crash the process.

    Example:
        >>> ls.from_csc([0, 1, 2], [1, 0], [1.0, 2.0], (2, 2)).to_dense().tolist()
        [[0.0, 2.0], [1.0, 0.0]]
    """
    size = given_shape(shape, "(int(row.max()) + 1, len(ccol) - 1)")
    return _compressed("csc", (ccol, row), values, size, check, checks.Names("ccol", "row", "column"))


@one_node
def from_bsr(crow: Any, col: Any, values: Any, shape: Sequence[int] | None = None, check: bool = True) -> SparseTensor:
    """A matrix of dense blocks from the arrays of torch's BSR; blocks may stand out of the shape.

    Args:
        crow: (rows of blocks + 1,), where each row of blocks starts.
        col: (blocks,), ascending in each row, counted in blocks.
        values: (blocks, height, width).
        shape: (rows, columns), which has to be given.
        check: Whether to verify contents, not only lengths. Without it, arrays that are not as described give wrong
            results, or crash the process.

    Example:
        >>> ls.from_bsr([0, 1], [1], torch.ones(1, 2, 2), (2, 4)).to_dense().tolist()
        [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0]]
    """
    if values is None:
        raise DtypeError("values is None; expected (blocks, height, width): blocks store more than a pattern")
    blocks, called = validate.tensor("values", values), checks.Names("crow", "col", "row of blocks")
    count = validate.index_array("col", col).numel()
    if blocks.ndim != 3 or 0 in blocks.shape[1:] or len(blocks) != count:
        raise ShapeError(
            f"values has shape {tuple(blocks.shape)}; expected (blocks, height, width), with {count} blocks as in col"
        )
    height, width = blocks.shape[1:]
    size = given_shape(shape, f"({height} * (len(crow) - 1), {width} * (int(col.max()) + 1))")
    return _compressed(f"bsr({height},{width})", (crow, col), blocks.reshape(-1), size, check, called)


@one_node
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
        values: (nnz,), or None for a tensor that is only a pattern; or `(nnz, *block)` for values that are arrays, of
            which `shape` has the extents behind its others.
        check: Whether to verify contents, not only lengths. Without it, arrays that are not as described give wrong
            results, or crash the process.

    Raises:
        FormatError: Positions decrease, coordinates are not sorted, or arrays don't fit the format.
        IndexBoundsError: A coordinate is out of range.
        ShapeError: A length is wrong.

    Example:
        >>> ls.from_levels("ss", (3, 3), [[0, 1], [0, 2]], [[1], [0, 2]], [5.0, 6.0]).to_dense().tolist()
        [[0.0, 0.0, 0.0], [5.0, 0.0, 6.0], [0.0, 0.0, 0.0]]
    """
    size, block = split_blocks(validate.shape(shape), "values", values)
    pattern = pattern_from_levels(format, size, pos, crd, check)
    return SparseTensor(pattern.with_blocks(block), one_an_entry("values", values, pattern.size, block))


def _compressed(
    format: str, arrays: tuple[Any, Any], values: Any, whole: torch.Size, check: bool, called: checks.Names
) -> SparseTensor:
    """A matrix of two levels, of which the second has these arrays; `called` names them in messages."""
    if type(values) in PLAIN and values.ndim == 1 and values.layout is torch.strided and values.is_cpu:
        known = compressed_pattern(format, whole, *arrays, check)
        if known is not None and known.size == values.numel():
            tensor: SparseTensor = dress(Operand(known, values))
            return tensor
    size, block = split_blocks(whole, "values", values)
    if len(size) != 2:
        raise FormatError(f"shape is {tuple(size)}; expected (rows, columns), the 2 dimensions of format {format}")
    pos, crd = arrays
    pattern = pattern_from_levels(format, size, [None, pos], [None, crd], check, called)
    return SparseTensor(pattern.with_blocks(block), one_an_entry("values", values, pattern.size, block))
