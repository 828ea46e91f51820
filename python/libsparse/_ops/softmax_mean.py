"""Means of dense rows weighted by the softmax of sparse scores, in one pass that stores no scores.

The kernel keeps the greatest score of a row so far, the sum of weights and the weighted sum, and rescales both where a
greater score comes (online softmax). The gradient computes the weights anew, at the entries.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Einsum, Operand, Problem
from libsparse._storage.pattern import Pattern

from . import contraction, pooled_gradient, softmax
from .mean_notation import Mean, problem
from .product_gradient import gradient
from .reductions import Groups

_LONG_ROW = 32  # entries, on average, from which on one pass takes no longer than several kernels
_LONG_ROW_IN_TILES = 64  # the same of one pass and a gradient, where both are computed in tiles


def compute(mean: Mean, operands: Sequence[Operand]) -> Tensor | None:
    """The mean, followed by autograd.

    Args:
        mean: The indices.
        operands: The factors, the value, and perhaps what is added.

    Returns:
        A dense tensor; None where one pass can't compute it, or doesn't pay. Of short rows the scores are few, and two
        kernels that gather from one operand each take less time. A gradient computes scores anew, which takes longer
        than to store them but in tiles, so they have to be more than the elements of the dense operands.
    """
    kinds = {operand.data.dtype for operand in operands if operand.data is not None}
    pattern = operands[0].sparsity
    if len(kinds) != 1 or not next(iter(kinds)).is_floating_point or pattern.ndim != 2 or pattern.format != "csr":
        return None
    if len(operands) > 20 or tape.is_traced(operands) or tape.is_transformed(operands) or tape.watchers[0]():
        return None
    question = problem(mean)
    extents = question.extents(operands)
    if 0 in extents.values() or pattern.size < _LONG_ROW * pattern.shape[0]:
        return None
    if not tape.needed(operands):
        return dispatch.run(question, operands)[0]

    entries = pattern.size * math.prod(extents[index] for index in mean.heads)
    if entries <= sum(operand.values.numel() for operand in operands if operand.pattern is None) and not (
        pattern.size >= _LONG_ROW_IN_TILES * pattern.shape[0] and pooled_gradient.applies(mean, operands)
    ):
        return None

    def node(problem: Problem, patterns: Sequence[Any]) -> _SoftmaxMean:
        return _SoftmaxMean(mean, problem, patterns)

    return tape.follow(node, question, operands)[0]


class _SoftmaxMean(tape.Node):
    """Such a mean in autograd's graph."""

    __slots__ = ("mean",)

    def __init__(self, mean: Mean, problem: Problem, patterns: Sequence[Any]) -> None:
        """Begin without a result."""
        super().__init__(problem, patterns)
        self.mean = mean

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor | tuple[Tensor, ...]]:
        operands = self.operands(datas)
        if not pooled_gradient.applies(self.mean, operands):
            data, _ = super().forward(datas)
            return data, data
        extents = self.problem.extents(operands)
        shape = [extents[index] for index in self.mean.rows]
        # The kernel writes to these: they are contiguous, so that it gets them and no copies.
        most, share = (operands[1].values.new_empty(shape) for _ in range(2))
        weights = [Operand(None, most), Operand(None, share)]
        data, _ = dispatch.run(problem(self.mean, storing=True), [*operands, *weights])
        return data, (data, most, share)

    def gradients(self, datas: Sequence[Any], kept: Any, grad: Tensor, wanted: Sequence[bool]) -> list[Tensor | None]:
        mean, operands = self.mean, self.operands(datas)
        count = len(mean.factors)
        if isinstance(kept, tuple) and not torch.is_grad_enabled():
            passes = pooled_gradient.Gradients(mean, operands, kept, grad)
            if all(wanted[1:]) and (three := passes.together()) is not None:
                return [None, *three]
            return [passes.of(number) if want else None for number, want in enumerate(wanted)]
        matrix, value = operands[0].sparsity, operands[count]
        extents = self.problem.extents(operands)
        at = (*mean.factors[0], *mean.heads)
        pattern = matrix.with_blocks([extents[i] for i in mean.heads]) if mean.heads else matrix
        inputs, factors = [at, *mean.factors[1:]], [Operand(pattern, operands[0].data), *operands[1:count]]
        if mean.numbers:
            inputs.append(())
            factors.append(Operand(None, torch.tensor(math.prod(mean.numbers), dtype=grad.dtype, device="cpu")))
        question = Einsum(tuple(inputs), at, pattern.format, pattern_of=0)
        scores = _sampled(question, factors, pattern)
        if mean.added:
            scores = (scores.reshape(matrix.size, -1) + datas[count + 1][:, None]).reshape(-1)
        groups = Groups(Operand(pattern, scores), 1)
        weights = softmax.weights(groups)
        found: list[Tensor | None] = [None] * len(datas)
        if wanted[count]:
            einsum = Einsum((at, mean.output), mean.value, contraction.dense_format(len(mean.value)))
            found[count] = contraction.contract(einsum, [Operand(pattern, weights), Operand(None, grad)])[0]
        if not (any(wanted[:count]) or any(wanted[count + 1 :])):
            return found
        sample = Einsum((at, mean.output, mean.value), at, pattern.format, pattern_of=0)
        slopes = _sampled(sample, [Operand(pattern, None), Operand(None, grad), value], pattern)
        slopes = softmax.slopes(groups, weights, slopes)
        for number in range(count):
            if wanted[number]:
                found[number] = gradient(question.problem(), factors, Operand(pattern, slopes), number)
        if any(wanted[count + 1 :]):
            found[-1] = slopes.reshape(matrix.size, -1).sum(1)
        return found


def _sampled(question: Einsum, operands: Sequence[Operand], pattern: Pattern) -> Tensor:
    values, found = contraction.contract(question, operands)
    assert found is not None
    return pattern.resample(values, found)
