"""Functions of autograd that take batches, as iterations do: one element after the other, each with its own end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_legacy_batchedtensor


class Function(torch.autograd.Function):
    """A function that takes batches of `torch.vmap`, with `one_by_one`, and of gradients with `is_grads_batched`."""

    @classmethod
    def apply(cls, *inputs: Any) -> Any:
        """The result; of tensors that hide several, that of each."""
        return of_each(super().apply, *inputs) if any(map(is_batch, inputs)) else super().apply(*inputs)


def one_by_one(function: type[Function]) -> type[Function]:
    """Gives a function its rule for `torch.vmap`, which torch calls without the class."""

    def vmap(info: Any, places: tuple[int | None, ...], *inputs: Any) -> tuple[Any, Any]:
        found = _stacked(function.apply, info.batch_size, inputs, places)
        return found, 0 if isinstance(found, Tensor) else (0,) * len(found)

    function.vmap = staticmethod(vmap)  # type: ignore[method-assign]
    return function


def is_batch(value: Any) -> bool:
    """Whether a tensor hides several, as `is_grads_batched` and torch.autograd.functional make them."""
    return isinstance(value, Tensor) and is_legacy_batchedtensor(value)


def of_each(compute: Callable[..., Any], *inputs: Any) -> Any:
    """What is computed of each of several tensors that one hides, hidden again."""
    level = torch._C._vmapmode_increment_nesting() - 1
    torch._C._vmapmode_decrement_nesting()
    hidden = [is_batch(i) for i in inputs]
    parts = [torch._remove_batch_dim(i, level, 0, 0) if h else i for i, h in zip(inputs, hidden, strict=True)]
    count = next(len(part) for part, h in zip(parts, hidden, strict=True) if h)
    found = _stacked(compute, count, parts, [0 if h else None for h in hidden])
    if isinstance(found, Tensor):
        return torch._add_batch_dim(found, 0, level)
    return tuple(None if part is None else torch._add_batch_dim(part, 0, level) for part in found)


def _stacked(compute: Callable[..., Any], count: int, inputs: Sequence[Any], places: Sequence[int | None]) -> Any:
    each = [
        compute(*(i if p is None else i.select(p, number) for i, p in zip(inputs, places, strict=True)))
        for number in range(count)
    ]
    if isinstance(each[0], Tensor):
        return torch.stack(each)
    return tuple(None if parts[0] is None else torch.stack(parts) for parts in zip(*each, strict=True))
