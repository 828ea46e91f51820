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
from libsparse._runtime.repeats import by_kind
from libsparse._storage.format import Format

from . import rowwise
from .indexing.entries import integer
from .reductions import Groups

_WORTH_KERNEL = 1 << 12  # entries from which on one kernel takes no longer than four calls of torch
_LANES = 16  # elements of a vector at most
_FEW = 1 << 15  # elements, of which calls of several kernels take longer than exponentials
# What is computed row by row, as rowwise.compute reads it: {0} are the values, {1} the gradient of the result.
_SOFTMAX = "m({k}) max= {0}; s({k}) = sum({P} * exp({0} - m({k}))); {Y} = {P} * exp({0} - m({k})) / s({k})"
_LOG_SOFTMAX = "m({k}) max= {0}; s({k}) = sum({P} * exp({0} - m({k}))); {Y} = {P} * ({0} - m({k}) - log(s({k})))"
_LOG_SLOPES = "s({k}) = sum({1}); {Y} = {P} * ({1} - exp({0}) * s({k}))"
_SLOPES = "s({k}) = sum({0} * {1}); {Y} = {0} * ({1} - s({k}))"


@by_kind
def softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The softmax of the stored elements over a dimension; elements that are not stored are 0. Differentiable."""
    return _followed(Softmax, _groups(input, dim, dtype), dim)


@by_kind
def log_softmax(input: Any, dim: int, dtype: torch.dtype | None = None) -> Any:
    """The logarithm of the softmax of the stored elements over a dimension. Differentiable."""
    return _followed(LogSoftmax, _groups(input, dim, dtype), dim)


def _followed(node: type[Softmax], groups: Groups, dim: int) -> Operand:
    """The result of a node, which autograd follows where it has to."""
    source = groups.source
    operands = [Operand(source.pattern, source.data)]
    if not tape.needed(operands) or tape.is_transformed(operands) or tape.is_traced(operands):
        data = node.compute(rowwise.folded(groups))
    else:
        data, _ = tape.follow(node, int(dim), operands)
    return source._replace(data=data, fill=0)


class Softmax(tape.Node):
    """The softmax of a sparse tensor over the dimension `problem`; it keeps the result, which has the gradient."""

    __slots__ = ()
    by_kind = True

    @staticmethod
    def compute(groups: Groups) -> Tensor:
        """The result."""
        return weights(groups)

    @staticmethod
    def slopes(groups: Groups, result: Tensor, grad: Tensor) -> Tensor:
        """The gradient of the values, given the result and its gradient."""
        return slopes(groups, result, grad)

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        self.pattern = self.patterns[0]
        groups = rowwise.folded(Groups(Operand(self.pattern, datas[0]), self.problem))
        data = tape.repeated(self, "softmax", self.patterns, datas, functools.partial(self.compute, groups))
        return data, data

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        groups = rowwise.folded(Groups(Operand(self.patterns[0], datas[0]), self.problem))
        # Where the gradient is to have one of its own, the result has to lead back to the operand.
        result = self.compute(groups) if kept is None or torch.is_grad_enabled() else kept
        compute = functools.partial(self.slopes, groups, result, grad)
        return tape.gradients(self, datas, kept, grad, wanted, lambda _: compute())


class LogSoftmax(Softmax):
    """The logarithm of the softmax."""

    __slots__ = ()

    @staticmethod
    def compute(groups: Groups) -> Tensor:
        """The result."""
        pattern = groups.source.sparsity
        if _writes(groups) and _row_by_row(groups):
            return rowwise.compute(_LOG_SOFTMAX, pattern, groups.kept, groups.source.values)
        shifted = _shifted(groups)
        total = groups.reduce(notes.apply(torch.exp, shifted))
        return pattern.spread(notes.apply(torch.sub, shifted, groups.at_entries(notes.apply(torch.log, total))))

    @staticmethod
    def slopes(groups: Groups, result: Tensor, grad: Tensor) -> Tensor:
        """The gradient of the values, given the result y and its gradient: g - exp(y) * sum(g)."""
        pattern = groups.source.sparsity
        if _writes(groups, result, grad) and rowwise.applies(pattern, groups.kept, result, grad):
            return rowwise.compute(_LOG_SLOPES, pattern, groups.kept, result, grad)
        grads = pattern.entries(grad)
        total = groups.at_entries(groups.reduce(grads))
        powers = notes.apply(torch.exp, pattern.entries(result))
        return pattern.spread(notes.apply(torch.sub, grads, notes.apply(torch.mul, powers, total)))


def weights(groups: Groups) -> Tensor:
    """The values of the softmax over groups."""
    pattern = groups.source.sparsity
    writes = _writes(groups)
    if writes and _row_by_row(groups):
        return rowwise.compute(_SOFTMAX, pattern, groups.kept, groups.source.values)
    if writes:  # fresh memory for each of them would take longer than they do
        powers = _powers(groups)
        values = notes.apply(Tensor.div_, powers, groups.at_entries(groups.reduce(powers)))
    else:
        powers = notes.apply(torch.exp, _shifted(groups))
        values = notes.apply(torch.div, powers, groups.at_entries(groups.reduce(powers)))
    return pattern.spread(values)


def slopes(groups: Groups, result: Tensor, grad: Tensor) -> Tensor:
    """The gradient of the values, given the softmax and its gradient: y * (g - sum(y * g))."""
    pattern = groups.source.sparsity
    writes = _writes(groups, result, grad)
    if writes and rowwise.applies(pattern, groups.kept, result, grad):
        return rowwise.compute(_SLOPES, pattern, groups.kept, result, grad)
    values, grads = pattern.entries(result), pattern.entries(grad)
    mean = groups.at_entries(groups.reduce(notes.apply(torch.mul, values, grads)))
    if writes:
        return pattern.spread(notes.apply(Tensor.mul_, notes.apply(_subtracted_from, mean, grads), values))
    return pattern.spread(notes.apply(torch.mul, notes.apply(torch.sub, grads, mean), values))


def _groups(input: Any, dim: int, dtype: torch.dtype | None) -> Groups:
    """The groups of elements over which a softmax is taken, in the dtype in which it is."""
    groups = Groups(input, integer("softmax: dim", dim))
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
    the normal numbers. Graphs don't see it, so that it isn't for what they follow.
    """
    source, pattern = groups.source, groups.source.sparsity
    few = pattern.size < _WORTH_KERNEL or pattern.format.padded or source.dtype not in (torch.float32, torch.float64)
    if few or tape.is_seen([source]):
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


def _row_by_row(groups: Groups) -> bool:
    """Whether one kernel computes it all: exponentials twice, which is slower for many blocks narrower than vectors."""
    pattern, kept = groups.source.sparsity, groups.kept
    if not rowwise.applies(pattern, kept, groups.source.values):
        return False
    return pattern.size < _FEW or not 1 < rowwise.block(pattern, kept) < _LANES


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
