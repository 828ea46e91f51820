"""Gradients of products: each one is again a product.

For C[out] = prod_m X_m[idx_m], the gradient of X_m is the product of the gradient of C and the other operands (the
conjugates of complex ones, as torch has it), reduced to idx_m; where X_m is sparse its pattern joins the product, so
that it is computed only where X_m is stored. Nothing dense of a sparse operand's shape is ever allocated.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime import notes
from libsparse._runtime.problem import Einsum, Operand, Problem
from libsparse._runtime.steps import Permuted, Result
from libsparse._storage import ordinary
from libsparse._storage.conversion import inverse

from . import contraction


class Product(tape.Node):
    """A sum of products."""

    __slots__ = ()
    by_kind = True

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        grad = tape.in_memory(grad)
        result, operands = Operand(self.pattern, grad), self.operands(datas)
        compute = functools.partial(gradient, self.problem, operands, result)
        return tape.gradients(self, datas, kept, grad, wanted, compute)


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a sum of products that autograd follows."""
    return tape.follow(Product, problem, operands)


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
    inputs = (problem.output, *(problem.inputs[n] for n in others))
    factors = [
        grad,
        *(o if o.data is None else o.with_data(conjugate(o.data)) for o in map(operands.__getitem__, others)),
    ]
    own = operands[number].values.dtype
    dtype = own if any(o.data is not None and o.data.dtype != own for o in factors) else None
    if pattern is not None:
        question = Einsum((indices, *inputs), indices, pattern.format, pattern_of=0, dtype=dtype)
        values, found = contraction.contract(question, [Operand(pattern, None), *factors])
        assert found is not None
        return pattern.resample(values, found)
    # Indices that no other factor has were only summed over: the gradient is the same all along them.
    available = {index for term in inputs for index in term}
    kept = tuple(index for index in indices if index in available)
    shape = operands[number].shape
    if len(kept) == len(indices) and (order := _stored(operands[number].values)) is not None:
        # Such as that of K.mT: in the order in which the operand is stored, it is computed and read where it stands.
        question = Einsum(inputs, tuple(indices[d] for d in order), contraction.dense_format(len(kept)), dtype=dtype)
        dense, _ = contraction.contract(question, factors)
        return notes.apply(Permuted(inverse(order)), dense)  # type: ignore[arg-type]  # a tuple that takes a tensor
    question = Einsum(inputs, kept, contraction.dense_format(len(kept)), dtype=dtype)
    dense, _ = contraction.contract(question, factors)
    places = tuple(slice(None) if index in available else None for index in indices)
    return dense[places].expand(shape) if len(kept) < len(indices) else dense


def _stored(data: Tensor) -> tuple[int, ...] | None:
    """The order of dimensions in which a permuted tensor stands in memory; None of one in order, or with gaps."""
    if type(data) not in ordinary.PLAIN or data.is_contiguous():
        return None
    order = tuple(sorted(range(data.ndim), key=data.stride, reverse=True))
    return order if data.permute(order).is_contiguous() and order != tuple(range(data.ndim)) else None


def conjugate(data: Tensor) -> Tensor:
    """The complex conjugate of values, in memory; differentiable."""
    return data.conj().resolve_conj() if data.is_complex() else data
