"""Gradients of expressions: each is an expression again, computed by the same compiler and differentiable again.

The derivative by an operand is the product of the partial derivatives on the way from the root to its only access,
times the gradient of the result, reduced over the indices that the operand does not have. Where the operand is sparse
its pattern joins the product. What is reduced by min or max passes its gradient to the terms that equal the result,
in equal shares; a term of a product over an index gets the product of the others. Counts, and gradients of halves, are
kept in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from libsparse._autograd import partials, tape
from libsparse._lang import assignment, dtypes, grammar, operations
from libsparse._lang.assignment import Access, Call, Expr, Number, Statement, Window
from libsparse._lang.categories import Categories
from libsparse._lang.errors import UnsupportedError
from libsparse._lang.user_functions import Definition
from libsparse._runtime import dispatch, promotion
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern

from . import einsum, evaluate


def apply(asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    """Computes an assignment that autograd follows.

    Raises:
        UnsupportedError: Something in it has no derivative.
    """
    if not tape.needed(operands):
        return dispatch.run(asked, operands)
    prepared = dispatch.prepare(asked, operands)
    if isinstance(prepared, dispatch.Chain):
        return prepared.through(operands, apply)
    value, _ = _statement(asked)  # says what has no gradient now, not in backward
    start = _start(asked, operands, _made(asked), value)
    for number, operand in enumerate(operands):
        if operand.data is not None and operand.data.requires_grad:
            partials.of(value, asked.names[number], asked.functions, start)
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
        operands = list(map(Operand, patterns, datas))
        dtype = asked.dtype or promotion.common(operands)
        assert dtype is not None  # something requires a gradient
        # unrounded: terms are compared with it
        out, pattern = dispatch.run(asked._replace(dtype=dtypes.accumulator(dtype)), operands)
        ctx.asked, ctx.patterns, ctx.result = asked, patterns, pattern
        ctx.save_for_backward(*datas, out)
        ctx.set_materialize_grads(False)
        return out.to(dtype), pattern

    @staticmethod
    def backward(ctx: Any, grad: Tensor | None, _: None) -> tuple[Tensor | None, ...]:
        if grad is None:
            return (None,) * len(ctx.needs_input_grad)
        *datas, out = ctx.saved_tensors
        operands = list(map(Operand, ctx.patterns, datas))
        known: dict[str, Any] = dict(zip(ctx.asked.names, operands, strict=True))
        made = _made(ctx.asked)
        grad = grad.resolve_conj().resolve_neg()
        known[made.grad] = Operand(ctx.result, grad if ctx.result is None else grad.contiguous())
        known[made.out] = Operand(ctx.result, out)
        known[made.unit] = torch.tensor(1j, device="cpu")
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
    others: str
    zeros: str
    pattern: str
    unit: str


def _made(asked: Problem) -> _Made:
    return _Made(*(_free(word, asked.names) for word in _Made._fields))


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else assignment.fresh(name, taken)


def _start(asked: Problem, operands: Sequence[Operand], made: _Made, value: Expr) -> partials.Start:
    """Where the gradients of the operands of a problem begin."""
    complexes = {
        name for name, o in zip(asked.names, operands, strict=True) if o.data is not None and o.data.is_complex()
    }
    found = Categories(complexes, asked.functions)
    result = found.is_complex(value) if asked.dtype is None else asked.dtype.is_complex
    complexes |= {made.unit} if complexes else set()
    complexes |= {made.grad} if result else set()
    return partials.Start(_result(asked, made.grad), Access(made.unit), Categories(complexes, asked.functions))


def _gradient(asked: Problem, operands: Sequence[Operand], known: dict[str, Any], made: _Made, number: int) -> Tensor:
    """The gradient of one operand: values on its pattern, or a dense tensor."""
    pattern, data = operands[number]
    assert data is not None
    value, reduce = _statement(asked)
    start = _start(asked, operands, made, value)
    factors, definitions = partials.of(value, asked.names[number], asked.functions, start)
    if factors is None:
        return torch.zeros_like(data)
    if reduce in ("min", "max"):
        factors.append(_share(asked, value, known, made, definitions))
    elif reduce == "prod":
        others = _others(asked, value, known, made, definitions)
        factors.append(Call("conj", (others,)) if start.categories.is_complex(value) else others)
    indices = asked.inputs[number]
    total = _with_indices(asked, partials.product(factors), indices, pattern is None)
    windows = asked.windows[number] if asked.windows else ()
    if pattern is not None:
        return _sampled(pattern, Access(made.pattern, indices, windows), total, known, definitions)
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


def _result(asked: Problem, name: str) -> Access:
    """What has the shape of the result, as the result is written: through its windows."""
    (statement,) = grammar.parse(asked.text, tuple(d.name for d in asked.functions))
    return Access(name, asked.output, statement.target.windows)


def _share(asked: Problem, value: Expr, known: dict[str, Any], made: _Made, definitions: dict[str, Definition]) -> Expr:
    """What a term that is the least or the greatest has of the gradient of the result."""
    hit = Call("eq", (value, _result(asked, made.out)), "every")  # of each term, not of their sums
    known[made.ties] = _reduced(asked, hit, known, made, definitions, "sum")
    return Call("/", (hit, Access(made.ties, asked.output)))


def _others(
    asked: Problem, value: Expr, known: dict[str, Any], made: _Made, definitions: dict[str, Definition]
) -> Expr:
    """The product of all terms but one: that of those that are not zero, unless another one is.

    Raises:
        UnsupportedError: A term is zero, and the gradient is to have one of its own.
    """
    zero = Call("eq", (value, Number(0)), "every")
    known[made.zeros] = _reduced(asked, zero, known, made, definitions, "sum")
    if torch.is_grad_enabled() and bool(known[made.zeros].data.any()):
        raise UnsupportedError(f"{asked.text}: a product over an index has no second gradient where a term is 0 yet")
    rest = Call("where", (zero, Number(1), value), "every")
    known[made.others] = _reduced(asked, rest, known, made, definitions, "prod")
    others, zeros = Access(made.others, asked.output), Access(made.zeros, asked.output)
    alone = Call("*", (others, Call("eq", (zeros, Number(1)), "every")))
    among = Call("/", (Call("*", (others, Call("eq", (zeros, Number(0)), "every"))), value))
    return Call("where", (zero, alone, among), "every")


def _reduced(
    asked: Problem, value: Expr, known: dict[str, Any], made: _Made, definitions: dict[str, Definition], reduce: str
) -> Operand:
    """A reduction of what the terms of a result are, stored as the result is."""
    pattern = known[made.out].pattern
    format = pattern.format if pattern is not None else "dense" if asked.output else None
    target = Access("n_", asked.output)
    counted, plain = evaluate.prepare("a gradient", target, value, known, format, reduce, definitions=definitions)
    data, stored = evaluate.compute(_wide(counted), plain)
    return Operand(stored, data)


def _carried(value: Expr) -> set[str]:
    """The indices of an expression."""
    return {i for node in assignment.walk(value) if isinstance(node, Access) for i in node.indices}


def _named(value: Expr) -> set[str]:
    """The scalars of an expression, and the indices that it has as values."""
    return {node.name for node in assignment.walk(value) if isinstance(node, Access) and not node.indices}


def _with_indices(asked: Problem, total: Expr, indices: Sequence[str], dense: bool) -> Expr:
    """A gradient in which every index that it is summed over, or that it has as a value, is one of an operand.

    Args:
        asked: The computation.
        total: The gradient, without the operand's own pattern.
        indices: The operand's indices.
        dense: Whether the operand is: a sparse one has its indices in the product.

    Raises:
        UnsupportedError: No operand has an index without others that are in the way.
    """
    carried = _carried(total)
    needed = {i for term in asked.inputs for i in term} - carried - set(indices)
    needed |= (_named(total) & set(indices)) - carried if dense else set()
    for index in sorted(needed):
        if index in _carried(total):
            continue
        allowed = carried | needed | set(indices)
        for number, name in enumerate(asked.names):
            if index in asked.inputs[number] and allowed.issuperset(asked.inputs[number]):
                windows = asked.windows[number] if asked.windows else ()
                total = Call("first", (total, Access(name, asked.inputs[number], windows)), "0")
                break
        else:
            raise UnsupportedError(f"{asked.text}: no gradient of a term that doesn't depend on index {index!r} yet")
    return total


def _sampled(
    pattern: Pattern, access: Access, value: Expr, known: dict[str, Any], definitions: dict[str, Definition]
) -> Tensor:
    """The values of an expression at the entries of a pattern."""
    asked, plain = evaluate.prepare(
        "a gradient",
        Access("d_", access.indices, access.windows),
        partials.product([access, value]),
        {**known, access.name: Operand(pattern, None)},
        pattern.format,
        definitions=definitions,
        pattern_of=None if access.windows else access.name,
        shape=tuple(pattern.shape) if access.windows else None,
    )
    values, made = evaluate.compute(_wide(asked), plain)
    if made is None:  # a format of dense levels only
        return pattern.spread(values.reshape(-1).index_select(0, pattern.linear()))
    return tape.resample(values, made, pattern)


def _value(target: Access, value: Expr, known: dict[str, Any], definitions: dict[str, Definition], format: Any) -> Any:
    asked, plain = evaluate.prepare("a gradient", target, value, known, format, definitions=definitions)
    return einsum.finish(*evaluate.compute(_wide(asked), plain))


def _wide(asked: Problem) -> Problem:
    """A problem without rounding to halves; autograd brings gradients to the dtype of their tensors."""
    return asked if asked.dtype is None else asked._replace(dtype=dtypes.accumulator(asked.dtype))


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
    if reduce not in ("sum", "min", "max", "prod"):
        raise UnsupportedError(
            f"{asked.text}: a reduction by {reduce!r} has no gradient; detach the operands or use torch.no_grad()"
        )
    return value, reduce


def _combined(value: Expr, combine: str) -> Expr:
    if not isinstance(value, Call):
        return value
    args = tuple([_combined(arg, combine) for arg in value.args])
    return Call(combine, args, "every") if value.op == "*" else value._replace(args=args)
