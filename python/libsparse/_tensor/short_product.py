"""`A @ x` by the short way: only what has to be known of the operands comes before a prepared kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from libsparse._autograd import tape
from libsparse._compiler import threads
from libsparse._ops.operands import PLAIN
from libsparse._ops.prepared_products import PreparedProduct
from libsparse._runtime.direct import native
from libsparse._runtime.dispatch import Prepared

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
        # Nothing is kept for a matrix without values, or with a fill value.
        known = matrix._fast.get(other.shape if other.is_contiguous() else (other.shape, other.stride()))
        if (
            known is not None
            and values.dtype is (dtype := known.dtype)
            and other.dtype is dtype
            and other.is_cpu
            and not other.is_neg()
            and not other.is_conj()
            and values.is_contiguous()
            and values.numel() == matrix._pattern.size
            and forward_ad._current_level < 0
            and not _dispatch_modes()
            and not _profiled()
            and not _autocast()
            and _in_transform() is None
            and _jit_trace() is None
        ):
            if _grad_enabled() and (other.requires_grad or values.requires_grad):
                return _followed(matrix, known, values, other)
            direct = known.variant.direct
            if direct is not None:
                out: Tensor = direct(values, other, threads.count())
                return out
    except RuntimeError:
        pass  # torch's sparse tensors have no strides, those inside of torch.func's transforms no memory
    return None


def _followed(matrix: Any, known: Prepared, values: Tensor, other: Tensor) -> Tensor:
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
