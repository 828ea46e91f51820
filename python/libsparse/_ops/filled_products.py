"""Einsums of operands with fill values: elements that are not stored make terms as stored ones do.

A finite fill value f splits an operand into what it has beyond f, which is sparse, and f everywhere; the product
distributes over both. Terms with an infinite number (or NaN) cannot be subtracted: they are counted by their signs,
and a sum of infinite terms is infinite, or NaN where signs differ or something is multiplied by 0.
"""

from __future__ import annotations

import cmath
import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from libsparse._autograd import tape
from libsparse._lang.errors import DenseResultWarning
from libsparse._runtime.problem import Einsum, Operand
from libsparse._storage import memory
from libsparse._storage.format import Format

from . import contraction, einsum_reader, elementwise, evaluate
from .assemble import assemble, to_format
from .operands import to_operand, without_fill

_MOST = 4  # operands with fill values: a product distributes over twice as many terms for each


def of(equation: Any, operands: Sequence[Any], format: str | Format | None, reduce: str, combine: str) -> Operand:
    """The einsum of operands of which some have a fill value that makes terms.

    Raises:
        UnsupportedError: There are many such operands, or the gradient of a result with infinite terms is wanted.
    """
    given = [to_operand(operand, number) for number, operand in enumerate(operands)]
    fills = [operand.fill for operand in given]
    if sum(fill != 0 for fill in fills) > _MOST:
        given[0].need_zero_fill("operand 0")
    if (reduce, combine) != ("sum", "mul"):
        return _assigned(equation, given, format, reduce, combine)
    infinite = [not cmath.isfinite(fill) for fill in fills]
    if any(infinite):
        # The gradient of an operand has the infinite numbers of the others as factors.
        followed = [o for number, o in enumerate(given) if any(infinite[:number] + infinite[number + 1 :])]
        if tape.needed(followed) or any(o.dtype.is_complex for o in given):
            number = infinite.index(True)
            given[number].need_zero_fill(f"operand {number}")
        given = [
            without_fill(o.sparsity, o.values, o.fill) if flag and o.sparsity.format.pads else o
            for o, flag in zip(given, infinite, strict=True)
        ]
    question, plain = einsum_reader.read(equation, [Operand(o.pattern, o.data) for o in given])
    product = _Product(question, plain, fills)
    wanted = None if format is None or not question.output else Format(format).resolve(len(question.output))
    sparse = all(o.pattern is not None for o in plain)
    if sparse and not any(infinite) and (wanted is None or not wanted.is_dense) and product.keeps_sparse():
        # Where nothing is summed, the product itself is exact, and infinity stays what it is.
        return _assigned(equation, given, format, reduce, combine) if product.sums_nothing() else product.sparse(wanted)
    product.check_size()
    if sparse and wanted is None and len(question.output) > 1:  # a dense vector is no large one
        _warn(str(equation), fills)
    finite: list[float] = [0.0 if flag else fill for flag, fill in zip(infinite, fills, strict=True)]
    dense = _Product(question, plain, finite).dense()
    if any(infinite) or _may_be_undefined(dense, plain):
        with torch.no_grad():
            repaired = product.infinite()
        dense = _Repaired.apply(dense, repaired) if tape.needed(plain) else repaired
    if wanted is None or wanted.is_dense:
        return to_format(Operand(None, dense), wanted) if wanted is not None else Operand(None, dense)
    coords = dense.detach().nonzero(as_tuple=True)
    return assemble(list(coords), dense[coords], dense.shape, wanted)


def _warn(equation: str, fills: Sequence[float]) -> None:
    number = next(n for n, fill in enumerate(fills) if fill != 0)
    warnings.warn(
        f"einsum {equation!r}: the result is dense, although all operands are sparse, because operand {number} is "
        f"{fills[number]} where it stores nothing. If only stored entries matter, pass "
        "ls.SparseTensor(A.pattern, A.values()); if the dense result is meant, pass format='dense'",
        DenseResultWarning,
        stacklevel=4,
    )


def _assigned(
    equation: Any, given: Sequence[Operand], format: str | Format | None, reduce: str, combine: str
) -> Operand:
    """An einsum as an assignment, in which an operand with a fill value has a value everywhere."""
    question, plain = einsum_reader.read(equation, [Operand(o.pattern, o.data) for o in given], format, reduce, combine)
    filled = [o._replace(fill=g.fill) if o.pattern is not None else o for o, g in zip(plain, given, strict=True)]
    names = [f"operand_{number}" for number in range(len(filled))]
    accesses = [f"{name}({','.join(i)})" if i else name for name, i in zip(names, question.inputs, strict=True)]
    text = accesses[0]
    for access in accesses[1:]:
        text = f"{text} * {access}" if question.combine == "mul" else f"{question.combine}[every]({text}, {access})"
    target = f"out({','.join(question.output)})" if question.output else "out"
    named: dict[str, Any] = dict(zip(names, filled, strict=True))
    return evaluate.evaluate(f"{target} = {text}", format=format, reduce=question.reduce, **named)


class _Product:
    """A sum of products, of operands without and fill values beside them."""

    def __init__(self, question: Einsum, operands: Sequence[Operand], fills: Sequence[float]) -> None:
        self.question, self.operands = question, operands
        self.fills = [fill * 1 for fill in fills]  # True is 1 among numbers
        self.extents = {
            index: extent
            for indices, operand in zip(question.inputs, operands, strict=True)
            for index, extent in zip(indices, operand.shape, strict=True)
        }
        self.dtype = question.dtype or torch.float32
        question.problem().extents(operands)

    def check_size(self) -> None:
        """The dense result fits into memory."""
        count = math.prod(self.extents[index] for index in self.question.output)
        memory.check(
            count, self.dtype.itemsize, "the dense result of a product with a fill value", "use operands without one"
        )

    def keeps_sparse(self) -> bool:
        """Whether each term of the expanded product has all indices of the result, or none."""
        output = set(self.question.output)
        return bool(output) and all(
            output <= {index for n in kept for index in self.question.inputs[n]} for kept, _ in self._expanded() if kept
        )

    def sums_nothing(self) -> bool:
        """Whether each element of the result is one product."""
        return set(self.extents) == set(self.question.output)

    def sparse(self, wanted: Format | None) -> Operand:
        """The result, sparse, whose fill value is the term in which no operand is stored."""
        if self.dtype == torch.bool:
            found = self._counted().sparse(wanted)
            return found._replace(data=found.values != 0, fill=found.fill != 0)
        self.operands = self._beyond()
        total: Operand | None = None
        fill: float = 0
        for kept, scale in self._expanded():
            if not kept:
                fill = scale
                continue
            inputs = tuple([self.question.inputs[n] for n in kept])
            part = einsum_reader.compute(
                Einsum(inputs, self.question.output, wanted, dtype=self.question.dtype),
                [self.operands[n] for n in kept],
            )
            part = elementwise.scaled(part, scale)
            total = part if total is None else to_operand(elementwise.plus(total, part))
        assert total is not None
        if total.pattern is None:
            return Operand(None, total.values + fill)
        found = total._replace(data=total.values + fill, fill=fill)
        return found if wanted is None else to_format(found, wanted)

    def dense(self) -> Tensor:
        """The result, dense."""
        if self.dtype == torch.bool:
            return self._counted().dense() != 0
        self.operands = self._beyond()
        output = self.question.output
        total = torch.zeros([self.extents[i] for i in output], dtype=self.dtype, device="cpu")
        for kept, scale in self._expanded():
            if not scale:
                continue
            if not kept:
                total = total + scale
                continue
            inputs = tuple([self.question.inputs[n] for n in kept])
            covered = {index for indices in inputs for index in indices}
            rest = tuple(index for index in output if index in covered)
            question = Einsum(inputs, rest, contraction.dense_format(len(rest)), dtype=self.dtype)
            data, _ = contraction.contract(question, [self.operands[n] for n in kept])
            total = total + scale * data[tuple(slice(None) if i in covered else None for i in output)]
        return total

    def _counted(self) -> _Product:
        """The number of terms of an or of ands that are true."""
        whole = [o.with_data(o.values.to(torch.int64)) for o in self.operands]
        return _Product(self.question._replace(dtype=torch.int64), whole, [int(f) for f in self.fills])

    def _beyond(self) -> list[Operand]:
        """The operands less their fill values, in the dtype of the result: that of an operand may wrap, or be bool."""
        return [
            o.with_data(o.values.to(torch.promote_types(o.dtype, self.dtype)) - fill) if fill else o
            for o, fill in zip(self.operands, self.fills, strict=True)
        ]

    def _expanded(self) -> list[tuple[tuple[int, ...], float]]:
        """The terms of the expanded product: the operands that each keeps, and the product of what it has of others."""
        filled = [n for n, fill in enumerate(self.fills) if fill]
        found = []
        for size in range(len(filled) + 1):
            for dropped in itertools.combinations(filled, size):
                kept = tuple(n for n in range(len(self.fills)) if n not in dropped)
                covered = {index for n in kept for index in self.question.inputs[n]} | {*self.question.output}
                free = {index for n in dropped for index in self.question.inputs[n]} - covered
                scale = math.prod(self.fills[n] for n in dropped) * math.prod(self.extents[i] for i in free)
                found.append((kept, self._wrapped(scale)))
        return found

    def _wrapped(self, number: float) -> float:
        """A number as the dtype of the result has it: integers wrap."""
        if self.dtype.is_floating_point or self.dtype.is_complex or self.dtype == torch.bool:
            return number
        info = torch.iinfo(self.dtype)
        return (int(number) - info.min) % (info.max - info.min + 1) + info.min

    def infinite(self) -> Tensor:
        """The result, dense, where values or fill values are not finite, without its gradient."""
        held = [o.with_data(o.values.detach()) for o in self.operands]
        kept = [o.values.isfinite() for o in held]
        inside = [fill if cmath.isfinite(fill) else 0.0 for fill in self.fills]
        finite = [o.with_data(torch.where(flags, o.values, 0)) for o, flags in zip(held, kept, strict=True)]
        stored = _Product(self.question, finite, inside).dense()
        question = self.question._replace(dtype=torch.int64)

        def outside(of: Callable[[Tensor], Tensor]) -> Tensor:
            """The sum of products of integers, over the terms in which something is not finite."""
            counts = [o.with_data(of(o.values).to(torch.int64)) for o in held]
            numbers = [torch.tensor(float(fill), dtype=torch.float64, device="cpu") for fill in self.fills]
            # Without a fill value, elements that are not stored make no terms.
            fills = [int(of(number).item()) if fill else 0 for number, fill in zip(numbers, self.fills, strict=True)]
            known = [fill if cmath.isfinite(own) else 0 for fill, own in zip(fills, self.fills, strict=True)]
            fewer = [o.with_data(torch.where(flags, o.values, 0)) for o, flags in zip(counts, kept, strict=True)]
            return _Product(question, counts, fills).dense() - _Product(question, fewer, known).dense()

        signed, unsigned = outside(_sign), outside(lambda x: _sign(x).abs())
        numbers, terms = outside(lambda x: ~x.isnan()), outside(torch.ones_like)
        undefined = (terms > numbers) | (numbers > unsigned) | (signed.abs() != unsigned)
        infinite = torch.where(signed > 0, math.inf, -math.inf).masked_fill(undefined, math.nan)
        return stored + infinite.masked_fill(terms == 0, 0).to(stored.dtype)


class _Repaired(torch.autograd.Function):
    """Another value for a sum of terms: it has their gradient, which does not depend on what they are."""

    generate_vmap_rule = True

    @staticmethod
    def forward(terms: Tensor, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, ...], output: Tensor) -> None:
        """Nothing is kept."""

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return grad, None

    @staticmethod
    def jvp(ctx: Any, change: Tensor, _: None) -> Tensor:
        return change.clone()


def _may_be_undefined(dense: Tensor, operands: Sequence[Operand]) -> bool:
    """Whether a sum of terms and terms of a fill value may be infinity minus infinity, which the whole sum is not."""
    if not dense.is_floating_point() or tape.is_traced(operands):
        return False
    return tape.is_transformed(operands) or not bool(dense.isfinite().all())  # a transform shows no elements


def _sign(values: Tensor) -> Tensor:
    """The signs of numbers, 0 of NaN."""
    return torch.where(values.isnan(), 0, values.sign()) if values.is_floating_point() else values.sign()
