"""How the transforms of torch.func, and forward-mode autograd, follow a computation.

Eager calls don't come here: `tape.Function` is quicker, and knows reverse mode only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

from libsparse._lang.errors import UnsupportedError
from libsparse._runtime.problem import Einsum, Operand, Problem, product
from libsparse._runtime.steps import Result
from libsparse._storage.format import Format

from . import tape

_BATCH = "batch"  # an index that no problem has


def compute(node: tape.Node, operands: Sequence[Operand]) -> Result:
    """Computes the problem of a node on operands of which a transform follows some."""
    data: Tensor = Function.apply(node, *(o.data for o in operands))
    return data, node.pattern


def dual(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem while torch traces and forward-mode autograd follows an operand.

    Raises:
        UnsupportedError: It is no sum of products, which are linear in each operand.
    """
    if not tape.is_product(problem):
        raise UnsupportedError(
            f"{problem.text}: while torch traces, forward mode differentiates sums of products only; trace the "
            "gradient of reverse mode (torch.func.grad, vjp, jacrev), or call torch.func.jvp without tracing"
        )
    primals = [o if o.data is None else o.with_data(_primal(o.data)) for o in operands]
    data, pattern = tape.compute(problem, primals)
    change: Tensor | None = None
    for number, operand in enumerate(operands):
        tangent = None if operand.data is None else forward_ad.unpack_dual(operand.data).tangent
        if tangent is not None:
            given = [*primals[:number], operand.with_data(tangent), *primals[number + 1 :]]
            term, found = tape.compute(problem, given)
            term = term if pattern is None or found is None else pattern.resample(term, found)
            change = term if change is None else change + term
    return (data if change is None else forward_ad.make_dual(data, change)), pattern


class Function(torch.autograd.Function):
    """Values in, values out; differentiable in both modes, and mapped over batches."""

    @staticmethod
    def forward(node: tape.Node, *datas: Tensor | None) -> Tensor:
        return node.forward(datas)[0]

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.node, *datas = inputs
        ctx.save_for_backward(*datas)
        ctx.save_for_forward(*datas)
        ctx.set_materialize_grads(False)
        ctx.counts = not (output.is_floating_point() or output.is_complex())  # the terms of a mean, for one
        if ctx.counts:
            ctx.mark_non_differentiable(output)

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        node, datas = ctx.node, ctx.saved_tensors
        return None, *node.gradients(datas, node.kept(datas), grad.contiguous(), ctx.needs_input_grad[1:])

    @staticmethod
    def jvp(ctx: Any, _: None, *tangents: Tensor | None) -> Tensor | None:
        """The derivative in a direction; None of a result of integers."""
        if ctx.counts:
            return None
        if any(map(tape.is_batch, tangents)):
            return tape.of_each(lambda *each: (Function.jvp(ctx, None, *each),), *tangents)[0]
        node, datas = ctx.node, [_primal(data) for data in ctx.saved_tensors]
        if tape.is_product(node.problem):
            terms = [
                _at(node, [tangent if n == number else data for n, data in enumerate(datas)])
                for number, tangent in enumerate(tangents)
                if tangent is not None
            ]
            total = terms[0]
            for term in terms[1:]:
                total = total + term
            return total
        return _transposed(node, datas, tangents)

    @staticmethod
    def vmap(info: Any, dims: tuple[int | None, ...], node: tape.Node, *datas: Tensor | None) -> tuple[Tensor, int]:
        """The results of a batch: by one more index, or one after the other."""
        given = [d if d is None or dim is None else d.movedim(dim, 0) for d, dim in zip(datas, dims[1:], strict=True)]
        batched = [dim is not None for dim in dims[1:]]
        out = _by_index(node, given, batched)
        if out is None:
            picked = (
                [d[n] if b and d is not None else d for d, b in zip(given, batched, strict=True)]
                for n in range(info.batch_size)
            )
            out = torch.stack([_at(node, each) for each in picked])
        return out, 0


def _primal(data: Tensor | None) -> Tensor | None:
    """A tensor without its derivative, which the derivative of the result must not follow."""
    if data is None or forward_ad._current_level < 0:
        return data
    primal: Tensor = forward_ad.unpack_dual(data).primal
    return primal


def _at(node: tape.Node, datas: Sequence[Tensor | None]) -> Tensor:
    """The values of the result for other values of the operands, on the same pattern."""
    values, pattern = node.again(datas)
    if node.pattern is None:
        node.pattern = pattern
    return values if pattern is None or node.pattern is None else node.pattern.resample(values, pattern)


def _transposed(node: tape.Node, datas: Sequence[Tensor | None], tangents: Sequence[Tensor | None]) -> Tensor:
    """The derivative of an expression in a direction: the gradient is linear, and this is the gradient of that."""
    wanted = [tangent is not None for tangent in tangents]
    kept = node.kept(datas)
    shape = torch.Size([node.pattern.size]) if node.pattern is not None else _shape(node, datas)
    dtype = next(d.dtype for d, want in zip(datas, wanted, strict=True) if want and d is not None)

    def gradients(grad: Tensor) -> tuple[Tensor, ...]:
        found = node.gradients(datas, kept, grad, wanted)
        return tuple(g * 1 for g in found if g is not None)

    zeros = torch.zeros(shape, dtype=dtype, device="cpu")
    pulled: Any = torch.func.vjp(gradients, zeros)
    found = node.gradients(datas, kept, zeros, wanted)
    used = tuple(t for t, g in zip(tangents, found, strict=True) if t is not None and g is not None)
    result: Tensor = pulled[1](used)[0]
    return result


def _shape(node: tape.Node, datas: Sequence[Tensor | None]) -> torch.Size:
    problem = node.problem
    return torch.Size(problem.result_shape(problem.extents(node.operands(datas))))


def _by_index(node: tape.Node, datas: Sequence[Tensor | None], batched: Sequence[bool]) -> Tensor | None:
    """The results of a batch by an index more; None where a sparse operand or the result has none."""
    problem, patterns = node.problem, node.patterns
    dense = problem.output_format is None or problem.output_format.is_dense
    if problem.is_expr or not dense or any(b and p is not None for b, p in zip(batched, patterns, strict=True)):
        return None
    inputs = tuple((_BATCH, *term) if b else term for term, b in zip(problem.inputs, batched, strict=True))
    format = None if problem.output_format is None else Format("d" * (len(problem.output) + 1))
    question = Einsum(inputs, (_BATCH, *problem.output), format, problem.reduce, problem.combine, None, problem.dtype)
    values, pattern = tape.compute(product(question), node.operands(datas))
    return values if pattern is None else None
