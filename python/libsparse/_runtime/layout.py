"""Copies of dense operands and results whose dimensions stand in another order than a kernel or its caller has them."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from types import ModuleType

import torch
from torch import Tensor

from libsparse._storage import threads

from . import blocks

_native: ModuleType | None
try:
    from . import _transposed

    _native = _transposed
except ImportError:  # the package was built without a C compiler
    _native = None

_LEAST = 1 << 12  # elements from which on torch takes longer than what is asked here
_EACH = 1 << 16  # elements for each thread, so that its start costs little


def contiguous(tensor: Tensor, order: Sequence[int] | None = None) -> Tensor:
    """A tensor with its dimensions in an order, contiguous: itself, or a copy.

    Transposed matrices, and batches of them, are copied in blocks: torch takes three times as long.
    """
    if order is not None:
        tensor = tensor.permute(*order)
    if tensor.is_contiguous() or (tensor.requires_grad and torch.is_grad_enabled()):
        return tensor.contiguous()
    found = _in_blocks(tensor)
    if found is None:
        return tensor.contiguous()
    shape, strides, _ = found
    out = blocks.empty(shape, strides, tensor.dtype)
    copy(tensor, out)
    return out


def copy(tensor: Tensor, out: Tensor) -> None:
    """Writes the elements of a tensor to a contiguous one of its shape and dtype, neither of which autograd follows."""
    found = _in_blocks(tensor)
    if found is None or _native is None:
        out.copy_(tensor)
    else:
        shared = threads.shared(tensor.numel(), _EACH)
        _native.copy(out.data_ptr(), tensor.data_ptr(), *found[2], tensor.element_size(), *shared)


def _in_blocks(tensor: Tensor) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """What `_matrices` says of a tensor that is worth copying in blocks, None of others."""
    if _native is None or tensor.numel() < _LEAST or tensor.is_conj() or tensor.is_neg():
        return None
    return _matrices(tensor.shape, tensor.stride())


@functools.lru_cache(maxsize=1024)
def _matrices(
    shape: torch.Size, strides: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Shape and strides of the copy, and how many matrices there are with how many rows and columns.

    Returns:
        Behind these, how far matrices, and rows of the transposed matrices, are apart; None where the tensor is none.
    """
    runs: list[tuple[int, int]] = []
    for extent, stride in zip(shape, strides, strict=True):
        if extent == 1:
            continue
        if runs and runs[-1][1] == extent * stride:
            runs[-1] = (runs[-1][0] * extent, stride)
        else:
            runs.append((extent, stride))
    if len(runs) not in (2, 3) or runs[-2][1] != 1 or runs[-1][1] < runs[-2][0]:
        return None
    (rows, _), (columns, step) = runs[-2:]
    matrices, between = runs[0] if len(runs) == 3 else (1, 0)
    dense = [1]
    for extent in reversed(shape[1:]):
        dense.append(dense[-1] * extent)
    return tuple(shape), tuple(reversed(dense)), (matrices, rows, columns, between, step)
