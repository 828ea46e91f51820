"""SparseTensors that a transform of torch.func has wrapped, as it does with those that it differentiates by.

The wrapper is a plain tensor, so torch asks no SparseTensor about what is done to it. Two functions of autograd, each
the derivative of the other, lead from the wrapper to values that the transform follows, and from gradients of values
to gradients of the wrapper.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch._C import _functorch
from torch._functorch.autograd_function import custom_function_call

from libsparse._lang.errors import UnsupportedError
from libsparse._storage import ordinary
from libsparse._storage.pattern import Pattern

from .dispatch_table import handlers, title
from .sparse_tensor import SparseTensor


def seen(tensor: Any) -> Any:
    """The SparseTensor in a wrapper, on values that the transform follows; any other argument as it is."""
    if type(tensor) is not Tensor:  # as wrappers are
        return tensor
    inner = tensor
    while ordinary.is_wrapped(inner):
        inner = _functorch.get_unwrapped(inner)
    if inner is tensor or not isinstance(inner, SparseTensor):
        return tensor
    operand = inner._operand()
    return SparseTensor(operand.sparsity, _Values.apply(tensor, operand.sparsity), operand.fill)


class _Values(torch.autograd.Function):
    """The values of a tensor."""

    @classmethod
    def apply(cls, tensor: Tensor, pattern: Pattern) -> Any:
        """The values; of a tensor that no transform wraps, those that autograd knows already."""
        return super().apply(tensor, pattern) if ordinary.is_wrapped(tensor) else tensor.values()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.pattern = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, None]:
        return _Whole.apply(grad, ctx.pattern), None

    @staticmethod
    def vmap(info: Any, dims: Any, tensor: Any, pattern: Pattern) -> None:
        raise UnsupportedError(
            f"torch.vmap over a dimension of an ls.SparseTensor ({tensor._operand()}); a batch of values on one "
            "pattern is one: torch.vmap(lambda v: f(A.with_values(v)))(values)"
        )


class _Whole(torch.autograd.Function):
    """The tensor of values."""

    @classmethod
    def apply(cls, values: Tensor, pattern: Pattern) -> Any:
        """The tensor, wrapped as the values are."""
        return super().apply(values, pattern) if ordinary.is_wrapped(values) else SparseTensor(pattern, values)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.pattern = inputs[1]

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Any, None]:
        return _Values.apply(grad, ctx.pattern), None

    @staticmethod
    def vmap(info: Any, dims: Any, values: Tensor, pattern: Pattern) -> tuple[Any, None]:
        """The tensor of a batch of values, which `torch.vmap` stacks when it returns it."""
        outer = ordinary.in_transform()
        level = (0 if outer is None else outer.level()) + 1
        return SparseTensor(pattern, _functorch._add_batch_dim(values, dims[0], level)), None


def _call(function: Any, tensor: Any, *rest: Any) -> Any:
    """A function of autograd of a tensor that the transforms further out have not wrapped."""
    if function is not _Values:
        raise UnsupportedError(
            f"{title(function)} is not supported on an ls.SparseTensor ({tensor._operand()}); work on A.values()"
        )
    return tensor.values()


handlers[custom_function_call] = _call
