"""Gradients of products: each one is again a product, computed by the same compiler and differentiable again.

For C[out] = prod_m X_m[idx_m], the gradient of X_m is the product of the gradient of C and the other operands (the
conjugates of complex ones, as torch has it), reduced to idx_m; where X_m is sparse its pattern joins the product, so
that it is computed only where X_m is stored.
Nothing dense of a sparse operand's shape is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd import forward_ad

from libsparse._lang.errors import UnsupportedError
from libsparse._ops import contraction, expression_gradients
from libsparse._runtime import dispatch
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern


def needed(operands: Sequence[Operand]) -> bool:
    """Whether autograd has to follow a computation on these operands.

    Raises:
        UnsupportedError: Something else has to: forward-mode derivatives, or a transform of torch.func.
    """
    tensors = [o.data for o in operands if o.data is not None]
    for tensor in tensors:
        if is_functorch_wrapped_tensor(tensor):
            raise UnsupportedError(
                "the transforms of torch.func are not supported on sparse products yet; use torch.autograd.grad "
                "for derivatives, and an index of einsum more instead of vmap"
            )
        if forward_ad._current_level >= 0 and forward_ad.unpack_dual(tensor).tangent is not None:
            raise UnsupportedError(
                "forward-mode derivatives of sparse products are not supported yet; use torch.autograd.grad"
            )
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


def apply(asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    """Computes an einsum that autograd follows.

    Raises:
        UnsupportedError: The reduction or the combination has no gradient.
    """
    if asked.reduce != "sum" or asked.combine != "mul":
        return expression_gradients.apply(expression_gradients.as_expression(asked), operands)
    patterns = [o.pattern for o in operands]
    out, pattern = _Product.apply(asked, patterns, *(o.data for o in operands))
    return out, pattern


class _Product(torch.autograd.Function):
    """Values in, values out; patterns travel beside them."""

    @staticmethod
    def forward(
        ctx: Any, asked: Problem, patterns: list[Pattern | None], *datas: Tensor | None
    ) -> tuple[Tensor, Pattern | None]:
        out, pattern = dispatch.run(asked, list(map(Operand, patterns, datas)))
        ctx.asked, ctx.patterns, ctx.result = asked, patterns, pattern
        ctx.save_for_backward(*datas)
        ctx.set_materialize_grads(False)
        return out, pattern

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        nothing: tuple[Tensor | None, ...] = (None,) * len(ctx.needs_input_grad)
        if grad is None:
            return nothing
        operands = list(map(Operand, ctx.patterns, ctx.saved_tensors))
        grad = grad.resolve_conj().resolve_neg()
        result = Operand(ctx.result, grad if ctx.result is None else grad.contiguous())
        return (
            None,
            None,
            *(
                gradient(ctx.asked, operands, result, number) if wanted else None
                for number, wanted in enumerate(ctx.needs_input_grad[2:])
            ),
        )


def gradient(asked: Problem, operands: Sequence[Operand], grad: Operand, number: int) -> Tensor:
    """The gradient of one operand: values on its pattern, or a dense tensor.

    Args:
        asked: The computation.
        operands: Its operands.
        grad: The gradient of the result, on the pattern of the result.
        number: The operand in question.
    """
    indices, (pattern, _) = asked.inputs[number], operands[number]
    others = [n for n in range(len(operands)) if n != number]
    inputs = [asked.output, *(asked.inputs[n] for n in others)]
    factors = [grad, *(conjugate(operands[n]) for n in others)]
    if pattern is not None:
        return sampled(pattern, indices, inputs, factors)
    # Indices that no other factor has were only summed over: the gradient is the same all along them.
    available = {index for term in inputs for index in term}
    kept = tuple(index for index in indices if index in available)
    dense, _ = contraction.contract(inputs, kept, factors, wish=contraction.dense_wish(len(kept)))
    shape = operands[number].shape
    places = tuple(slice(None) if index in available else None for index in indices)
    return dense[places].expand(shape) if len(kept) < len(indices) else dense


def conjugate(operand: Operand) -> Operand:
    """The complex conjugate of an operand, in memory; differentiable."""
    pattern, data = operand
    return operand if data is None or not data.is_complex() else Operand(pattern, data.conj().resolve_conj())


def sampled(
    pattern: Pattern, indices: tuple[str, ...], inputs: Sequence[tuple[str, ...]], factors: Sequence[Operand]
) -> Tensor:
    """The values of a product at the entries of `pattern`, 0 where a factor has nothing there; differentiable.

    Args:
        pattern: Where to compute.
        indices: The indices of its modes.
        inputs: The indices of each factor.
        factors: The factors.
    """
    values, made = contraction.contract(
        [indices, *inputs],
        indices,
        [Operand(pattern, None), *factors],
        wish=pattern.format,
        pattern_of=0,
    )
    return resample(values, made, pattern)


def resample(values: Tensor, source: Pattern | None, target: Pattern) -> Tensor:
    """Carries values from one pattern to another of the same shape: 0 where only `target` has an entry."""
    assert source is not None
    if source is target:
        return values
    numbers, found = target.locate(source)
    if values.numel() == 0:
        return values.new_zeros(target.size)
    picked = source.entries(values).index_select(0, numbers)
    return target.spread(torch.where(found, picked, picked.new_zeros(())))
