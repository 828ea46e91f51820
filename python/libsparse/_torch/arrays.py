"""Functions over dimensions of tensors whose values are arrays, where these are dimensions of the arrays alone.

They are torch's own, of each array; the result has the entries of the tensor, as torch's of a hybrid COO tensor has.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor

from libsparse._ops.indexing.arrays import above_blocks
from libsparse._ops.operands import is_sparse, to_operand
from libsparse._runtime import notes, repeats
from libsparse._runtime.problem import Operand
from libsparse._storage import ordinary
from libsparse._tensor import repeated
from libsparse._tensor.sparse_tensor import dress

_Handler = TypeVar("_Handler", bound=Callable[..., Any])


def within_arrays(compute: Callable[..., Any], *, zero_fill: bool = False) -> Callable[[_Handler], _Handler]:
    """Lets a handler of a function over `dim` leave dimensions of arrays to a function of torch's.

    Args:
        compute: The function, of dense tensors; its arguments are those of the handler.
        zero_fill: Whether it takes no account of elements that are not stored, so that they are 0 in the result.
    """

    def decorate(handler: _Handler) -> _Handler:
        signature = functools.cache(functools.partial(inspect.signature, handler))  # an import has no time for it

        @functools.wraps(handler)
        def call(*args: Any, **kwargs: Any) -> Any:
            input = args[0] if args else kwargs.get(next(iter(signature().parameters)))
            if is_sparse(input) and to_operand(input).sparsity.block:
                options = _given(signature(), args, kwargs)
                found = None if options is None else _computed(compute, to_operand(input), options, zero_fill)
                if found is not None:
                    return found
            return handler(*args, **kwargs)

        repeated.passes_on(call)
        if repeats.is_by_kind(handler):
            repeats.by_kind(call)
        return call  # type: ignore[return-value]

    return decorate


def _given(signature: inspect.Signature, args: Any, kwargs: dict[str, Any]) -> dict[str, Any] | None:
    """The arguments behind the first by their names; None where a handler does not take them, and says so."""
    try:
        given = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    given.apply_defaults()
    return dict(list(given.arguments.items())[1:])


def _computed(compute: Callable[..., Any], source: Operand, options: dict[str, Any], zero_fill: bool) -> Any:
    """What a function makes of each array; None where other dimensions matter, or torch refuses it.

    A result of one dimension is a dense vector, so the handler computes it.
    """
    above = above_blocks(source)
    dims = None if above is None else _within(options.get("dim"), above.ndim, source.ndim)
    if above is None or dims is None or above.ndim < 2 or above.sparsity.format.padded or (zero_fill and source.fill):
        return None
    known = {**options, "dim": dims}
    block = source.sparsity.block
    with ordinary.unseen():  # fill values are known while torch traces, too
        outside = torch.full((1, *block), source.fill, dtype=source.dtype, device="cpu")
        try:
            fills = compute(outside, **known)
        except (IndexError, RuntimeError, TypeError, NotImplementedError):
            return None  # the handler says what is wrong
        several = not isinstance(fills, Tensor)
        numbers = [0 if zero_fill else _number(fill) for fill in (fills if several else (fills,))]
    if None in numbers:
        return None
    shapes = [fill.shape[1:] for fill in (fills if several else (fills,))]

    def of(values: Tensor) -> Any:
        return compute(values.reshape(above.sparsity.size, *block), **known)

    assert source.data is not None
    data = [notes.apply(lambda values: of(values).reshape(-1), source.data)] if not several else of(source.data)
    parts = zip(data, numbers, shapes, strict=True)
    found = [Operand(above.sparsity.with_blocks(s), values.reshape(-1), number or 0) for values, number, s in parts]
    return type(fills)(*map(dress, found)) if several else found[0]


def _within(dim: Any, count: int, ndim: int) -> int | tuple[int, ...] | None:
    """Dimensions counted in arrays of which each is a row; None where one of them is not of the arrays."""
    given = tuple(dim) if isinstance(dim, (tuple, list)) else (dim,)
    if not given or any(type(d) is not int or not -ndim <= d < ndim for d in given):
        return None
    wrapped = tuple(d % ndim - count + 1 for d in given)
    if min(wrapped) < 1 or len(set(wrapped)) < len(wrapped):
        return None
    return wrapped if isinstance(dim, (tuple, list)) else wrapped[0]


def _number(outside: Tensor) -> Any:
    """The value of all elements of a tensor; None where they differ, or there are none."""
    flat = outside.reshape(-1)
    if not flat.numel():
        return 0
    equal = (flat == flat[0]) | ((flat != flat) & (flat[0] != flat[0]))
    return flat[0].item() if bool(equal.all()) else None
