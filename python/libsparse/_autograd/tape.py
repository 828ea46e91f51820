"""How autograd follows a computation: the one `torch.autograd.Function` of the package.

Operations register how problems of their kind are differentiated; every gradient is again a problem, computed by the
same compiler and differentiable again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor
from torch.autograd import forward_ad

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime import dispatch
from libsparse._runtime.dispatch import Result
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern


class Rule(Protocol):
    """How problems of one kind are computed and differentiated."""

    def forward(
        self, problem: Problem, patterns: Sequence[Pattern | None], datas: Sequence[Tensor | None]
    ) -> tuple[Tensor, Pattern | None, Tensor | None]:
        """The result, and what of it the gradients need."""

    def gradients(
        self,
        problem: Problem,
        operands: Sequence[Operand],
        grad: Operand,
        kept: Tensor | None,
        wanted: Sequence[bool],
    ) -> Sequence[Tensor | None]:
        """The gradient of each operand, on its pattern or dense; None where it is not wanted.

        Args:
            problem: The computation.
            operands: Its operands.
            grad: The gradient of the result, on the pattern of the result.
            kept: What `forward` kept.
            wanted: Which operands need their gradient.
        """


Differentiable = Callable[[Problem, Sequence[Operand]], Result]
_product: Differentiable
_expression: Differentiable


def register(*, product: Differentiable, expression: Differentiable) -> None:
    """Registers what computes problems that autograd follows: sums of products, and all others."""
    global _product, _expression
    _product, _expression = product, expression


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem; autograd follows it where it has to.

    Raises:
        UnsupportedError: It has to, and something in the problem has no gradient.
    """
    if not needed(operands):
        return dispatch.run(problem, operands)
    plain = not problem.is_expr and problem.reduce == "sum" and problem.combine == "mul"
    return (_product if plain else _expression)(problem, operands)


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


def follow(rule: Rule, problem: Problem, patterns: Sequence[Pattern | None], *datas: Tensor | None) -> Result:
    """Computes a problem by a rule, followed by autograd.

    Args:
        rule: How to.
        problem: The computation.
        patterns: The pattern of each operand, None for a dense one.
        datas: The values of each operand, or the dense tensor.
    """
    result: Result = _Function.apply(rule, problem, patterns, *datas)
    return result


class _Function(torch.autograd.Function):
    """Values in, values out; patterns travel beside them."""

    @staticmethod
    def forward(
        ctx: Any, rule: Rule, problem: Problem, patterns: Sequence[Pattern | None], *datas: Tensor | None
    ) -> Result:
        out, pattern, kept = rule.forward(problem, patterns, datas)
        ctx.call = rule, problem, patterns, pattern
        ctx.save_for_backward(*datas, kept)
        ctx.set_materialize_grads(False)
        return out, pattern

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        rule, problem, patterns, pattern = ctx.call
        *datas, kept = ctx.saved_tensors
        grad = grad.resolve_conj().resolve_neg()
        result = Operand(pattern, grad if pattern is None else grad.contiguous())
        operands = list(map(Operand, patterns, datas))
        return None, None, None, *rule.gradients(problem, operands, result, kept, ctx.needs_input_grad[3:])
