"""The short way of a sparse matrix times a dense operand, and of its gradients: prepared as far as one shape allows.

Everything here could be left out; such products would only be slower.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._compiler import threads
from libsparse._runtime import dispatch
from libsparse._runtime.call import Call, Direct
from libsparse._runtime.dispatch import Prepared
from libsparse._runtime.problem import Operand, Problem, product, stored
from libsparse._storage.pattern import Pattern

from . import product_gradient

_KEPT = 64  # short ways that a pattern keeps, one for each shape (and strides, if unusual) of the dense operand
_PRODUCTS = {
    (transposed, ndim): product((("j", "i") if transposed else ("i", "j"), ("j", "k")[:ndim]), ("i", "k")[:ndim])
    for transposed in (False, True)
    for ndim in (1, 2)
}


def multiply(pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor | None:
    """The product of a matrix and a dense operand of its dtype; None where there is no short way."""
    followed = tape.needed((Operand(pattern, values), Operand(None, dense)))
    prepared = _product(pattern, values, dense)
    direct = _direct(prepared)
    if prepared is None or direct is None:
        return None
    values = stored(pattern, values)
    if followed:
        return differentiable(prepared, pattern, values, dense)
    return direct(values, dense, threads.count())


def differentiable(prepared: Prepared, pattern: Pattern, values: Tensor, dense: Tensor) -> Tensor:
    """The product, followed by autograd; the pattern keeps what is prepared, so that can't keep the pattern."""
    out, _ = tape.follow(_Rule(prepared), prepared.problem, (pattern, None), values, dense)
    return out


class _Rule(NamedTuple):
    """The rule of a product that is prepared."""

    prepared: Prepared

    def forward(
        self, problem: Problem, patterns: Sequence[Pattern | None], datas: Sequence[Tensor | None]
    ) -> tuple[Tensor, None, None]:
        direct = self.prepared.variant.direct
        values, dense = datas
        assert values is not None
        assert dense is not None
        if direct is None:  # the variant has been replaced by one without a short way
            return dispatch.run(problem, list(map(Operand, patterns, datas)))[0], None, None
        return direct(values, dense, threads.count()), None, None

    def gradients(
        self, problem: Problem, operands: Sequence[Operand], grad: Operand, kept: Tensor | None, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        (pattern, values, _), dense, out = operands[0], operands[1].data, grad.data
        assert pattern is not None
        assert values is not None
        assert dense is not None
        assert out is not None
        values = stored(pattern, values)
        operands = [Operand(pattern, values), operands[1]]
        short = not torch.is_grad_enabled() and out.is_contiguous() and out.dtype is self.prepared.dtype
        found: list[Tensor | None] = [None, None]
        if wanted[0]:
            direct = _direct(_sampled(pattern, out, dense)) if short and dense.is_contiguous() else None
            if direct is not None:
                found[0] = direct(out, product_gradient.conjugate(operands[1]).values, threads.count())
            else:
                found[0] = product_gradient.gradient(problem, operands, grad, 0)
        if wanted[1]:
            direct = _direct(_product(pattern, values, out, transposed=True)) if short else None
            if direct is not None:
                found[1] = direct(product_gradient.conjugate(operands[0]).values, out, threads.count())
            else:
                found[1] = product_gradient.gradient(problem, operands, grad, 1)
        return found


def _product(pattern: Pattern, values: Tensor, dense: Tensor, *, transposed: bool = False) -> Prepared | None:
    """The prepared product of the matrix, or its transpose, with a dense operand."""
    shape: Any = dense.shape if dense.is_contiguous() else (dense.shape, dense.stride())
    known: Prepared | None = pattern.fast.get((True, shape) if transposed else shape)
    if known is not None and known.dtype == dense.dtype and known.variant.direct is not None:
        return known
    operands = [Operand(pattern, values.detach()), Operand(None, dense.detach())]
    return _prepare((True, shape) if transposed else shape, _PRODUCTS[transposed, dense.ndim], operands)


def _sampled(pattern: Pattern, grad: Tensor, dense: Tensor) -> Prepared | None:
    """The prepared gradient of the values: the gradient of the result times the dense operand, at the entries."""
    name = ("sampled", dense.shape)
    known: Prepared | None = pattern.fast.get(name)
    if known is not None and known.dtype == dense.dtype and known.variant.direct is not None:
        return known
    outer, inner = ("i", "k")[: dense.ndim], ("j", "k")[: dense.ndim]
    problem = product((("i", "j"), outer, inner), ("i", "j"), pattern.format, pattern_of=0)
    return _prepare(
        name, problem, [Operand(pattern, None), Operand(None, grad.detach()), Operand(None, dense.detach())]
    )


def _prepare(name: Any, problem: Problem, operands: Sequence[Operand]) -> Prepared | None:
    """What is prepared for a problem, kept as a short way by the pattern of operand 0; None where it has none."""
    pattern = operands[0].pattern
    assert pattern is not None
    prepared = dispatch.prepare(problem, operands)
    variant = prepared.variant
    if isinstance(variant, Call) and variant.direct is None:
        variant.make_direct(operands)
    if variant.direct is None:
        return None
    prepared.dtype = operands[-1].dtype
    if len(pattern.fast) >= _KEPT:
        pattern.fast.clear()
    pattern.fast[name] = prepared
    return prepared


def _direct(prepared: Prepared | None) -> Direct | None:
    """The short way of the present variant, which another thread may replace by one without."""
    return None if prepared is None else prepared.variant.direct
