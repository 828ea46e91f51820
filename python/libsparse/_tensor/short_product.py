"""`A @ x` by the short way: only what has to be known of the operands comes before a prepared kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from libsparse._autograd import tape
from libsparse._ops.operands import PLAIN
from libsparse._ops.prepared_products import PreparedProduct
from libsparse._runtime.direct import native
from libsparse._runtime.dispatch import Prepared
from libsparse._storage import threads

_dispatch_modes, _profiled, _autocast, _in_transform, _jit_trace = (
    tape.watchers
)  # called one by one: this is the way of every product
_grad_enabled = torch.is_grad_enabled
_follow = tape.Function.apply


def multiply_in_python(matrix: Any, other: Any) -> Tensor | None:
    """The product of a matrix and a dense operand whose kernel the pattern keeps; None where there is no short way."""
    values: Any = matrix._held
    if type(other) not in PLAIN:
        return None
    try:
        # Nothing is kept for a matrix with a fill value.
        name = other.shape if other.is_contiguous() else (other.shape, other.stride())
        known = matrix._fast.get((None, name) if values is None else name)
        if (
            known is not None
            and other.dtype is (dtype := known.dtype)
            and other.is_cpu
            and not other.is_neg()
            and not other.is_conj()
            and (
                values is None
                or (values.dtype is dtype and values.is_contiguous() and values.numel() == matrix._pattern.size)
            )
            and forward_ad._current_level < 0
            and not _dispatch_modes()
            and not _profiled()
            and not _autocast()
            and _in_transform() is None
            and _jit_trace() is None
        ):
            if _grad_enabled() and (other.requires_grad or (values is not None and values.requires_grad)):
                return _followed(matrix, known, values, other)
            direct = known.variant.direct
            if direct is not None:
                number = threads.count()
                out: Tensor = direct(other, number) if values is None else direct(values, other, number)
                return out
    except RuntimeError:
        pass  # torch's sparse tensors have no strides, those inside of torch.func's transforms no memory
    return None


def multiply_into(matrix: Any, other: Any, out: Any) -> Tensor | None:
    """`out` with the product of a matrix and a contiguous operand, where its kernel can write it there; else None."""
    if type(other) not in PLAIN or type(out) not in PLAIN or tape.is_watched() or forward_ad._current_level >= 0:
        return None
    values: Any = matrix._held
    known = matrix._fast.get(other.shape)
    if values is None or known is None or (direct := known.variant.direct) is None:
        return None
    tensors = values, other, out
    if not all([t.is_cpu and t.dtype is known.dtype and t.layout is torch.strided for t in tensors]):
        return None
    shape = (matrix.shape[0], *other.shape[1:])
    if out.shape != shape or values.numel() != matrix._pattern.size or out.is_inference():
        return None
    if any([t.is_neg() or t.is_conj() or not t.is_contiguous() for t in tensors]):
        return None
    if _grad_enabled() and any([t.requires_grad for t in tensors]):
        return None
    begin, end = _memory(out)
    if any([begin < last and first < end for first, last in map(_memory, (values, other))]):
        return None
    direct(values, other, threads.count(), out=out)
    torch.autograd.graph.increment_version(out)
    return out  # type: ignore[no-any-return]


def _memory(tensor: Tensor) -> tuple[int, int]:
    """Where a contiguous tensor begins and ends."""
    return (begin := tensor.data_ptr()), begin + tensor.nbytes


def _followed(matrix: Any, known: Prepared, values: Tensor | None, other: Tensor) -> Tensor:
    """The product as a node of autograd's graph, the one of the last product where it is the same."""
    node = matrix._node
    if node is None or node.prepared is not known:
        node = matrix._node = PreparedProduct(known, matrix._pattern)
    out: Tensor = _follow(node, values, other)
    return out


def _nothing(*_: Any) -> None:
    """What C would compute, where there is no C."""


multiply_in_c: Callable[[Any, Any], Tensor | None] = _nothing
"""As `multiply_in_python`, where autograd doesn't follow and the dense operand is contiguous; None elsewhere."""

multiply_kept: Callable[[tuple[Any, ...], Any, tuple[int, ...]], Tensor | None] = _nothing
"""The same for two operands of torch's, a table of the SparseTensors kept for the first, and the second's ranks."""

if native is not None:
    native.install(PLAIN, threads, forward_ad, tape.watchers, torch.get_num_threads, Tensor.is_neg, Tensor.is_conj)
    multiply_in_c, multiply_kept = native.multiply, native.multiply_kept
