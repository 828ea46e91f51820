"""torch's sparse tensors as SparseTensors, kept for the next call: a product under `ls.enable()` costs little more."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from libsparse._ops import layout_patterns, layouts
from libsparse._tensor.sparse_tensor import SparseTensor, dress

_KEPT = 256


class Kept(NamedTuple):
    """A SparseTensor with the values of one of torch's tensors, and whatever says that it still has them.

    `is_current` in `_runtime/direct.c` reads the attributes in this order.

    Attributes:
        source: The tensor, weakly.
        version: Its version counter.
        arrays: Its index arrays, which share their version counters with those of the tensor.
        versions: The version counters of these.
        tensor: The SparseTensor, which shares the memory of the values.
    """

    source: Callable[[], Any]
    version: int
    arrays: tuple[Tensor, ...]
    versions: tuple[int, ...]
    tensor: SparseTensor


kept: dict[int, Kept] = {}
"""What is kept, by the identities of tensors."""


def wrapped(source: Any) -> SparseTensor | None:
    """The SparseTensor that is kept for a matrix and shares its values; None where there is none."""
    known = kept.get(id(source))
    if known is None or known.source() is not source or source._version != known.version or source.requires_grad:
        return None
    first, last = known.arrays[0], known.arrays[-1]
    return known.tensor if first._version == known.versions[0] and last._version == known.versions[-1] else None


def wrap(source: Tensor) -> SparseTensor:
    """A SparseTensor of the entries of one of torch's sparse tensors; autograd follows `source`."""
    tensor: SparseTensor = dress(layouts.read(source))
    if source.requires_grad or source.is_inference() or source.ndim != 2:
        return tensor
    values = source._values() if source.layout is torch.sparse_coo else source.values()
    shared = tensor.values().data_ptr() == values.data_ptr() and tensor.values().shape == values.shape
    arrays = layout_patterns.index_arrays(source)
    if shared and not any(array.is_inference() for array in arrays):
        for old in list(kept)[: len(kept) + 1 - _KEPT]:
            kept.pop(old, None)
        versions = tuple(array._version for array in arrays)
        key = id(source)
        reference = weakref.ref(source, lambda _: kept.pop(key, None))
        kept[key] = Kept(reference, source._version, arrays, versions, tensor)
    return tensor
