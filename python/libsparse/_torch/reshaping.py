"""torch's functions that give elements other places."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.utils.hooks import BackwardHook

from libsparse._lang.errors import UnsupportedError
from libsparse._ops.indexing import reshaping
from libsparse._ops.operands import is_sparse, to_operand

from .registry import implements, named

implements(*named("squeeze", torch, Tensor), layouts="raises")(reshaping.squeeze)
implements(*named("unsqueeze", torch, Tensor), layouts="raises")(reshaping.unsqueeze)
implements(*named("flatten ravel", torch, Tensor), layouts="raises")(reshaping.flatten)
implements(*named("unfold", Tensor))(reshaping.unfold)
implements(*named("roll", torch, Tensor), layouts="raises")(reshaping.roll)
implements(*named("rot90", torch, Tensor), layouts="raises")(reshaping.rot90)
implements(*named("movedim moveaxis", torch, Tensor), layouts="raises")(reshaping.move)
implements(*named("repeat_interleave", torch, Tensor), layouts="raises")(reshaping.repeat_interleave)
implements(Tensor.__reversed__)(lambda input: reshaping.flip(input, 0) if len(input) else input)


def numbers(given: tuple[Any, ...], named: Any) -> Sequence[Any]:
    """Numbers as torch's methods take them: one after the other, in one sequence, or by name."""
    if named is not None:
        return named if isinstance(named, (list, tuple)) else [named]
    one = len(given) == 1 and isinstance(given[0], (list, tuple))
    found: Sequence[Any] = given[0] if one else given
    return found


@implements(*named("reshape", torch, Tensor), layouts="raises")
def reshape(input: Any, *sizes: Any, shape: Any = None) -> Any:
    """The elements in row-major order under another shape."""
    return reshaping.reshape(input, numbers(sizes, shape))


@implements(Tensor.view)
def view(input: Any, *sizes: Any, size: Any = None, dtype: Any = None) -> Any:
    """As `reshape`: entries are renumbered, values shared."""
    if dtype is not None or any(isinstance(given, torch.dtype) for given in sizes):
        raise UnsupportedError("view(dtype) is not supported on an ls.SparseTensor; use A.map(lambda v: v.view(dtype))")
    return reshaping.reshape(input, numbers(sizes, size))


@implements(*named("view_as", Tensor))
def view_as(input: Any, other: Any) -> Any:
    """As `reshape_as`; torch asks for a view of a tensor as itself where a function of its own returns an argument."""
    if other is input and is_sparse(input) and input.requires_grad and not torch.is_grad_enabled() and _in_hook():
        raise UnsupportedError(
            f"a full backward hook of a module does not see the values of an ls.SparseTensor ({to_operand(input)}) "
            "that requires grad, as an argument or a result of forward, and would lose its gradient; use "
            "A.register_hook, or pass A.values(), of which A.with_values(values) makes the tensor again"
        )
    if other is input and is_sparse(input) and input.requires_grad and torch.is_grad_enabled():
        source = to_operand(input)  # what watches gradients looks for the node of a leaf behind that of its view
        return source.with_data(source.values.view_as(source.values))
    return reshape_as(input, other)


def _in_hook() -> bool:
    """Whether torch takes arguments or results of a module through the function that calls its backward hooks."""
    caller: Any = inspect.currentframe()
    while caller is not None and caller.f_code is not BackwardHook._apply_on_tensors.__code__:
        caller = caller.f_back
    return caller is not None


@implements(*named("reshape_as", Tensor))
def reshape_as(input: Any, other: Any) -> Any:
    """The elements in row-major order under the shape of another tensor."""
    return reshaping.reshape(input, other.shape) if is_sparse(input) else input.reshape(other.shape)


@implements(*named("unflatten", torch, Tensor), layouts="raises")
def unflatten(input: Any, dim: int, sizes: Any) -> Any:
    """One dimension made several."""
    return reshaping.unflatten(input, dim, sizes)


@implements(Tensor.expand, layouts="raises")
def expand(input: Any, *sizes: Any, size: Any = None, implicit: bool = False) -> Any:
    """Dimensions of extent 1 repeated, and new ones in front."""
    return reshaping.expand(input, numbers(sizes, size))


@implements(*named("broadcast_to", torch, Tensor), layouts="raises")
def broadcast_to(input: Any, size: Any) -> Any:
    """As `expand`."""
    return reshaping.expand(input, numbers((size,), None))


@implements(Tensor.expand_as, layouts="raises")
def expand_as(input: Any, other: Any) -> Any:
    """As `expand`, to the shape of another tensor."""
    return reshaping.expand(input, other.shape) if is_sparse(input) else input.expand(other.shape)


@implements(Tensor.repeat, layouts="raises")
def repeat(input: Any, *sizes: Any, repeats: Any = None) -> Any:
    """The tensor side by side with itself."""
    return reshaping.repeat(input, numbers(sizes, repeats))


@implements(*named("tile", torch, Tensor), layouts="raises")
def tile(input: Any, *sizes: Any, dims: Any = None) -> Any:
    """The tensor side by side with itself, so many times along the last dimensions."""
    return reshaping.tile(input, numbers(sizes, dims))


@implements(*named("flip", torch, Tensor), layouts="raises")
def flip(input: Any, *sizes: Any, dims: Any = None) -> Any:
    """The tensor with the order of coordinates reversed in some dimensions."""
    return reshaping.flip(input, numbers(sizes, dims))


def _turned(dim: int) -> Callable[[Any], Any]:
    return lambda input: reshaping.flip(input, dim)


implements(*named("fliplr", torch, Tensor), layouts="raises")(_turned(1))
implements(*named("flipud", torch, Tensor), layouts="raises")(_turned(0))
