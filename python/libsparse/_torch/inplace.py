"""In-place forms of torch's elementwise functions: the tensor takes the result over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from libsparse._lang.errors import DtypeError, ShapeError, UnsupportedError
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime.problem import Operand
from libsparse._tensor import sharing
from libsparse._tensor.dispatch_table import handlers
from libsparse._tensor.sparse_tensor import SparseTensor, dress

from . import creation, elementwise, linear_algebra, products  # noqa: F401  # whose functions have in-place forms
from .registry import implements

_PRODUCTS = "addmm_ addmv_ addr_ baddbmm_ addbmm_"
_DRAWN = "normal_ uniform_ exponential_ cauchy_ log_normal_ geometric_ random_"
_COMPOUND = {
    "__iadd__": Tensor.__add__,
    "__isub__": Tensor.__sub__,
    "__imul__": Tensor.__mul__,
    "__itruediv__": Tensor.__truediv__,
    "__idiv__": Tensor.__truediv__,
    "__ifloordiv__": Tensor.__floordiv__,
    "__imod__": Tensor.__mod__,
    "__ipow__": Tensor.__pow__,
    "__iand__": Tensor.__and__,
    "__ior__": Tensor.__or__,
    "__ixor__": Tensor.__xor__,
}


def assign(target: SparseTensor, result: Any, name: str) -> SparseTensor:
    """The tensor takes over the entries and values of a result of its shape.

    Values on the same pattern are copied into `target.values()` where autograd doesn't follow them, so that whoever
    holds these sees the change. Another pattern goes to all tensors that share the memory.

    Raises:
        UnsupportedError: The result is dense, or a tensor that shares the memory can't take over its entries.
        ShapeError: It has another shape.
        DtypeError: Its dtype does not convert to that of the tensor, or autograd follows the tensor as a leaf.
    """
    found = to_operand(result)
    if found.pattern is None:
        raise UnsupportedError(f"{name}: the result is dense, which no sparse tensor can take over; use the result")
    if found.shape != target.shape:
        raise ShapeError(f"{name}: the result has shape {tuple(found.shape)}, the tensor {tuple(target.shape)}")
    if not torch.can_cast(found.dtype, target.dtype):
        raise DtypeError(f"{name}: a result of {found.dtype} can't be cast to {target.dtype}, the dtype of the tensor")
    followed = torch.is_grad_enabled() and (target.requires_grad or found.values.requires_grad)
    if followed and target.requires_grad and target.is_leaf:
        raise DtypeError(f"{name}: a leaf that requires grad can't be changed in place; use torch.no_grad()")
    found = dress(found).to(target.dtype).to_format(target.format)._operand()
    own = to_operand(target).data
    if found.pattern is target.pattern and own is not None and not followed:
        own.copy_(found.values)
        found = found.with_data(own)
        sharers = sharing.sharers(target, found, name)
        target._hold(found)
    else:
        if target.pattern.traced:
            what = "values that autograd follows" if found.pattern is target.pattern else "other entries"
            raise UnsupportedError(
                f"{name}: in a compiled graph a tensor ({to_operand(target)}) can't take over {what}, which "
                f"would be lost; return the result of {name.strip('_')}, or call {name} outside of the graph"
            )
        sharers = sharing.sharers(target, found, name)
        keeps_following = target.requires_grad and not followed
        if own is not None and not (followed or own.is_inference()):  # what autograd has saved is out of date
            torch.autograd.graph.increment_version(own)
        target._hold(found.with_data(found.values.detach()) if keeps_following else found)
        if keeps_following:
            target.requires_grad_()
    sharing.spread(sharers, found)
    return target


def _assign_dense(target: Tensor, result: Any, name: str) -> Tensor:
    """A dense tensor takes over a dense result of its shape.

    No error is a TypeError: where `x += A` raises one in `add_`, torch has Python name the result of `x + A` so.

    Raises:
        UnsupportedError: The result is sparse, or its dtype does not convert to that of the tensor.
        ShapeError: It has another shape.
    """
    found = to_operand(result)
    if found.pattern is not None:
        raise UnsupportedError(f"{name}: a dense tensor can't take over a sparse result; use {name.strip('_')}")
    if found.shape != target.shape:
        raise ShapeError(f"{name}: the result has shape {tuple(found.shape)}, the tensor {tuple(target.shape)}")
    if not torch.can_cast(found.dtype, target.dtype):
        raise UnsupportedError(
            f"{name}: a result of {found.dtype} can't be cast to {target.dtype}, the dtype of the tensor"
        )
    return target.copy_(found.values)


def _in_place(compute: Callable[..., Any], name: str) -> Callable[..., Any]:
    def handler(input: Any, *args: Any, **kwargs: Any) -> Any:
        result = compute(input, *args, **kwargs)
        if result is NotImplemented:  # as operators have it
            return result
        return assign(input, result, name) if is_sparse(input) else _assign_dense(input, result, name)

    handler.__name__, handler.__doc__ = name, f"`{name.strip('_')}`, whose result the tensor takes over."
    return handler


def _clear_padding(tensor: SparseTensor) -> SparseTensor:
    """Sets the values that are no entries to 0."""
    pattern, values, _ = tensor._operand()
    if pattern is not None and values is not None and pattern.format.padded:
        values.copy_(pattern.spread(pattern.entries(values)))
    return tensor


def _drawn(name: str) -> Callable[..., Any]:
    def handler(input: Any, *args: Any, **kwargs: Any) -> Any:
        getattr(input.values(), name)(*args, **kwargs)
        return _clear_padding(input)

    handler.__name__, handler.__doc__ = name, f"Draws the stored values as `torch.Tensor.{name}` does."
    return handler


def _register() -> None:
    for name in dir(Tensor):
        function = getattr(Tensor, name)
        if name.endswith("_") and not name.startswith("_") and function not in handlers:
            compute = handlers.get(getattr(Tensor, name[:-1], None)) or handlers.get(getattr(torch, name[:-1], None))
            if compute is not None and name != "requires_grad_":
                implements(function)(_in_place(compute, name))
    for name in _PRODUCTS.split():
        implements(getattr(Tensor, name))(_in_place(handlers[getattr(torch, name[:-1])], name))
    for name in _DRAWN.split():
        implements(getattr(Tensor, name))(_drawn(name))
    for name, operator in _COMPOUND.items():
        implements(getattr(Tensor, name))(_in_place(handlers[operator], name))


@implements(Tensor.zero_)
def zero_(input: Any) -> Any:
    """Sets every element to 0; the entries stay."""
    source = to_operand(input)
    return assign(input, Operand(source.pattern, torch.zeros_like(source.values)), "zero_")


@implements(Tensor.fill_)
def fill_(input: Any, value: Any) -> Any:
    """Sets every element, stored or not, to one number."""
    return assign(input, torch.full_like(input, float(value) if isinstance(value, Tensor) else value), "fill_")


@implements(torch.nn.init.normal_)
def init_normal(tensor: Any, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Any:
    """Draws the stored values from a normal distribution."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


@implements(torch.nn.init.uniform_)
def init_uniform(tensor: Any, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Any:
    """Draws the stored values from a uniform distribution."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


@implements(torch.nn.init.kaiming_uniform_)
def init_kaiming_uniform(
    tensor: Any, a: float = 0, mode: str = "fan_in", nonlinearity: Any = "leaky_relu", generator: Any = None
) -> Any:
    """Draws the stored values as those of a dense weight of this shape; torch's other ways to do so end in these."""
    if tensor.ndim < 2:
        raise ShapeError(
            f"kaiming_uniform_ of a tensor ({tensor._facts()}); expected a weight of two dimensions or more"
        )
    if mode not in ("fan_in", "fan_out"):
        raise UnsupportedError(f"kaiming_uniform_: mode is {mode!r}; expected 'fan_in' or 'fan_out'")
    fan = tensor.shape[1 if mode == "fan_in" else 0] * math.prod(tensor.shape[2:])
    bound = torch.nn.init.calculate_gain(nonlinearity, a) * math.sqrt(3 / max(fan, 1))
    with torch.no_grad():
        return tensor.uniform_(-bound, bound, generator=generator)


@implements(torch.nn.init.constant_)
def init_constant(tensor: Any, val: float) -> Any:
    """Sets the stored values to one number; elements that are not stored stay 0."""
    with torch.no_grad():
        tensor.values().fill_(val)
        return _clear_padding(tensor)


_register()
