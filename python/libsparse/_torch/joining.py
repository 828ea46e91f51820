"""torch's functions that put tensors together, and take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import ShapeError
from libsparse._ops import agreement
from libsparse._ops.indexing import joining
from libsparse._ops.operands import plain_number, to_operand
from libsparse._tensor.in_graphs import one_node
from libsparse._tensor.sparse_tensor import dress

from .registry import implements, named

implements(*named("cat concat concatenate", torch), layouts="raises")(joining.cat)
implements(torch.stack, layouts="raises")(joining.stack)
implements(torch.hstack, layouts="raises")(joining.hstack)
implements(torch.vstack, torch.row_stack, layouts="raises")(joining.vstack)
implements(torch.block_diag, layouts="raises")(joining.block_diag)


def _several(function: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The handler of a function with several results."""

    def handler(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return tuple(map(dress, function(*args, **kwargs)))

    handler.__name__, handler.__doc__ = function.__name__, function.__doc__
    return handler


@implements(Tensor.split, layouts="raises")
@one_node
def split(input: Any, split_size: Any, dim: int = 0) -> tuple[Any, ...]:
    """The tensor in pieces of an extent, or of several, along a dimension."""
    return tuple(map(dress, joining.split(input, split_size, dim)))


implements(*named("split", torch), *named("split_with_sizes", torch, Tensor), layouts="raises")(_several(joining.split))
implements(*named("chunk", torch, Tensor), layouts="raises")(_several(joining.chunk))
implements(*named("tensor_split", torch, Tensor), layouts="raises")(_several(joining.tensor_split))
implements(*named("unbind", torch, Tensor), layouts="raises")(_several(joining.unbind))


def _split_along(name: str, dim: int) -> Callable[..., tuple[Any, ...]]:
    """`hsplit`, `vsplit` or `dsplit`: a split into equal pieces, or before coordinates, along one dimension."""

    def handler(input: Any, indices_or_sections: Any) -> tuple[Any, ...]:
        mode = 0 if name == "hsplit" and input.ndim == 1 else dim
        least = {"hsplit": 1, "vsplit": 2, "dsplit": 3}[name]
        if input.ndim < least:
            raise ShapeError(f"{name}: the tensor ({to_operand(input)}) has {input.ndim} dimensions; expected {least}")
        extent, indices_or_sections = input.shape[mode], plain_number(indices_or_sections)
        if isinstance(indices_or_sections, int) and (indices_or_sections < 1 or extent % indices_or_sections):
            raise ShapeError(f"{name}: {indices_or_sections} pieces don't divide dimension {mode} of extent {extent}")
        return joining.tensor_split(input, indices_or_sections, mode)

    handler.__name__, handler.__doc__ = (
        name,
        f"The tensor in equal pieces of dimension {dim}, or cut before coordinates.",
    )
    return handler


for _name, _dim in (("hsplit", 1), ("vsplit", 0), ("dsplit", 2)):
    implements(*named(_name, torch, Tensor), layouts="raises")(_several(_split_along(_name, _dim)))


def _at_least(ndim: int) -> Callable[..., Any]:
    """`atleast_2d` or its neighbours: the tensor, or each of several, with dimensions of extent 1 added."""

    def handler(*tensors: Any) -> Any:
        given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
        raised = tuple(tensor[_added(tensor.ndim, ndim)] for tensor in given)
        return raised[0] if len(tensors) == 1 and given is tensors else raised

    handler.__name__ = f"atleast_{ndim}d"
    return handler


def _added(ndim: int, wanted: int) -> tuple[Any, ...]:
    """The key that adds dimensions: before those of a row, and after those of a matrix."""
    before = (None,) * min(1, max(0, wanted - ndim)) if ndim == 1 else (None,) * (wanted - ndim if ndim == 0 else 0)
    return (*before, ..., *(None,) * max(0, wanted - ndim - len(before)))


for _ndim in (1, 2, 3):
    implements(getattr(torch, f"atleast_{_ndim}d"))(_at_least(_ndim))


@implements(torch.column_stack, layouts="raises")
def column_stack(tensors: Sequence[Any]) -> Any:
    """Matrices, and rows as columns, side by side."""
    return joining.cat([tensor[:, None] if tensor.ndim == 1 else tensor for tensor in tensors], 1)


@implements(torch.dstack, layouts="raises")
def dstack(tensors: Sequence[Any]) -> Any:
    """Tensors along their third dimension, which those of fewer get."""
    return joining.cat([tensor[_added(tensor.ndim, 3)] for tensor in tensors], 2)


@implements(torch.broadcast_tensors)
def broadcast_tensors(*tensors: Any) -> tuple[Any, ...]:
    """Each tensor expanded to the shape that all of them broadcast to."""
    given = tensors[0] if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else tensors
    shape = agreement.broadcast(*(tensor.shape for tensor in given))
    if shape is None:
        raise ShapeError(f"broadcast_tensors: {', '.join(str(to_operand(t)) for t in given)} do not broadcast")
    return tuple(tensor.expand(shape) for tensor in given)
