"""Gradients of expressions: each is an expression again, computed by the same compiler and differentiable again.

The derivative by an operand is the product of the partial derivatives on the way from the root to its only access,
times the gradient of the result, reduced over the indices that the operand does not have. Where the operand is sparse
its pattern joins the product. A reduction by min or max passes its gradient to the terms that equal the result,
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
from libsparse._runtime.dispatch import Result
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.pattern import Pattern

from . import statements


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem that is no sum of products, followed by autograd.

    Raises:
        UnsupportedError: Something in it has no derivative.
    """
    problem = problem if problem.is_expr else _as_expression(problem)
    variant = dispatch.prepare(problem, operands).variant
    if isinstance(variant, dispatch.Chain):
        return variant.through(operands, tape.compute)
    value, _ = _statement(problem)  # raises now, not in backward, where something has no gradient
    start = _start(problem, operands, _names(problem), value)
    for number, operand in enumerate(operands):
        if operand.data is not None and operand.data.requires_grad:
            partials.of(value, problem.names[number], problem.functions, start)
    return tape.follow(_Expression, problem, operands)


def _as_expression(problem: Problem) -> Problem:
    """An einsum as an assignment."""
    accesses = [Access(n, indices) for n, indices in zip(problem.names, problem.inputs, strict=True)]
    value: Expr = accesses[0]
    for access in accesses[1:]:
        value = (
            Call("*", (value, access)) if problem.combine == "mul" else Call(problem.combine, (value, access), "every")
        )
    text = str(Statement(Access("out", problem.output), "", value))
    return problem._replace(text=text, is_expr=True, combine="mul")


class _Expression(tape.Node):
    """An assignment; it keeps the unrounded result, which terms are compared with."""

    __slots__ = ()

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        operands = self.operands(datas)
        dtype = self.problem.dtype or promotion.common(operands)
        assert dtype is not None  # something requires a gradient
        out, self.pattern = dispatch.run(self.problem._replace(dtype=dtypes.accumulator(dtype)), operands)
        return out.to(dtype), out

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        problem, operands = self.problem, self.operands(datas)
        names = _names(problem)
        known: dict[str, Any] = dict(zip(problem.names, operands, strict=True))
        known[names.grad] = Operand(self.pattern, grad)
        known[names.out] = Operand(self.pattern, kept)
        known[names.unit] = torch.tensor(1j, device="cpu")
        return [
            _gradient(problem, operands, known, names, number) if want else None for number, want in enumerate(wanted)
        ]


class _Names(NamedTuple):
    """The names of the operands that gradients add."""

    grad: str
    out: str
    ties: str
    others: str
    zeros: str
    pattern: str
    unit: str


def _names(problem: Problem) -> _Names:
    return _Names(*(_free(word, problem.names) for word in _Names._fields))


def _free(name: str, taken: Sequence[str]) -> str:
    return name if name not in taken else assignment.fresh(name, taken)


def _start(problem: Problem, operands: Sequence[Operand], names: _Names, value: Expr) -> partials.Start:
    """Where the gradients of the operands of a problem begin."""
    complexes = {
        name for name, o in zip(problem.names, operands, strict=True) if o.data is not None and o.data.is_complex()
    }
    found = Categories(complexes, problem.functions)
    result = found.is_complex(value) if problem.dtype is None else problem.dtype.is_complex
    complexes |= {names.unit} if complexes else set()
    complexes |= {names.grad} if result else set()
    return partials.Start(_result(problem, names.grad), Access(names.unit), Categories(complexes, problem.functions))


def _gradient(
    problem: Problem, operands: Sequence[Operand], known: dict[str, Any], names: _Names, number: int
) -> Tensor:
    """The gradient of one operand: values on its pattern, or a dense tensor."""
    pattern, data = operands[number].pattern, operands[number].values
    value, reduce = _statement(problem)
    start = _start(problem, operands, names, value)
    factors, definitions = partials.of(value, problem.names[number], problem.functions, start)
    if factors is None:
        return torch.zeros_like(data)
    if reduce in ("min", "max"):
        factors.append(_share(problem, value, known, names, definitions))
    elif reduce == "prod":
        others = _others(problem, value, known, names, definitions)
        factors.append(Call("conj", (others,)) if start.categories.is_complex(value) else others)
    indices = problem.inputs[number]
    total = _with_indices(problem, partials.product(factors), indices, pattern is None)
    windows = problem.windows[number] if problem.windows else ()
    if pattern is not None:
        return _sampled(pattern, Access(names.pattern, indices, windows), total, known, definitions)
    carried = assignment.indices(total)
    kept = tuple(index for index in indices if index in carried)
    part = _value(Access("d_", kept), total, known, definitions, "dense" if kept else None)
    extents = problem.extents(operands)
    part = part[tuple(slice(None) if i in carried else None for i in indices)].expand([extents[i] for i in indices])
    if not windows:
        return part
    whole = torch.zeros(data.shape, dtype=part.dtype, device="cpu")
    whole[tuple(w.slice if isinstance(w, Window) else slice(None) for w in windows)] = part
    return whole


def _result(problem: Problem, name: str) -> Access:
    """An access to a tensor of the shape of the result, through the windows of the result."""
    (statement,) = grammar.parse(problem.text, tuple(d.name for d in problem.functions))
    return Access(name, problem.output, statement.target.windows)


def _share(
    problem: Problem, value: Expr, known: dict[str, Any], names: _Names, definitions: dict[str, Definition]
) -> Expr:
    """The share in the gradient of the result of each term that is the least or the greatest."""
    hit = Call("eq", (value, _result(problem, names.out)), "every")  # of each term, not of their sums
    known[names.ties] = _reduced(problem, hit, known, names, definitions, "sum")
    return Call("/", (hit, Access(names.ties, problem.output)))


def _others(
    problem: Problem, value: Expr, known: dict[str, Any], names: _Names, definitions: dict[str, Definition]
) -> Expr:
    """The product of all terms but one: of the nonzero terms, or 0 where another term is 0.

    Raises:
        UnsupportedError: A term is zero, and the gradient is to have one of its own.
    """
    zero = Call("eq", (value, Number(0)), "every")
    known[names.zeros] = _reduced(problem, zero, known, names, definitions, "sum")
    if torch.is_grad_enabled() and bool(known[names.zeros].data.any()):
        raise UnsupportedError(f"{problem.text}: a product over an index has no second gradient where a term is 0 yet")
    rest = Call("where", (zero, Number(1), value), "every")
    known[names.others] = _reduced(problem, rest, known, names, definitions, "prod")
    others, zeros = Access(names.others, problem.output), Access(names.zeros, problem.output)
    alone = Call("*", (others, Call("eq", (zeros, Number(1)), "every")))
    among = Call("/", (Call("*", (others, Call("eq", (zeros, Number(0)), "every"))), value))
    return Call("where", (zero, alone, among), "every")


def _reduced(
    problem: Problem, value: Expr, known: dict[str, Any], names: _Names, definitions: dict[str, Definition], reduce: str
) -> Operand:
    """A reduction of expressions over the terms of a result, stored as the result is."""
    pattern = known[names.out].pattern
    format = pattern.format if pattern is not None else "dense" if problem.output else None
    target = Access("n_", problem.output)
    counted, plain = statements.prepare("a gradient", target, value, known, format, reduce, definitions=definitions)
    data, stored = tape.compute(_wide(counted), plain)
    return Operand(stored, data)


def _named(value: Expr) -> set[str]:
    """The scalars of an expression, and the indices that it has as values."""
    return {node.name for node in assignment.walk(value) if isinstance(node, Access) and not node.indices}


def _with_indices(problem: Problem, total: Expr, indices: Sequence[str], dense: bool) -> Expr:
    """A gradient in which every index that it is summed over, or that it has as a value, is one of an operand.

    Args:
        problem: The computation.
        total: The gradient, without the operand's own pattern.
        indices: The operand's indices.
        dense: Whether the operand is: a sparse one has its indices in the product.

    Raises:
        UnsupportedError: No operand has an index without others that are in the way.
    """
    carried = assignment.indices(total)
    needed = {i for term in problem.inputs for i in term} - carried - set(indices)
    needed |= (_named(total) & set(indices)) - carried if dense else set()
    for index in sorted(needed):
        if index in assignment.indices(total):
            continue
        allowed = carried | needed | set(indices)
        for number, name in enumerate(problem.names):
            if index in problem.inputs[number] and allowed.issuperset(problem.inputs[number]):
                windows = problem.windows[number] if problem.windows else ()
                total = Call("first", (total, Access(name, problem.inputs[number], windows)), "0")
                break
        else:
            raise UnsupportedError(f"{problem.text}: no gradient of a term that doesn't depend on index {index!r} yet")
    return total


def _sampled(
    pattern: Pattern, access: Access, value: Expr, known: dict[str, Any], definitions: dict[str, Definition]
) -> Tensor:
    """The values of an expression at the entries of a pattern."""
    problem, plain = statements.prepare(
        "a gradient",
        Access("d_", access.indices, access.windows),
        partials.product([access, value]),
        {**known, access.name: Operand(pattern, None)},
        pattern.format,
        definitions=definitions,
        pattern_of=None if access.windows else access.name,
        shape=tuple(pattern.shape) if access.windows else None,
    )
    values, found = tape.compute(_wide(problem), plain)
    if found is None:  # a format of dense levels only
        return pattern.spread(values.reshape(-1).index_select(0, pattern.linear()))
    return pattern.resample(values, found)


def _value(
    target: Access, value: Expr, known: dict[str, Any], definitions: dict[str, Definition], format: Any
) -> Tensor:
    problem, plain = statements.prepare("a gradient", target, value, known, format, definitions=definitions)
    return tape.compute(_wide(problem), plain)[0]


def _wide(problem: Problem) -> Problem:
    """A problem without rounding to halves; autograd brings gradients to the dtype of their tensors."""
    return problem if problem.dtype is None else problem._replace(dtype=dtypes.accumulator(problem.dtype))


def _statement(problem: Problem) -> tuple[Expr, str]:
    """The right side of a problem, and its reduction if there is anything to reduce.

    Raises:
        UnsupportedError: The reduction has no gradient.
    """
    called = tuple(d.name for d in problem.functions)
    (statement,) = grammar.parse(problem.text, called)
    value = statement.value
    if problem.combine != "mul":
        value = _combined(value, problem.combine)
    reduce = operations.REDUCTIONS[statement.sign] if statement.sign else problem.reduce
    if {i for term in problem.inputs for i in term} <= set(problem.output):
        reduce = "sum"
    if reduce not in ("sum", "min", "max", "prod"):
        raise UnsupportedError(
            f"{problem.text}: a reduction by {reduce!r} has no gradient; detach the operands or use torch.no_grad()"
        )
    return value, reduce


def _combined(value: Expr, combine: str) -> Expr:
    if not isinstance(value, Call):
        return value
    args = tuple([_combined(arg, combine) for arg in value.args])
    return Call(combine, args, "every") if value.op == "*" else value._replace(args=args)
