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
