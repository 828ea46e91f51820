"""Gradients of products: each one is again a product.

For C[out] = prod_m X_m[idx_m], the gradient of X_m is the product of the gradient of C and the other operands (the
conjugates of complex ones, as torch has it), reduced to idx_m; where X_m is sparse its pattern joins the product, so
that it is computed only where X_m is stored. Nothing dense of a sparse operand's shape is ever allocated.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime import dispatch
from libsparse._runtime.dispatch import Result
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern

from . import contraction


class _Product:
    """The rule of sums of products."""

    @staticmethod
    def forward(
        problem: Problem, patterns: Sequence[Pattern | None], datas: Sequence[Tensor | None]
    ) -> tuple[Tensor, Pattern | None, None]:
        return *dispatch.run(problem, list(map(Operand, patterns, datas))), None

    @staticmethod
    def gradients(
        problem: Problem, operands: Sequence[Operand], grad: Operand, kept: Tensor | None, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        return [gradient(problem, operands, grad, number) if want else None for number, want in enumerate(wanted)]


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a sum of products that autograd follows."""
    return tape.follow(_Product, problem, [o.pattern for o in operands], *(o.data for o in operands))


def gradient(problem: Problem, operands: Sequence[Operand], grad: Operand, number: int) -> Tensor:
    """The gradient of one operand: values on its pattern, or a dense tensor.

    Args:
        problem: The computation.
        operands: Its operands.
        grad: The gradient of the result, on the pattern of the result.
        number: The operand in question.
    """
    indices, pattern = problem.inputs[number], operands[number].pattern
    others = [n for n in range(len(operands)) if n != number]
    inputs = [problem.output, *(problem.inputs[n] for n in others)]
    factors = [grad, *(conjugate(operands[n]) for n in others)]
    if pattern is not None:
        values, found = contraction.contract(
            [indices, *inputs],
            indices,
            [Operand(pattern, None), *factors],
            output_format=pattern.format,
            pattern_of=0,
        )
        assert found is not None
        return pattern.resample(values, found)
    # Indices that no other factor has were only summed over: the gradient is the same all along them.
    available = {index for term in inputs for index in term}
    kept = tuple(index for index in indices if index in available)
    dense, _ = contraction.contract(inputs, kept, factors, output_format=contraction.dense_format(len(kept)))
    shape = operands[number].shape
    places = tuple(slice(None) if index in available else None for index in indices)
    return dense[places].expand(shape) if len(kept) < len(indices) else dense


def conjugate(operand: Operand) -> Operand:
    """The complex conjugate of an operand, in memory; differentiable."""
    data = operand.data
    return operand if data is None or not data.is_complex() else operand.with_data(data.conj().resolve_conj())
