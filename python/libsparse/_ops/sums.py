"""Sums of two sparse tensors: compiled as a union, differentiated as a sampling at each pattern."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DtypeError, ShapeError
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern
from libsparse._tensor import sparse_tensor

from . import contraction

if TYPE_CHECKING:
    from libsparse._tensor.sparse_tensor import SparseTensor


def add(a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """`a + b`, entries where either has one, in the format of `a`.

    Raises:
        ShapeError: The shapes differ.
        DtypeError: An operand has no values.
    """
    if a.shape != b.shape:
        raise ShapeError(
            f"operand 0 (shape {tuple(a.shape)}, format {a.format}) and operand 1 (shape {tuple(b.shape)}, format "
            f"{b.format}) differ in shape; sparse tensors are added only where shapes agree"
        )
    if a._values is None or b._values is None:
        raise DtypeError("a tensor that is only a pattern can't be added; give it values with with_values first")
    if a.pattern is b.pattern:
        return a.with_values(a._values + b._values)
    letters = tuple(string.ascii_lowercase[: a.ndim])
    dtype = torch.promote_types(a.dtype, b.dtype)
    operands: Sequence[Operand] = [Operand(a.pattern, a._values), Operand(b.pattern, b._values)]
    follow = tape.needed(operands)
    if follow:
        operands = contraction.unify(operands, dtype)
    indices = ",".join(letters)
    text = f"C({indices}) = A({indices}) + B({indices})"
    asked = Problem(text, True, ("A", "B"), (letters, letters), letters, a.format, dtype=dtype)
    if follow:
        out, pattern = _Sum.apply(asked, [a.pattern, b.pattern], *(o.data for o in operands))
    else:
        out, pattern = dispatch.run(asked, operands)
    return sparse_tensor.SparseTensor(pattern, out)


class _Sum(torch.autograd.Function):
    """Values in, values out; patterns travel beside them."""

    @staticmethod
    def forward(ctx: Any, asked: Problem, patterns: list[Pattern], *datas: Tensor) -> tuple[Tensor, Pattern | None]:
        out, pattern = dispatch.run(asked, list(map(Operand, patterns, datas)))
        ctx.patterns, ctx.result = patterns, pattern
        return out, pattern

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: None) -> tuple[Tensor | None, ...]:
        return (
            None,
            None,
            *(
                tape.resample(grad, ctx.result, pattern) if wanted else None
                for pattern, wanted in zip(ctx.patterns, ctx.needs_input_grad[2:], strict=True)
            ),
        )
