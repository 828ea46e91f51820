"""Arguments of constructors, checked, and the tensor that they assemble to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops.assemble import assemble
from libsparse._storage import validate
from libsparse._storage.format import Format

from .sparse_tensor import SparseTensor, dress


def assembled(
    coords: Sequence[Tensor],
    values: Tensor | None,
    shape: Sequence[int],
    format: str | Format | None,
    reduce: str = "sum",
) -> SparseTensor:
    """The tensor that coordinates assemble to."""
    assembled: SparseTensor = dress(assemble(list(coords), values, shape, format, reduce))
    return assembled


def given_shape(given: Any, example: str) -> torch.Size:
    """The shape of a tensor of which somebody has the coordinates, from which it can't be told.

    Args:
        given: The shape, None where it was left out.
        example: The least shape that these coordinates fit, as users write it.

    Raises:
        ShapeError: It was left out, or is no sequence of ints that are not negative.
    """
    if given is None:
        raise ShapeError(
            "shape is None; expected a sequence of ints: coordinates do not say how many rows and columns without "
            f"entries are behind them; where there are none, pass shape={example}"
        )
    return validate.shape(given)


def stacked(name: str, given: Any) -> Any:
    """Arrays of coordinates, one a dimension, as one tensor of two dimensions; whatever else was given as it is.

    Raises:
        ShapeError: They have different lengths, or more than one dimension.
        DtypeError: One does not hold integers.
    """
    if not isinstance(given, (list, tuple)) or not any(hasattr(row, "shape") for row in given):
        return given
    rows = [
        validate.index_array(f"{name}[{mode}]", row, expected="(nnz,): the coordinates of a dimension", copy=False)
        for mode, row in enumerate(given)
    ]
    for mode, row in enumerate(rows):
        if row.shape != rows[0].shape:
            raise ShapeError(
                f"{name}[{mode}] has shape {tuple(row.shape)}, {name}[0] has shape {tuple(rows[0].shape)}; expected "
                "arrays of one length, one a dimension"
            )
    wide = torch.int32 if all(row.dtype == torch.int32 for row in rows) else torch.int64
    return torch.stack([row.to(wide) for row in rows])


def split_blocks(shape: torch.Size, name: str, values: Any) -> tuple[torch.Size, tuple[int, ...]]:
    """The sparse dimensions of a shape, and those that are of the values, where these are arrays."""
    if isinstance(values, Tensor):
        on_cpu(name, values)
    ndim = values.ndim - 1 if isinstance(values, Tensor) and values.ndim > 1 else 0
    if not ndim:
        return shape, ()
    if len(shape) <= ndim or shape[-ndim:] != values.shape[1:]:
        raise ShapeError(
            f"{name} has shape {tuple(values.shape)}, shape is {tuple(shape)}; expected {name} (nnz,), or {name} "
            "(nnz, *block) and a shape that ends with the extents of the block"
        )
    return shape[:-ndim], tuple(shape[-ndim:])


def one_an_entry(name: str, given: Any, count: int, block: tuple[int, ...] = ()) -> Tensor | None:
    if given is None:
        return None
    values = validate.tensor(name, given)
    if values.ndim == 0:
        values = values.expand(count)
    if values.shape != (count, *block):
        raise ShapeError(
            f"{name} has shape {tuple(values.shape)}; expected {(count, *block)}, one an entry, or None for a pattern"
        )
    on_cpu(name, values)
    return values


def on_cpu(name: str, value: Tensor) -> None:
    if isinstance(value, SparseTensor):
        raise DtypeError(
            f"{name} is an ls.SparseTensor (shape {tuple(value.shape)}, format {value.format}); expected a strided "
            "tensor, such as its values()"
        )
    if not value.is_cpu or value.layout is not torch.strided:
        raise UnsupportedError(
            f"{name} (shape {tuple(value.shape)}) is {value.layout} on {value.device}; expected a strided tensor on "
            "the CPU: use .cpu(), or .to_dense(), or ls.from_torch for a sparse one"
        )
