"""torch's sparse tensors as SparseTensors, kept for the next call: a product under `ls.enable()` costs little more."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.records import NamedTuple
from libsparse._ops import layout_patterns, layouts
from libsparse._storage import ordinary
from libsparse._tensor.sparse_tensor import SparseTensor, dress

_KEPT = 256


class Kept(NamedTuple):
    """A SparseTensor with the values of one of torch's tensors, and whatever says that it still has them.

    `is_current` in `_runtime/multiply.c` reads the attributes in this order.

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
    if known is None or known.source() is not source or source._version != known.version:
        return None
    first, last = known.arrays[0], known.arrays[-1]
    if first._version != known.versions[0] or last._version != known.versions[-1]:
        return None
    return _current(source, known)


def wrap(source: Tensor) -> SparseTensor:
    """A SparseTensor of the entries of one of torch's sparse tensors; autograd follows `source`."""
    with ordinary.not_seen(source):
        return _wrap(source)


def _wrap(source: Tensor) -> SparseTensor:
    if source.is_inference() or source.ndim != 2 or ordinary.is_wrapped(source):
        return dress(layouts.read(source))  # type: ignore[no-any-return]
    plain = source.detach() if source.requires_grad else source
    tensor: SparseTensor = dress(layouts.read(plain))
    values = plain._values() if plain.layout is torch.sparse_coo else plain.values()
    shared = tensor.values().data_ptr() == values.data_ptr() and tensor.values().shape == values.shape
    arrays = layout_patterns.index_arrays(plain)
    if shared and not any(array.is_inference() for array in arrays):
        for old in list(kept)[: len(kept) + 1 - _KEPT]:
            kept.pop(old, None)
        versions = tuple(array._version for array in arrays)
        key = id(source)
        reference = weakref.ref(source, lambda _: kept.pop(key, None))
        kept[key] = Kept(reference, source._version, arrays, versions, tensor)
        return _current(source, kept[key])
    return dress(layouts.read(source))  # type: ignore[no-any-return]


def _current(source: Tensor, known: Kept) -> SparseTensor:
    """What is kept for a matrix, with values that autograd follows to it where it does."""
    if not (source.requires_grad and torch.is_grad_enabled()):
        return known.tensor
    followed: SparseTensor = dress(layouts.read_followed(source, known.tensor._pattern, known.arrays))
    return followed
