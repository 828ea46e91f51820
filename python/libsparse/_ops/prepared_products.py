"""The short way of a sparse matrix times a dense operand, and of its gradients: prepared as far as one shape allows.

Everything here could be left out; such products would only be slower.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._runtime import dispatch, likes, notes
from libsparse._runtime.call import Call
from libsparse._runtime.direct import Direct
from libsparse._runtime.dispatch import Prepared
from libsparse._runtime.problem import Einsum, Operand, Problem, product, stored
from libsparse._storage import threads
from libsparse._storage.derived import is_first
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import product_gradient
from .product_gradient import conjugate

_profiled = torch._C._autograd._profiler_enabled
_KEPT = 64  # short ways that a pattern keeps, one for each shape (and strides, if unusual) of the dense operand
_PRODUCTS = {
    (transposed, ndim): product(
        Einsum((("j", "i") if transposed else ("i", "j"), ("j", "k")[:ndim]), ("i", "k")[:ndim])
    )
    for transposed in (False, True)
    for ndim in (1, 2)
}


def multiply(pattern: Pattern, values: Tensor | None, dense: Tensor) -> Tensor | None:
    """The product of a matrix and a dense operand of its dtype, which no transform of torch has changed.

    None where there is no short way.

    Args:
        pattern: The matrix's.
        values: Its values, None of a matrix that has none: it is 1 at its entries.
        dense: (columns, n) or (columns,).
    """
    wants_grad = dense.requires_grad or (values is not None and values.requires_grad)
    followed = wants_grad and torch.is_grad_enabled()
    prepared = _product(pattern, values, dense)
    direct = None if prepared is None else prepared.variant.direct
    if prepared is None or direct is None or (_profiled() and not followed):
        return None
    values = None if values is None else stored(pattern, values)
    if not followed and notes.notes.runs is None:
        return _computed(direct, values, dense)
    operands = [Operand(pattern, values), Operand(None, dense)]
    return notes.run(functools.partial(_follow, prepared) if followed else prepared, operands)[0]


def _follow(prepared: Prepared | Once, operands: Sequence[Operand]) -> tuple[Tensor, None]:
    """The product as a node of autograd's graph."""
    (pattern, values, _), (_, dense, _) = operands
    assert pattern is not None
    return tape.Function.apply(PreparedProduct(prepared, pattern), values, dense), None


class PreparedProduct(tape.Node):
    """A product that is prepared, whose gradients are prepared, too.

    The pattern keeps the prepared product, which therefore can't keep the pattern: a node has both.
    """

    __slots__ = ("prepared",)
    pattern = None  # the result is dense

    def __init__(self, prepared: Prepared | Once, pattern: Pattern) -> None:
        """Begin without a result."""
        self.prepared, self.problem, self.patterns = prepared, prepared.problem, (pattern, None)

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, None]:
        direct = self.prepared.variant.direct
        if direct is None or _profiled():  # the variant has been replaced by one without a short way
            return dispatch.run(self.problem, self.operands(datas))[0], None
        return _computed(direct, *datas), None

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        pattern, (values, dense) = self.patterns[0], datas
        assert pattern is not None
        values = None if values is None else stored(pattern, values)
        found: list[Tensor | None] = [None, None]
        short = not torch.is_grad_enabled()
        if short and 0 in grad.stride():  # as that of a sum, which kernels read as a copy
            grad = grad.contiguous()
        if short and grad.is_contiguous() and grad.dtype is self.prepared.dtype:
            if wanted[0] and dense.is_contiguous():
                found[0] = _run(_sampled(pattern, grad, dense), pattern, grad, conjugate(dense))
            if wanted[1]:
                product = _product(pattern, values, grad, transposed=True)
                found[1] = _run(product, pattern, None if values is None else conjugate(values), grad)
        left = [want and data is None for want, data in zip(wanted, found, strict=True)]
        if any(left):
            operands, result = self.operands((values, dense)), Operand(None, grad)
            compute = functools.partial(product_gradient.gradient, self.problem, operands, result)
            others = tape.gradients(self, (values, dense), kept, grad, left, compute)
            found = [other if data is None else data for data, other in zip(found, others, strict=True)]
        return found


class Once:
    """A product on a pattern for the first time, and perhaps the last: most of what is prepared would be of no use.

    Attributes:
        problem, dtype: As those of `Prepared`.
        direct: How it is computed.
    """

    __slots__ = ("direct", "dtype", "problem")

    def __init__(self, problem: Problem, direct: Direct, dtype: torch.dtype) -> None:
        """Take all of it."""
        self.problem, self.direct, self.dtype = problem, direct, dtype

    @property
    def variant(self) -> Once:
        """This, which has the shortest way."""
        return self


def _computed(direct: Direct, first: Tensor | None, second: Tensor) -> Tensor:
    """The product of values, None where the matrix has none, and a dense operand."""
    return direct(second, threads.count()) if first is None else direct(first, second, threads.count())


def _run(prepared: Prepared | Once | None, pattern: Pattern, first: Tensor | None, second: Tensor) -> Tensor | None:
    """Computes by the short way of the present variant, which another thread may replace by one without.

    While torch's profiler runs, the same problem is computed by the usual way, which the profiler and `ls.tune` see.
    """
    if prepared is not None and _profiled():
        sampled = prepared.problem.pattern_of is not None
        matrix = Operand(pattern, None if sampled else first)
        others = [Operand(None, x) for x in ((first, second) if sampled else (second,)) if x is not None]
        return dispatch.run(prepared.problem, [matrix, *others])[0]
    direct = None if prepared is None else prepared.variant.direct
    return None if direct is None else _computed(direct, first, second)


def _product(
    pattern: Pattern, values: Tensor | None, dense: Tensor, *, transposed: bool = False
) -> Prepared | Once | None:
    """The prepared product of the matrix, or its transpose, with a dense operand."""
    shape: Any = dense.shape if dense.is_contiguous() else (dense.shape, dense.stride())
    name = (True, shape) if transposed else shape
    name = (None, name) if values is None else name
    known: Prepared | None = pattern.fast.get(name)
    if known is not None and known.dtype == dense.dtype and known.variant.direct is not None:
        return known
    data = None if values is None else _unfollowed(values)
    operands = [Operand(pattern, data), Operand(None, _unfollowed(dense))]
    return _prepare(name, _PRODUCTS[transposed, dense.ndim], operands)


def _sampled(pattern: Pattern, grad: Tensor, dense: Tensor) -> Prepared | Once | None:
    """The prepared gradient of the values: the gradient of the result times the dense operand, at the entries."""
    name = ("sampled", dense.shape)
    known: Prepared | None = pattern.fast.get(name)
    if known is not None and known.dtype == dense.dtype and known.variant.direct is not None:
        return known
    operands = [Operand(pattern, None), Operand(None, _unfollowed(grad)), Operand(None, _unfollowed(dense))]
    return _prepare(name, _sample(pattern.format, dense.ndim), operands)


@functools.cache
def _sample(format: Format, ndim: int) -> Problem:
    outer, inner = ("i", "k")[:ndim], ("j", "k")[:ndim]
    return product(Einsum((("i", "j"), outer, inner), ("i", "j"), format, pattern_of=0))


def _unfollowed(tensor: Tensor) -> Tensor:
    """A tensor that autograd doesn't follow; to detach one takes a tenth of a first call."""
    return tensor.detach() if tensor.requires_grad else tensor


def _prepare(name: Any, problem: Problem, operands: Sequence[Operand]) -> Prepared | Once | None:
    """A prepared problem, kept as a short way by the pattern of operand 0 from the second time on; None without one."""
    pattern = operands[0].sparsity
    first = notes.notes.runs is None and is_first(pattern.begun, name)
    if first:
        found = likes.bound(problem, operands)
        like = likes.once(problem, operands) if found is None else None
        direct = found[1] if found is not None else None if like is None else like.shortest(operands)
        if direct is not None:
            pattern.begun[name] = ()  # what is prepared later counts this call, too
            return Once(problem, direct, operands[-1].dtype)
    prepared = dispatch.prepare(problem, operands, used=pattern.begun.get(name) is not None)
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
