"""Softmax over the stored elements of a dimension."""

from __future__ import annotations

import functools
import math
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import MissingKernelError
from libsparse._runtime import dispatch, notes
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format

from .reductions import Groups

_WORTH_KERNEL = 1 << 12  # entries from which on one kernel takes no longer than four calls of torch


def softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The softmax of the stored elements over a dimension; elements that are not stored are 0. Differentiable."""
    groups = _groups(input, dim, dtype)
    source = groups.source
    operands = [Operand(source.pattern, source.data)]
    if not tape.needed(operands) or tape.is_transformed(operands) or tape.is_traced(operands):
        return source._replace(data=weights(groups), fill=0)
    data, _ = tape.follow(Softmax, int(dim), operands)
    return source._replace(data=data, fill=0)


class Softmax(tape.Node):
    """The softmax of a sparse tensor over the dimension `problem`; it keeps the result, which has the gradient."""

    __slots__ = ()

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        self.pattern = self.patterns[0]
        groups = Groups(Operand(self.pattern, datas[0]), self.problem)
        data = tape.repeated(self, "softmax", self.patterns, datas, functools.partial(weights, groups))
        return data, data

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        groups = Groups(Operand(self.patterns[0], datas[0]), self.problem)
        # Where the gradient is to have one of its own, the result has to lead back to the operand.
        result = weights(groups) if kept is None or torch.is_grad_enabled() else kept
        compute = functools.partial(slopes, groups, result, grad)
        return tape.gradients(self, datas, kept, grad, wanted, lambda _: compute())


def weights(groups: Groups) -> Tensor:
    """The values of the softmax over groups."""
    if _writes(groups):  # fresh memory for each of them would take longer than they do
        powers = _powers(groups)
        values = notes.apply(Tensor.div_, powers, groups.at_entries(groups.reduce(powers)))
    else:
        powers = notes.apply(torch.exp, _shifted(groups))
        values = notes.apply(torch.div, powers, groups.at_entries(groups.reduce(powers)))
    return groups.source.sparsity.spread(values)


def slopes(groups: Groups, result: Tensor, grad: Tensor) -> Tensor:
    """The gradient of the values, given the softmax and its gradient: y * (g - sum(y * g))."""
    pattern = groups.source.sparsity
    values, grads = pattern.entries(result), pattern.entries(grad)
    mean = groups.at_entries(groups.reduce(notes.apply(torch.mul, values, grads)))
    if _writes(groups, result, grad):
        return pattern.spread(notes.apply(Tensor.mul_, notes.apply(_subtracted_from, mean, grads), values))
    return pattern.spread(notes.apply(torch.mul, notes.apply(torch.sub, grads, mean), values))


def log_softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The logarithm of the softmax of the stored elements over a dimension. Differentiable."""
    groups = _groups(input, dim, dtype)
    shifted = _shifted(groups)
    total = groups.reduce(notes.apply(torch.exp, shifted))
    values = notes.apply(torch.sub, shifted, groups.at_entries(notes.apply(torch.log, total)))
    return groups.source._replace(data=groups.source.sparsity.spread(values), fill=0)


def _groups(input: Any, dim: int, dtype: torch.dtype | None) -> Groups:
    """The groups of elements over which a softmax is taken, in the dtype in which it is."""
    groups = Groups(input, int(dim))
    if groups.source.fill != -math.inf:
        groups.source.need_zero_fill("softmax")
    if dtype is not None and dtype != groups.source.dtype:
        groups.source = groups.source.with_data(groups.source.values.to(dtype))
    if not groups.source.dtype.is_floating_point:
        raise MissingKernelError(
            f"softmax of {groups.source.dtype}; expected a floating dtype: use A.float() or dtype="
        )
    return groups


def _shifted(groups: Groups) -> Tensor:
    """The entries less the greatest of their groups, whose exponentials don't overflow."""
    return notes.apply(torch.sub, groups.entries, _top_at_entries(groups))


def _top_at_entries(groups: Groups) -> Tensor:
    """The greatest entry of each group, at its entries."""
    top = groups.reduce(groups.entries.detach(), "max")
    return groups.at_entries(notes.apply(_shift, top))


def _powers(groups: Groups) -> Tensor:
    """The exponentials of the entries less the greatest of their groups, in a new tensor.

    Of many entries a kernel computes them: torch, which has other last bits, takes 15 to 40 ns for each that is below
    the normal numbers.
    """
    source, pattern = groups.source, groups.source.sparsity
    if pattern.size < _WORTH_KERNEL or pattern.format.padded or source.dtype not in (torch.float32, torch.float64):
        return notes.apply(torch.exp_, notes.apply(_subtracted_from, _top_at_entries(groups), groups.entries))
    top = notes.apply(_shift, groups.reduce(groups.entries, "max"))
    operands = [Operand(pattern, None), Operand(pattern, source.data), Operand(None, top)]
    values, found = dispatch.run(_exponentials(groups.kept, pattern.format), operands)
    assert found is not None
    return pattern.resample(values, found)


@functools.lru_cache(maxsize=256)
def _exponentials(kept: tuple[int, ...], format: Format) -> Problem:
    """The exponentials of a tensor at the entries of a pattern, less numbers of the kept dimensions."""
    letters = tuple(string.ascii_lowercase[: len(format.order)])
    numbers = tuple(letters[mode] for mode in kept)
    at = ",".join(letters)
    text = f"e({at}) = P({at}) * exp(A({at}) - m({','.join(numbers)}))"
    return Problem(text, True, ("P", "A", "m"), (letters, letters, numbers), letters, format)


def _writes(groups: Groups, *others: Tensor) -> bool:
    """Whether numbers at the entries are new tensors, which nobody follows, so that the next step may write to them."""
    operands = [Operand(None, tensor) for tensor in (groups.source.values, *others)]
    if not groups.kept or tape.needed(operands) or tape.is_transformed(operands):
        return False
    return not tape.is_traced([groups.source, *operands])


def _subtracted_from(numbers: Tensor, entries: Tensor) -> Tensor:
    """The entries less the numbers, in whose place they are written."""
    return torch.sub(entries, numbers, out=numbers)


def _shift(top: Tensor) -> Tensor:
    return torch.nan_to_num(top, nan=math.nan, posinf=math.inf, neginf=0.0)
