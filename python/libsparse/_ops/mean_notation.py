"""Means weighted by the softmax of scores, as the compiler's notation has them."""

from __future__ import annotations

import functools

from libsparse._lang.records import NamedTuple
from libsparse._runtime.problem import Problem

from . import contraction

Indices = tuple[str, ...]


class Mean(NamedTuple):
    """The mean of a dense operand, weighted by the softmax of a product at the entries of a matrix; hashable.

    Attributes:
        factors: The indices of the factors of the scores. The first factor is the matrix.
        value: The indices of what is averaged.
        output: The indices of the result.
        numbers: Numbers that multiply the scores.
        added: Whether another operand, after the value, has the matrix's pattern and is added to the scores.
    """

    factors: tuple[Indices, ...]
    value: Indices
    output: Indices
    numbers: tuple[float, ...] = ()
    added: bool = False

    @property
    def heads(self) -> Indices:
        """The indices of the result that scores have, and the matrix has not."""
        return tuple(index for index in self.output if index in self.value and index in self.factors[-1])

    @property
    def rows(self) -> Indices:
        """The indices of the result that scores have."""
        return tuple(index for index in self.output if any(index in indices for indices in self.factors))

    @property
    def text(self) -> str:
        """The assignment; operands are A, B, ... in their order."""
        return self.storing(logs=False)

    def storing(self, *, logs: bool) -> str:
        """The assignment, whose last operand is that of the logarithms if they are stored."""
        inputs = (*self.factors, self.value, *self.factors[: int(self.added)])
        *scores, value = [
            f"{name}({','.join(indices)})" for name, indices in zip("ABCDEFGHIJKLMNOPQRSTUVW", inputs, strict=False)
        ][: len(self.factors) + 1]
        product = " * ".join([*(f"({n!r})" if n < 0 else repr(n) for n in self.numbers), *scores])
        if self.added:
            product += f" + {'ABCDEFGHIJKLMNOPQRSTUVW'[len(self.factors) + 1]}({','.join(self.factors[0])})"
        if not logs:
            return f"y({','.join(self.output)}) = softmax_mean({product}, {value})"
        stored = f"{'ABCDEFGHIJKLMNOPQRSTUVW'[len(inputs)]}({','.join(self.rows)})"
        return f"y({','.join(self.output)}) = softmax_mean_into({product}, {value}, {stored})"


@functools.lru_cache(maxsize=1024)
def problem(mean: Mean, logs: bool = False) -> Problem:
    """The problem that the compiler gets.

    Args:
        mean: The mean.
        logs: Whether the kernel stores the logarithms of the sums of exp(score) in a last operand, with an element for
            each row.
    """
    inputs = (*mean.factors, mean.value, *mean.factors[: int(mean.added)], *((mean.rows,) if logs else ()))
    names = tuple("ABCDEFGHIJKLMNOPQRSTUVW"[: len(inputs)])
    output = mean.output
    return Problem(mean.storing(logs=logs), True, names, inputs, output, contraction.dense_format(len(output)))
