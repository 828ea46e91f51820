"""The short cut of `A @ x`: a product of a sparse and a dense operand, prepared as far as it can be for one shape.

Everything here could be left out; the operator would only be slower.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._compiler import threads
from libsparse._storage.pattern import Pattern

from . import call, dispatch, problem
from .problem import Operand, Problem, stored

_KEPT = 64  # prepared calls a pattern keeps, one for each shape (and strides, if unusual) of the dense operand
_CPU = torch.device("cpu")
_PRODUCTS = {
    (turned, ndim): problem.product((("j", "i") if turned else ("i", "j"), ("j", "k")[:ndim]), ("i", "k")[:ndim])
    for turned in (False, True)
    for ndim in (1, 2)
}
_Multiply = Callable[[Tensor, Tensor, int], Tensor]


class Shortcut(NamedTuple):
    """One prepared product.

    Attributes:
        dtype: The dtype of values and dense operand.
        multiply: The product, given contiguous values, a dense operand and the number of threads.
        asked: The product as a problem.
        turned: Whether the sparse operand is transposed.
    """

    dtype: torch.dtype
    multiply: _Multiply
    asked: Problem
    turned: bool

    def differentiable(self, values: Tensor, dense: Tensor, pattern: Pattern) -> Tensor:
        """The product, followed by autograd; a pattern keeps its short cuts, so they can't keep it."""
        out: Tensor = _Product.apply(values, dense, self, pattern)
        return out


class _Product(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, dense: Tensor, made: Shortcut, pattern: Pattern) -> Tensor:
        ctx.save_for_backward(values, dense)
        ctx.set_materialize_grads(False)
        ctx.made, ctx.pattern = made, pattern
        return made.multiply(values, dense, threads.count())

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return None, None, None, None
        values, dense = ctx.saved_tensors
        values, grad = stored(ctx.pattern, values), grad.resolve_conj().resolve_neg()
        made: Shortcut = ctx.made
        wants_values, wants_dense, *_ = ctx.needs_input_grad
        operands = [Operand(ctx.pattern, values), Operand(None, dense)]
        result = Operand(None, grad)
        return (
            tape.gradient(made.asked, operands, result, 0) if wants_values else None,
            _dense_gradient(made, operands, result) if wants_dense else None,
            None,
            None,
        )


def _dense_gradient(made: Shortcut, operands: list[Operand], grad: Operand) -> Tensor:
    (pattern, values), data = operands[0], grad.data
    assert pattern is not None
    assert values is not None
    assert data is not None
    if not torch.is_grad_enabled() and data.is_contiguous() and data.dtype is made.dtype and data.is_cpu:
        back = find(pattern, data, values, turned=not made.turned)
        if back is not None:
            factor = tape.conjugate(operands[0]).data
            assert factor is not None
            return back.multiply(factor, data, threads.count())
    return tape.gradient(made.asked, operands, grad, 1)


def find(pattern: Pattern, dense: Tensor, values: Tensor, *, turned: bool = False) -> Shortcut | None:
    """The prepared product of a matrix with an operand of the same dtype, None if there can't be one.

    Args:
        pattern: The pattern of the matrix.
        dense: The dense operand.
        values: The values of the matrix.
        turned: Whether the matrix is transposed.
    """
    kind: Any = dense.shape if dense.is_contiguous() else (dense.shape, dense.stride())
    name = (turned, kind) if turned else kind
    known: Shortcut | None = pattern.fast.get(name)
    if known is not None and known.dtype == dense.dtype:
        return known
    asked = _PRODUCTS[turned, dense.ndim]
    prepared = dispatch.prepare(asked, [Operand(pattern, values.detach()), Operand(None, dense.detach())])
    simple = prepared.simple() if isinstance(prepared, call.Call) else None
    if simple is None:
        return None
    places, order = simple
    if len(pattern.fast) >= _KEPT:
        pattern.fast.clear()
    rows = pattern.shape[1] if turned else pattern.shape[0]
    # Never written or read, so its pages stay untouched: empty_like is the cheapest way to allocate.
    template = torch.empty((rows, *dense.shape[1:]), dtype=dense.dtype, device=_CPU)
    as_it_is = dense.is_contiguous() and order == tuple(range(dense.ndim))
    multiply = _multiply(prepared, pattern, places, template, None if as_it_is else order)
    made = Shortcut(dense.dtype, multiply, asked, turned)
    pattern.fast[name] = made
    return made


def _multiply(
    prepared: Any,
    pattern: Pattern,
    places: tuple[int, int, int, int],
    template: Tensor,
    order: tuple[int, ...] | None,
) -> _Multiply:
    """What is left of a call: allocate, fill in the addresses and the thread count, go.

    A closure, since every attribute that is looked up counts here.

    Args:
        prepared: The call.
        pattern: The pattern of the matrix.
        places: As `Call.simple` gives them.
        template: A tensor like the result.
        order: The order to read the dense operand in, None where that is how it lies in memory.
    """
    fixed, arrays = prepared.block_for(pattern)
    at_values, at_dense, at_out, at_threads = places
    compute = prepared.kernel.compute
    local = threading.local()
    empty_like = torch.empty_like

    def multiply(values: Tensor, dense: Tensor, number: int) -> Tensor:
        out = empty_like(template)
        if order is not None:
            dense = dense.permute(order).contiguous()
        try:
            block, address = local.mine
        except AttributeError:
            block = fixed[:]
            address = block.buffer_info()[0]
            local.mine = block, address
        for place, array in arrays:
            block[place] = array.data_ptr()
        block[at_values] = values.data_ptr()
        block[at_dense] = dense.data_ptr()
        block[at_out] = out.data_ptr()
        block[at_threads] = number
        status = compute(address)
        if status:
            call.check(status)
        return out

    return multiply
