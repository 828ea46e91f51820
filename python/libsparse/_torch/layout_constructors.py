"""torch's constructors of sparse tensors whose values autograd follows: torch takes long to find their gradient.

It looks up each coordinate of a COO tensor in a hash table, and makes the gradient of a compressed one dense, while a
gradient that libsparse has computed has the entries of the tensor, in their order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import LibsparseError
from libsparse._ops import layout_patterns, layouts
from libsparse._storage import ordinary

CONSTRUCTORS = {
    "sparse_coo_tensor": 1,
    "sparse_csr_tensor": 2,
    "sparse_csc_tensor": 2,
    "sparse_compressed_tensor": 2,
}
"""torch's names of constructors, with the position of the argument `values`."""

_NAMES = {torch.sparse_coo: "coo", torch.sparse_csr: "csr", torch.sparse_csc: "csc"}


def following(original: Callable[..., Any], position: int) -> Callable[..., Any]:
    """A constructor with the tensors of torch's, whose gradients libsparse takes to the values."""

    @functools.wraps(original)
    def make(*args: Any, **kwargs: Any) -> Any:
        if not torch.is_grad_enabled() or _is_watched():  # a trace has the names of what is found below
            return original(*args, **kwargs)
        placed = len(args) > position
        values = args[position] if placed else kwargs.get("values")
        if not isinstance(values, Tensor) or not _is_followed(values) or kwargs.get("requires_grad"):
            return original(*args, **kwargs)
        plain = values.detach()
        if placed:
            made = original(*args[:position], plain, *args[position + 1 :], **kwargs)
        else:
            made = original(*args, **{**kwargs, "values": plain})
        name = _NAMES.get(made.layout)
        if name is None or not made.is_cpu:
            return original(*args, **kwargs)
        try:
            layout_patterns.look_up(name, made.shape, layout_patterns.index_arrays(made))
        except LibsparseError:  # such as that of a row that isn't sorted
            return original(*args, **kwargs)
        return _Made.apply(values, made, name)

    return make


def _is_watched() -> bool:
    """Whether more than autograd follows what is computed."""
    watched = torch._C._len_torch_dispatch_stack() or torch._C._get_tracing_state() is not None
    return bool(watched) or ordinary.in_transform() is not None


def _is_followed(values: Tensor) -> bool:
    """Whether autograd follows values, and no class of another library."""
    return type(values) in ordinary.PLAIN and values.ndim == 1 and values.requires_grad


class _Made(torch.autograd.Function):
    """One of torch's sparse tensors, of values alone."""

    @staticmethod
    def forward(ctx: Any, values: Tensor, made: Tensor, name: str) -> Tensor:
        ctx.arrays, ctx.shape, ctx.name, ctx.dtype = layout_patterns.index_arrays(made), made.shape, name, values.dtype
        ctx.reads_layouts = True
        ctx.set_materialize_grads(False)
        return made.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, None, None]:
        if grad is None:
            return None, None, None
        known = layout_patterns.look_up(ctx.name, ctx.shape, ctx.arrays)
        if grad.layout is torch.strided:
            found = grad.reshape(-1).index_select(0, known.pattern.linear())
        else:
            source = layouts.read(grad)
            found = known.pattern.resample(source.values, source.sparsity)
        if known.slots is not None:
            found = found.index_select(0, known.slots)
        return found.to(ctx.dtype), None, None
