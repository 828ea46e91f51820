"""Gradients of means weighted by a softmax, in one pass for all, or for each, that store no scores either.

The weights are w = exp(score - most) / sum(exp(score - most)), of whose rows the forward pass stores the greatest score
and the reciprocal of the sum, by which g is multiplied beforehand. The gradient of the mean in its value is the sum of
w * g over the rows; that in a score is w * (g . value - g . mean), and that in a factor of the scores the sum of those
times the other factor. Kernels compute scores anew, which pays where they take several rows at once, in tiles.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from libsparse._runtime import arrays, blocks, dispatch
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage import threads
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import contraction
from .mean_notation import Indices, Mean

_ROWS, _COLUMNS = 8, 16  # of the tiles that kernels have at most
_SAMPLED = 64  # groups of rows that are looked at
_WASTE = 2.5  # elements of tiles for each entry up to which tiles take less time than kernels that store scores
_BUSY = 0.7  # share of the threads' time that one kernel for all gradients uses at least, of which it takes about half
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


class _Text:
    """An assignment that is written operand by operand."""

    def __init__(self) -> None:
        self.inputs: list[Indices] = []
        self.operands: list[Operand] = []

    def read(self, indices: Indices, operand: Operand) -> str:
        """The access to another operand."""
        self.inputs.append(indices)
        self.operands.append(operand)
        return f"{_LETTERS[len(self.inputs) - 1]}({','.join(indices)})"

    def run(self, output: Indices, right: str) -> Tensor:
        """The result, a dense tensor."""
        return dispatch.run(_problem(output, right, tuple(self.inputs)), self.operands)[0]


@functools.lru_cache(maxsize=1024)
def _problem(output: Indices, right: str, inputs: tuple[Indices, ...]) -> Problem:
    names = tuple(_LETTERS[: len(inputs)])
    text = f"y({','.join(output)}) = {right}"
    return Problem(text, True, names, inputs, output, contraction.dense_format(len(output)))


def applies(mean: Mean, operands: Sequence[Operand]) -> bool:
    """Whether gradients that autograd doesn't follow are computed in passes of their own.

    That is so of a product of two dense factors, one of the rows and one of the columns, at the entries of a matrix
    whose neighbouring rows have most of their columns in common.
    """
    matrix, count = operands[0].sparsity, len(mean.factors)
    if count != 3 or mean.added or operands[0].data is not None:
        return False
    if any(operand.pattern is not None or operand.data is None for operand in operands[1:]):
        return False
    if operands[1].dtype not in (torch.float32, torch.float64):
        return False
    i, j = mean.factors[0]
    sides = [(i in indices, j in indices) for indices in mean.factors[1:]]
    summed = [index for index in mean.factors[1] if index not in mean.output and index != j]
    columns = [index for index in mean.output if index not in mean.factors[1] and index not in mean.factors[2]]
    return (
        sorted(sides) == [(False, True), (True, False)]
        and len(summed) == len(columns) == 1
        and all(index in mean.factors[1] and index in mean.factors[2] for index in (*mean.heads, *summed))
        and matrix.derive(("rows alike",), lambda: _waste(matrix)) <= _WASTE
    )


def _waste(matrix: Pattern) -> float:
    """How many elements tiles have for each entry, by some groups of rows of a matrix with compressed rows."""
    crow, col = matrix.compressed(1)
    groups = -(-matrix.shape[0] // _ROWS)
    chosen = torch.linspace(0, groups - 1, min(groups, _SAMPLED), device="cpu").long().unique().tolist()
    elements = entries = 0
    for group in chosen:
        first, last = group * _ROWS, min(group * _ROWS + _ROWS, matrix.shape[0])
        part = col[int(crow[first]) : int(crow[last])]
        elements += len((part // _COLUMNS).unique()) * _ROWS * _COLUMNS
        entries += len(part)
    return elements / max(entries, 1)


def _zeros(like: Tensor) -> Tensor:
    """Zeros in memory of results, which is perhaps warm."""
    strides = arrays.strides(contraction.dense_format(like.ndim), like.shape)
    return blocks.empty(like.shape, strides, like.dtype).zero_()


class Gradients:
    """The gradients of a mean.

    Args:
        mean: The mean, to which these `applies`.
        operands: The matrix, both factors and the value.
        kept: The mean itself, and for each row the greatest score and the reciprocal of the sum of exp(score - most).
        grad: Its gradient.
    """

    def __init__(
        self, mean: Mean, operands: Sequence[Operand], kept: tuple[Tensor, Tensor, Tensor], grad: Tensor
    ) -> None:
        out, most, share = kept
        self.mean, self.matrix = mean, operands[0].sparsity
        self.factors, self.value = operands[1:3], operands[3]
        self.rows = mean.rows
        self.most = Operand(None, most)
        columns = [n for n, index in enumerate(mean.output) if index not in self.rows]
        for n in columns:
            share = share.unsqueeze(n)
        grad = grad * share  # once, for all weights of a row
        self.grad, self.slope = Operand(None, grad.contiguous()), Operand(None, (grad * out).sum(columns))

    def together(self) -> list[Tensor] | None:
        """The gradients of both factors and the value by one kernel, which computes scores once.

        Rows add to what belongs to columns, so that each thread takes matrices of its own.

        Returns:
            The gradients; None where matrices are too few for the threads.
        """
        mean, text = self.mean, _Text()
        sizes = dict(zip(mean.output, self.grad.values.shape, strict=True))
        matrices, team = math.prod(sizes[index] for index in mean.heads), threads.count()
        if matrices < _BUSY * team * -(-matrices // team):
            return None
        row = 1 if mean.factors[0][0] in mean.factors[1] else 2
        indices, others = mean.factors[row], mean.factors[3 - row]
        weight = self._weight(text, self.matrix, mean.factors[0], indices)
        slope = self._slope(text, self.matrix, mean.factors[0], indices)
        factor, other = text.read(others, self.factors[2 - row]), text.read(indices, self.factors[row - 1])
        sums = [Operand(None, _zeros(operand.values)) for operand in (self.factors[2 - row], self.value)]
        to, given = text.read(others, sums[0]), text.read(*self._renamed(mean.output, self.grad, mean.output))
        by = text.read(*self._renamed(mean.value, sums[1], mean.output))
        found = text.run(indices, f"weighted_sum_into(({weight}) * ({slope}), {factor}, {other}, {to}, {given}, {by})")
        return [*[found, sums[0].values][:: 1 if row == 1 else -1], sums[1].values]

    def of(self, number: int) -> Tensor:
        """The gradient of a factor, counted from one, or of the value, which comes after them."""
        mean, text = self.mean, _Text()
        indices = mean.value if number == len(mean.factors) else mean.factors[number]
        matrix, at = self.matrix, mean.factors[0]
        if at[0] not in indices:  # rows of the kernel are columns of the matrix
            at = at[::-1]
            matrix = matrix.transposed((1, 0)).converted(Format("csr")).pattern
        weight = self._weight(text, matrix, at, indices)
        if number == len(mean.factors):
            return text.run(indices, f"weighted_sum({weight}, {text.read(mean.output, self.grad)})")
        slope = self._slope(text, matrix, at, indices)
        other = 3 - number
        factor = text.read(mean.factors[other], self.factors[other - 1])
        return text.run(indices, f"weighted_sum({weight} * {slope}, {factor})")

    def _slope(self, text: _Text, matrix: Pattern, at: Indices, indices: Indices) -> str:
        """What a weight is multiplied by, as the gradient of the product that its score is a multiple of."""
        upstream = text.read(*self._renamed(self.mean.output, self.grad, indices))
        value = text.read(*self._renamed(self.mean.value, self.value, indices))
        inner = f"sum({text.read(at, Operand(matrix, None))} * {upstream} * {value})"
        return self.mean.scaled(f"({inner} - {text.read(self.rows, self.slope)})")

    def _weight(self, text: _Text, matrix: Pattern, at: Indices, indices: Indices) -> str:
        there = text.read(at, Operand(matrix, None))
        score = self._score(text, matrix, at, indices)
        return f"{there} * exp(sum({score}) - {text.read(self.rows, self.most)})"

    def _score(self, text: _Text, matrix: Pattern, at: Indices, renamed: Iterable[str]) -> str:
        """The score at an entry. What it sums over has other names than indices of the result."""
        there = text.read(at, Operand(matrix, None))
        factors = [
            text.read(*self._renamed(indices, factor, renamed))
            for indices, factor in zip(self.mean.factors[1:], self.factors, strict=True)
        ]
        return self.mean.scaled(" * ".join([there, *factors]))

    def _renamed(self, indices: Indices, operand: Operand, names: Iterable[str]) -> tuple[Indices, Operand]:
        kept = {*self.rows, *self.mean.factors[0]}
        return tuple(f"{n}_" if n in names and n not in kept else n for n in indices), operand
