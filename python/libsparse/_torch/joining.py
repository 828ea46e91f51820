"""torch's functions that put tensors together, and take them apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.data._utils.collate import default_collate_fn_map

from libsparse._ops.indexing import joining
from libsparse._tensor.sparse_tensor import SparseTensor, dress

from .registry import implements, named

implements(*named("cat concat concatenate", torch), layouts="raises")(joining.cat)
implements(torch.stack, layouts="raises")(joining.stack)
implements(torch.hstack, layouts="raises")(joining.hstack)
implements(torch.vstack, torch.row_stack, layouts="raises")(joining.vstack)
implements(torch.block_diag)(joining.block_diag)


def _several(function: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """The handler of a function with several results."""

    def handler(*args: Any, **kwargs: Any) -> tuple[Any, ...]:
        return tuple(map(dress, function(*args, **kwargs)))

    handler.__name__, handler.__doc__ = function.__name__, function.__doc__
    return handler


implements(Tensor.split, layouts="raises")(
    _several(lambda input, split_size, dim=0: joining.split(input, split_size, dim))
)
implements(*named("split", torch), *named("split_with_sizes", torch, Tensor), layouts="raises")(_several(joining.split))
implements(*named("chunk", torch, Tensor), layouts="raises")(_several(joining.chunk))
implements(*named("tensor_split", torch, Tensor), layouts="raises")(_several(joining.tensor_split))
implements(*named("unbind", torch, Tensor), layouts="raises")(_several(joining.unbind))


def collate(batch: Sequence[Any], *, collate_fn_map: Any = None) -> Any:
    """The items of a DataLoader's batch along a new first dimension; they may differ in their numbers of entries."""
    return dress(joining.stack(batch))


default_collate_fn_map[SparseTensor] = collate
