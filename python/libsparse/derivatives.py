"""Gradients of expressions: each is an expression again, computed by the same compiler and differentiable again.

The derivative by an operand is the product of the partial derivatives on the way from the root to its only access,
times the gradient of the result, reduced over the indices that the operand does not have. Where the operand is sparse
its pattern joins the product. What is reduced by min or max passes its gradient to the terms that equal the result,
in equal shares.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from . import assignment, autograd, einsums, expressions, grammar, operations, partials, running
from .assignment import Access, Call, Expr, Statement, Window
from .errors import UnsupportedError
from .pattern import Pattern
from .problem import Operand, Problem
from .registry import Definition


def apply(asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    """Computes an assignment that autograd follows.

    Raises:
        UnsupportedError: Something in it has no derivative.
    """
    if not autograd.needed(operands):
        return running.run(asked, operands)
    prepared = running.prepare(asked, operands)
    if isinstance(prepared, running.Chain):
        return prepared.through(operands, apply)
    value, _ = _statement(asked)  # says what has no gradient now, not in backward
    for number, operand in enumerate(operands):
        if operand.data is not None and operand.data.requires_grad:
            partials.of(value, asked.names[number], asked.functions)
    patterns = [o.pattern for o in operands]
    out, pattern = _Expression.apply(asked, patterns, *(o.data for o in operands))
    return out, pattern


def as_expression(asked: Problem) -> Problem:
    """An einsum as an assignment."""
    accesses = [Access(n, indices) for n, indices in zip(asked.names, asked.inputs, strict=True)]
    value: Expr = accesses[0]
    for access in accesses[1:]:
        value = Call("*", (value, access)) if asked.combine == "mul" else Call(asked.combine, (value, access), "every")
    text = str(Statement(Access("out", asked.output), "", value))
    return asked._replace(text=text, is_expr=True, combine="mul")


class _Expression(torch.autograd.Function):
    """Values in, values out; patterns travel beside them."""

    @staticmethod
    def forward(
        ctx: Any, asked: Problem, patterns: list[Pattern | None], *datas: Tensor | None
    ) -> tuple[Tensor, Pattern | None]:
        out, pattern = running.run(asked, list(map(Operand, patterns, datas)))
        ctx.asked, ctx.patterns, ctx.result = asked, patterns, pattern
        ctx.save_for_backward(*datas, out)
        ctx.set_materialize_grads(False)
        return out, pattern

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        *datas, out = ctx.saved_tensors
        operands = list(map(Operand, ctx.patterns, datas))
        known = {
            name: einsums.finish(o.data, o.pattern) if o.data is not None else _mask(o.pattern)
            for name, o in zip(ctx.asked.names, operands, strict=True)
        }
        made = _Made(*(_free(word, ctx.asked.names) for word in _Made._fields))
        known[made.grad] = einsums.finish(grad if ctx.result is None else grad.contiguous(), ctx.result)
        known[made.out] = einsums.finish(out, ctx.result)
        return (
            None,
            None,
            *(
                _gradient(ctx.asked, operands, known, made, number) if wanted else None
                for number, wanted in enumerate(ctx.needs_input_grad[2:])
            ),
        )


class _Made(NamedTuple):
    """The names that gradients give to what they add to the operands."""

    grad: str
    out: str
    ties: str
    pattern: str


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else assignment.fresh(name, taken)


def _gradient(asked: Problem, operands: Sequence[Operand], known: dict[str, Any], made: _Made, number: int) -> Tensor:
    """The gradient of one operand: values on its pattern, or a dense tensor."""
    pattern, data = operands[number]
    assert data is not None
    value, reduce = _statement(asked)
    partial, definitions = partials.of(value, asked.names[number], asked.functions)
    if partial is None:
        return torch.zeros_like(data)
    factors: list[Expr] = [Access(made.grad, asked.output)]
    if partial != partials.ONE:
        factors.append(partial)
    if reduce in ("min", "max"):
        hit = Call("eq", (value, Access(made.out, asked.output)), "every")  # of each term, not of their sums
        known[made.ties] = _value(
            Access("n_", asked.output), hit, known, definitions, "dense" if asked.output else None
        )
        factors += [hit, Call("/", (partials.ONE, Access(made.ties, asked.output)))]
    indices = asked.inputs[number]
    _check_carried(asked, factors, indices)
    windows = asked.windows[number] if asked.windows else ()
    if pattern is not None:
        return _sampled(pattern, Access(made.pattern, indices, windows), factors, known, definitions)
    total = partials.product(factors)
    carried = _carried(total)
    kept = tuple(index for index in indices if index in carried)
    part: Tensor = _value(Access("d_", kept), total, known, definitions, "dense" if kept else None)
    extents = asked.extents(operands)
    part = part[tuple(slice(None) if i in carried else None for i in indices)].expand([extents[i] for i in indices])
    if not windows:
        return part
    whole = torch.zeros(data.shape, dtype=part.dtype, device="cpu")
    whole[tuple(w.slice if isinstance(w, Window) else slice(None) for w in windows)] = part
    return whole


def _carried(value: Expr) -> set[str]:
    """The indices of an expression."""
    return {i for node in assignment.walk(value) if isinstance(node, Access) for i in node.indices}


def _check_carried(asked: Problem, factors: Sequence[Expr], indices: Sequence[str]) -> None:
    """Raises an UnsupportedError where a gradient would have to be summed over an index that nothing in it has."""
    missing = {i for term in asked.inputs for i in term} - _carried(partials.product(factors)) - set(indices)
    if missing:
        raise UnsupportedError(f"{asked.text}: no gradient of a term that doesn't depend on index {min(missing)!r} yet")


def _sampled(
    pattern: Pattern, access: Access, factors: list[Expr], known: dict[str, Any], definitions: dict[str, Definition]
) -> Tensor:
    """The values of a product at the entries of a pattern."""
    asked, plain = expressions.prepare(
        "a gradient",
        Access("d_", access.indices, access.windows),
        partials.product([access, *factors]),
        {**known, access.name: _mask(pattern)},
        pattern.format,
        definitions=definitions,
        pattern_of=None if access.windows else access.name,
        shape=tuple(pattern.shape) if access.windows else None,
    )
    values, made = expressions.compute(asked, plain)
    return autograd.resample(values, made, pattern)


def _value(target: Access, value: Expr, known: dict[str, Any], definitions: dict[str, Definition], format: Any) -> Any:
    asked, plain = expressions.prepare("a gradient", target, value, known, format, definitions=definitions)
    return einsums.finish(*expressions.compute(asked, plain))


def _mask(pattern: Pattern | None) -> Any:
    from . import sparsetensor

    assert pattern is not None
    return sparsetensor.SparseTensor(pattern, None)


def _statement(asked: Problem) -> tuple[Expr, str]:
    """The right side of a problem, and its reduction if there is anything to reduce.

    Raises:
        UnsupportedError: The reduction has no gradient.
    """
    called = tuple(d.name for d in asked.functions)
    (statement,) = grammar.parse(asked.text, called)
    value = statement.value
    if asked.combine != "mul":
        value = _combined(value, asked.combine)
    reduce = operations.REDUCTIONS[statement.sign] if statement.sign else asked.reduce
    if {i for term in asked.inputs for i in term} <= set(asked.output):
        reduce = "sum"
    if reduce not in ("sum", "min", "max"):
        raise UnsupportedError(
            f"{asked.text}: a reduction by {reduce!r} has no gradient; detach the operands or use torch.no_grad()"
        )
    return value, reduce


def _combined(value: Expr, combine: str) -> Expr:
    if not isinstance(value, Call):
        return value
    args = tuple([_combined(arg, combine) for arg in value.args])
    return Call(combine, args, "every") if value.op == "*" else value._replace(args=args)
