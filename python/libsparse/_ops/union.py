"""Sums of two sparse tensors: compiled as a union, differentiated as a sampling at each pattern."""

from __future__ import annotations

import functools
import string
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime import dispatch, notes
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format

from . import contraction


def add(a: Operand, b: Operand) -> Operand:
    """`a + b`, entries where either has one, in the format of `a`.

    Raises:
        ShapeError: The shapes differ.
        DtypeError: An operand has no values.
    """
    if a.shape != b.shape:
        raise ShapeError(
            f"operand 0 ({a}) and operand 1 ({b}) differ in shape; sparse tensors are added only where shapes agree"
        )
    if a.data is None or b.data is None:
        raise DtypeError("a tensor that is only a pattern can't be added; give it values with with_values first")
    if a.sparsity is b.sparsity:
        return a.with_data(notes.apply(torch.add, a.data, b.data))
    dtype = torch.promote_types(a.dtype, b.dtype)
    problem = _problem(a.sparsity.format, dtype)
    operands = [a, b]
    if tape.is_traced(operands):
        out, pattern = tape.compute(problem, contraction.unify(operands, dtype))
    elif tape.needed(operands):
        out, pattern = tape.follow(_Sum, problem, contraction.unify(operands, dtype))
    else:
        out, pattern = dispatch.run(problem, operands)
    return Operand(pattern, out)


@functools.cache
def _problem(format: Format, dtype: torch.dtype) -> Problem:
    """The sum of two tensors as a problem."""
    letters = tuple(string.ascii_lowercase[: len(format.levels)])
    indices = ",".join(letters)
    text = f"C({indices}) = A({indices}) + B({indices})"
    return Problem(text, True, ("A", "B"), (letters, letters), letters, format, dtype=dtype)


class _Sum(tape.Node):
    """A sum of two operands: each gradient is that of the result, at the entries of the operand."""

    __slots__ = ()

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        source = self.pattern
        return [
            pattern.resample(grad, source) if want and pattern is not None and source is not None else None
            for pattern, want in zip(self.patterns, wanted, strict=True)
        ]
