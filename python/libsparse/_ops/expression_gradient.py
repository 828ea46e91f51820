"""Gradients of expressions: each is an expression again, computed by the same compiler and differentiable again.

The derivative by an operand is the product of the partial derivatives on the way from the root to its only access,
times the gradient of the result, reduced over the indices that the operand does not have. Where the operand is sparse
its pattern joins the product. A reduction by min or max passes its gradient to the terms that equal the result,
in equal shares; a term of a product over an index gets the product of the others. Gradients of halves are kept in
float32, and so are counts that it holds exactly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch._C._functorch import is_functorch_wrapped_tensor

from libsparse._autograd import partials, tape
from libsparse._lang import assignment, dtypes, grammar, operations
from libsparse._lang.assignment import Access, Call, Expr, Number, Part, Statement, Window
from libsparse._lang.errors import UnsupportedError
from libsparse._lang.types import Type, Typing
from libsparse._runtime import dispatch, promotion
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.steps import Chain, Result
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import statements

_COMPLEX = Type(torch.complex64)


def compute(problem: Problem, operands: Sequence[Operand]) -> Result:
    """Computes a problem that is no sum of products, followed by autograd.

    Raises:
        UnsupportedError: Something in it has no derivative.
    """
    problem = as_expression(problem)._replace(divided=True)
    variant = dispatch.prepare(problem, operands).variant
    if isinstance(variant, Chain):
        return variant.through(operands, tape.compute)
    for number, operand in enumerate(operands):
        if operand.data is not None and operand.data.requires_grad:
            _derivative(problem, number, _complex(problem, operands))  # raises now, not in backward
    return tape.follow(Expression, problem, operands)


def as_expression(problem: Problem) -> Problem:
    """A problem as an assignment."""
    if problem.is_expr:
        return problem
    accesses = [Access(n, indices) for n, indices in zip(problem.names, problem.inputs, strict=True)]
    op, region = ("*", "") if problem.combine == "mul" else (problem.combine, "every")
    value: Expr = accesses[0]
    for access in accesses[1:]:
        value = Call(op, (value, access), region)
    text = str(Statement(Access("out", problem.output), "", value))
    return problem._replace(text=text, is_expr=True, combine="mul")


class Expression(tape.Node):
    """An assignment; it keeps the unrounded result, which terms are compared with."""

    __slots__ = ()
    by_kind = True

    def forward(self, datas: Sequence[Any]) -> tuple[Tensor, Tensor]:
        dtype, problem = self._unrounded(self.operands(datas))
        out, self.pattern = dispatch.run(problem, self.operands(datas))
        return out.to(dtype), out

    def kept(self, datas: Sequence[Any]) -> Tensor:
        operands = self.operands(datas)
        with torch.no_grad():
            return tape.compute(self._unrounded(operands)[1], operands)[0]

    def _unrounded(self, operands: Sequence[Operand]) -> tuple[torch.dtype, Problem]:
        """The dtype of the result, and the problem whose result is not rounded to it."""
        dtype = self.problem.dtype or promotion.common(operands)
        assert dtype is not None  # something requires a gradient
        return dtype, self.problem._replace(dtype=dtypes.accumulator(dtype))

    def gradients(
        self, datas: Sequence[Any], kept: Tensor | None, grad: Tensor, wanted: Sequence[bool]
    ) -> list[Tensor | None]:
        operands, grad = self.operands(datas), tape.in_memory(grad)
        unrounded = Operand(self.pattern, kept)
        numbers = [number for number, want in enumerate(wanted) if want]
        divided = len(numbers) > 1 and _Gradient(self.problem, operands, numbers[0]).divides(self.pattern)
        if divided:  # once for all operands
            patterns, tensors = (*self.patterns, self.pattern, self.pattern), (*datas, kept, grad)
            result = Operand(self.pattern, grad)
            shares = functools.partial(_shares, self.problem, operands, numbers[0], result, unrounded)
            grad = tape.repeated(self, "shares", patterns, tensors, shares)

        def compute(number: int) -> Tensor:
            return _Gradient(self.problem, operands, number).values(Operand(self.pattern, grad), unrounded, divided)

        return tape.gradients(self, datas, kept, grad, wanted, compute)


def _shares(problem: Problem, operands: Sequence[Operand], number: int, grad: Operand, out: Operand) -> Tensor:
    return _Gradient(problem, operands, number).shares(grad, out)


class _Gradient:
    """The gradient of one operand of an assignment, as an expression."""

    def __init__(self, problem: Problem, operands: Sequence[Operand], number: int) -> None:
        self.problem, self.operands, self.number = problem, operands, number
        self.known: dict[str, Any] = dict(zip(problem.names, operands, strict=True))
        derived = _derivative(problem, number, _complex(problem, operands))
        self.value, self.reduce, (self.result, unit, self.types), self.factors, self.definitions = derived
        # Not made once for all: if torch traced what came first, it would be one of the tensors that stand for others.
        # The default dtype may have no complex one.
        self.known[unit.name] = torch.tensor(1j, dtype=torch.complex64, device="cpu")

    def values(self, grad: Operand, out: Operand, divided: bool = False) -> Tensor:
        """The gradient, values or a dense tensor, given the gradient of the result and the result, not rounded.

        `divided` says that the gradient of the result is a share for each term that is the least or the greatest.
        """
        problem, (pattern, data, _) = self.problem, self.operands[self.number]
        assert data is not None
        if self.factors is None:
            return torch.zeros_like(data)
        self.known[self.result.name] = grad
        factors = list(self.factors)
        if self.reduce in ("min", "max"):
            factors.append(self._hit(out) if divided else self._share(out))
        elif self.reduce == "prod":
            others = self._others(out.pattern)
            factors.append(Call("conj", (others,)) if self.types.is_complex(self.value) else others)
        indices = problem.inputs[self.number]
        windows = problem.windows[self.number] if problem.windows else ()
        total = self._with_indices(partials.product(factors), indices, pattern is None)
        if pattern is not None:
            return self._sampled(pattern, indices, windows, total)
        carried = assignment.indices(total)
        kept = tuple(index for index in indices if index in carried)
        part, _ = self._compute(Access("d_", kept), total, "dense" if kept else None)
        extents = problem.extents(self.operands)
        part = part[tuple(slice(None) if i in carried else None for i in indices)].expand([extents[i] for i in indices])
        if not windows:
            return part
        whole = torch.zeros(data.shape, dtype=part.dtype, device="cpu")
        whole[tuple(w.slice if isinstance(w, Window) else slice(None) for w in windows)] = part
        return whole

    def _named(self, word: str, operand: Any) -> str:
        """The name of one more operand of the gradient, which begins with `word`."""
        self.known[name := _free(word, self.problem)] = operand
        return name

    def _compute(
        self,
        target: Access,
        value: Expr,
        format: str | Format | None,
        reduce: str = "sum",
        dtype: torch.dtype | None = None,
        **options: Any,
    ) -> Result:
        """Computes an assignment, not rounded to halves; autograd brings gradients to the dtype of their tensors."""
        problem, operands = statements.prepare(
            "a gradient", target, value, self.known, format, reduce, definitions=self.definitions, **options
        )
        if dtype is None and problem.dtype is not None:
            dtype = dtypes.accumulator(problem.dtype)
        return tape.compute(problem._replace(dtype=dtype), operands)

    def _reduced(
        self, word: str, value: Expr, stored: Pattern | None, reduce: str = "sum", dtype: torch.dtype | None = None
    ) -> Access:
        """An access to a reduction of an expression over the terms of the result, stored as the result is."""
        output = self.problem.output
        format = stored.format if stored is not None else "dense" if output else None
        data, pattern = self._compute(Access("n_", output), value, format, reduce, dtype)
        return Access(self._named(word, Operand(pattern, data)), output)

    def divides(self, stored: Pattern | None) -> bool:
        """Whether the gradient of the result is divided for itself: a dense one, of which terms have shares."""
        if self.factors is None or self.reduce not in ("min", "max"):
            return False
        return stored is None and not self.result.windows

    def shares(self, grad: Operand, out: Operand) -> Tensor:
        """The gradient of the result divided by the numbers of terms that are the least or the greatest."""
        self.known[self.result.name] = grad
        hit, output = self._hit(out), self.problem.output
        if torch.is_grad_enabled():  # to a second gradient nothing may be 0 by 0: 1 where no term is but a number
            ties: Expr = Call("max", (self._ties(hit, out), Call("eq", (hit.args[1], hit.args[1]), "every")), "every")
        else:
            ties = Call("sum", (hit,)) if self._counting(out.values.dtype) else self._ties(hit, out)
        return self._compute(Access("s_", output), Call("/", (self.result, ties)), "dense" if output else None)[0]

    def _share(self, out: Operand) -> Expr:
        """The share in the gradient of the result of each term that is the least or the greatest.

        A dense gradient is divided by their number here: once for an element of the result, not for each term.
        """
        if not self.divides(out.pattern):
            hit = self._hit(out)
            return Call("/", (hit, self._ties(hit, out)))
        self.known[self.result.name] = Operand(None, self.shares(self.known[self.result.name], out))
        return self._hit(out)

    def _hit(self, out: Operand) -> Call:
        """Whether a term is the least or the greatest: of each term, not of their sums."""
        result = self.result._replace(name=self._named("out", out))
        return Call("eq", (self.value, result), "every")

    def _ties(self, hit: Expr, out: Operand) -> Access:
        return self._reduced("ties", hit, out.pattern, dtype=self._counting(out.values.dtype))

    def _counting(self, dtype: torch.dtype) -> torch.dtype | None:
        """The dtype itself where it counts all terms of an element exactly, None for that of counts."""
        terms = math.prod(n for i, n in self.problem.extents(self.operands).items() if i not in self.problem.output)
        return dtype if dtype.is_floating_point and terms <= 1 / torch.finfo(dtype).eps else None

    def _others(self, stored: Pattern | None) -> Expr:
        """The product of all terms but one: of the nonzero terms, times that of the other terms that are 0.

        The latter is 1 where there is none of these, the term itself where there is one, and else 0, to a second
        gradient.
        """
        zero = Call("eq", (self.value, Number(0)), "every")
        zeros = self._reduced("zeros", zero, stored)
        rest = Call("where", (zero, Number(1), self.value), "every")
        others = self._reduced("others", rest, stored, "prod")
        counts = self.known[zeros.name].values
        # torch.vmap answers no questions of a batch.
        if not (torch.is_grad_enabled() and (is_functorch_wrapped_tensor(counts) or bool(counts.any()))):
            alone = Call("*", (others, Call("eq", (zeros, Number(1)), "every")))
            among = Call("/", (Call("*", (others, Call("eq", (zeros, Number(0)), "every"))), self.value))
            return Call("where", (zero, alone, among), "every")
        null = Call("where", (zero, self.value, Number(0)), "every")
        total = self._reduced("null", null, stored)  # 0, with a gradient

        def product_of(count: Any, left: Expr) -> Expr:
            """The product of the terms that are 0, of which there are `count` and `left` are the sum."""
            one = Call("where", (Call("eq", (zeros, Number(count + 1)), "every"), left, Number(0)), "every")
            return Call("where", (Call("eq", (zeros, Number(count)), "every"), Number(1), one), "every")

        alone = Call("*", (others, product_of(1, Call("-", (total, null)))))
        among = Call("/", (Call("*", (others, product_of(0, total))), rest))
        return Call("where", (zero, alone, among), "every")

    def _with_indices(self, total: Expr, indices: Sequence[str], dense: bool) -> Expr:
        """A gradient in which every index that it is summed over, or that it has as a value, is one of an operand.

        Those of a sparse operand come with its pattern, which joins the product later.

        Raises:
            UnsupportedError: No operand has an index without others that are in the way.
        """
        problem, carried = self.problem, assignment.indices(total)
        needed = {i for term in problem.inputs for i in term} - carried - set(indices)
        if dense:  # scalars, and indices as values, are accesses without indices
            named = {node.name for node in assignment.walk(total) if isinstance(node, Access) and not node.indices}
            needed |= (named & set(indices)) - carried
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
                lacking = f"{problem.text}: no gradient of a term that doesn't depend on index {index!r} yet"
                raise UnsupportedError(lacking)
        return total

    def _sampled(self, pattern: Pattern, indices: tuple[str, ...], windows: tuple[Part, ...], total: Expr) -> Tensor:
        """The values of the gradient at the entries of the operand."""
        at = pattern  # what the gradient meets is walked with it, in order
        if not all(level.ordered for level in pattern.format.kinds):
            at = pattern.converted(pattern.format.compressed).pattern
        own = Access(self._named("pattern", Operand(at, None)), indices, windows)
        values, found = self._compute(
            Access("d_", indices, windows),
            partials.product([own, total]),
            at.format,
            pattern_of=None if windows else own.name,
            shape=tuple(pattern.shape) if windows else None,
        )
        if found is None:  # a format of dense levels only
            return pattern.spread(values.reshape(-1).index_select(0, pattern.linear()))
        return pattern.resample(values, found)


def _complex(problem: Problem, operands: Sequence[Operand]) -> tuple[str, ...]:
    """The names of complex operands."""
    named = zip(problem.names, operands, strict=True)
    return tuple([name for name, o in named if o.data is not None and o.data.is_complex()])


def _free(word: str, problem: Problem) -> str:
    """A name that begins with a word and is none of the operands'."""
    return word if word not in problem.names else assignment.fresh(word, problem.names)


@functools.lru_cache(maxsize=1024)
def _derivative(problem: Problem, number: int, complexes: tuple[str, ...]) -> tuple[Any, ...]:
    """The right side of a problem, its reduction, where its gradient starts, and what `partials.of` derives from that.

    Raises:
        UnsupportedError: Something on the way to the operand of this number has no derivative.
    """
    statement, value, reduce = _statement(problem)
    result = Access(_free("grad", problem), problem.output, statement.target.windows)
    unit = Access(_free("unit", problem))
    types = Typing(dict.fromkeys(complexes, _COMPLEX), problem.functions)
    if types.is_complex(value) if problem.dtype is None else problem.dtype.is_complex:
        complexes = (*complexes, result.name)
    names = (*complexes, unit.name) if complexes else ()
    start = partials.Start(result, unit, Typing(dict.fromkeys(names, _COMPLEX), problem.functions))
    return value, reduce, start, *partials.of(value, problem.names[number], problem.functions, start)


def _statement(problem: Problem) -> tuple[Statement, Expr, str]:
    """The statement of a problem, its right side with what `*` means, and its reduction if there is one.

    Raises:
        UnsupportedError: The reduction has no gradient.
    """
    (statement,) = grammar.parse(problem.text, tuple(definition.name for definition in problem.functions))
    value = statement.value if problem.combine == "mul" else _combined(statement.value, problem.combine)
    reduce = operations.REDUCTIONS[statement.sign] if statement.sign else problem.reduce
    if {i for term in problem.inputs for i in term} <= set(problem.output):
        reduce = "sum"
    if reduce not in ("sum", "min", "max", "prod"):
        raise UnsupportedError(
            f"{problem.text}: a reduction by {reduce!r} has no gradient; detach the operands or use torch.no_grad()"
        )
    return statement, value, reduce


def _combined(value: Expr, combine: str) -> Expr:
    if not isinstance(value, Call):
        return value
    args = tuple([_combined(arg, combine) for arg in value.args])
    return Call(combine, args, "every") if value.op == "*" else value._replace(args=args)
