"""Means weighted by the softmax of scores, as the compiler's notation has them."""

from __future__ import annotations

import functools

from libsparse._lang.records import NamedTuple
from libsparse._runtime.problem import Problem

from . import contraction

Indices = tuple[str, ...]
_NAMES = "ABCDEFGHIJKLMNOPQRSTUVW"


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
    def inputs(self) -> tuple[Indices, ...]:
        """The indices of the operands."""
        return (*self.factors, self.value, *self.factors[: int(self.added)])

    @property
    def text(self) -> str:
        """The assignment; operands are A, B, ... in their order."""
        return self._assigned("softmax_mean", ())

    @property
    def storing(self) -> str:
        """The same by a kernel that stores what gives the weights in two operands more."""
        return self._assigned("softmax_mean_into", (self.rows, self.rows))

    def scaled(self, product: str) -> str:
        """A product times the numbers."""
        return " * ".join([*(f"({n!r})" if n < 0 else repr(n) for n in self.numbers), product])

    def _assigned(self, function: str, stored: tuple[Indices, ...]) -> str:
        inputs, count = (*self.inputs, *stored), len(self.factors)
        accesses = [f"{name}({','.join(indices)})" for name, indices in zip(_NAMES, inputs, strict=False)]
        score = self.scaled(" * ".join(accesses[:count]))
        if self.added:
            score += f" + {_NAMES[count + 1]}({','.join(self.factors[0])})"
        arguments = [score, accesses[count], *accesses[len(self.inputs) :]]
        return f"y({','.join(self.output)}) = {function}({', '.join(arguments)})"


@functools.lru_cache(maxsize=1024)
def problem(mean: Mean, storing: bool = False) -> Problem:
    """The problem that the compiler gets.

    Args:
        mean: The mean.
        storing: Whether there are two operands more, with an element for each row, to which the kernel writes: the
            greatest score, and the reciprocal of the sum of exp(score - most).
    """
    inputs = (*mean.inputs, *((mean.rows, mean.rows) if storing else ()))
    text, output = mean.storing if storing else mean.text, mean.output
    return Problem(text, True, tuple(_NAMES[: len(inputs)]), inputs, output, contraction.dense_format(len(output)))
