"""Running problems: finds the prepared call of a problem, or prepares it, and runs computations of several steps."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, Protocol

from torch import Tensor

from libsparse._compiler import kernel
from libsparse._lang import assignment, dtypes, grammar, operations
from libsparse._lang.errors import DivisionByZeroError, LibsparseError
from libsparse._storage.format import Format
from libsparse._storage.pattern import Pattern

from . import problem
from .call import Call, IndexOverflowError
from .problem import Operand, Problem

_CALLS_KEPT = 256


class _Maker(Protocol):
    def __call__(self, asked: Problem, operands: Sequence[Operand], *, wide: bool) -> Call | Chain: ...


class _Runner(Protocol):
    def __call__(self, asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]: ...


class Chain:
    """A computation in several steps, each a problem of its own, with temporaries in between."""

    __slots__ = ("_names", "_steps", "kernel")

    def __init__(self, made: kernel.Kernel, asked: Problem) -> None:
        """Turn the steps into problems."""
        self.kernel = made
        self._names = asked.names
        self._steps = [(step.result, _part(step, asked, last=step is made.steps[-1])) for step in made.steps]

    def __call__(self, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
        """Run every step; the result of the last one is the result."""
        return self.through(operands, run)

    def through(self, operands: Sequence[Operand], run: _Runner) -> tuple[Tensor, Pattern | None]:
        """The same, with every step run by `run`."""
        named = dict(zip(self._names, operands, strict=True))
        for result, part in self._steps:
            taken = [named[name] for name in part.names]
            data, pattern = run(part, taken)
            named[result] = Operand(pattern, data)
        return data, pattern


def _part(step: kernel.Step, asked: Problem, *, last: bool) -> Problem:
    called = tuple(definition.name for definition in asked.functions)
    (statement,) = grammar.parse(step.expr, called)
    taken = assignment.accesses(statement.value)
    windows = tuple(taken[name].windows for name in step.operands)
    of = None
    if last and asked.pattern_of is not None and asked.names[asked.pattern_of] in step.operands:
        of = step.operands.index(asked.names[asked.pattern_of])
    wish = asked.wish if last else None
    if wish is None and step.format:
        wish = Format(step.format)
    return Problem(
        step.expr,
        True,
        step.operands,
        tuple(taken[name].indices for name in step.operands),
        step.indices,
        wish,
        pattern_of=of,
        dtype=dtypes.DTYPES[step.dtype],
        windows=windows if any(windows) else (),
        shape=asked.shape if last else None,
        functions=asked.functions,
        temporary=step.temporary,
        step=True,
    )


def run(asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    """Computes a problem, preparing the call or reusing the one that the first pattern keeps."""
    return _run(prepare, asked, operands)


def once(asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    """Computes a problem of which nothing is worth keeping but the kernel."""
    return _run(_make, asked, operands)


def _run(make: _Maker, asked: Problem, operands: Sequence[Operand]) -> tuple[Tensor, Pattern | None]:
    try:
        try:
            return _wished(asked, make(asked, operands, wide=False)(operands))
        except IndexOverflowError:
            return _wished(asked, make(asked, operands, wide=True)(operands))
    except DivisionByZeroError as error:
        raise error if str(error) else _by_zero(asked) from None
    except IndexOverflowError:
        raise LibsparseError(f"{asked.text}: the result has more entries than 64 bits can number") from None


def _by_zero(asked: Problem) -> DivisionByZeroError:
    """What to say where a kernel found an integer divided by zero."""
    divisors = []
    if asked.is_expr:
        (statement,) = grammar.parse(asked.text, tuple(definition.name for definition in asked.functions))
        calls = [node for node in assignment.walk(statement.value) if isinstance(node, assignment.Call)]
        divisors = [assignment.text(node.args[1]) for node in calls if node.op in operations.DIVIDING]
    what = " or ".join(dict.fromkeys(divisors)) or "an operand after the first"
    return DivisionByZeroError(
        f"{asked.text}: {what} is zero where an integer is divided by it (a sparse operand is zero where it "
        "has no entry); choose with where(ne(y, 0), x // y, 0), or convert the operands to a floating dtype"
    )


def _wished(asked: Problem, result: tuple[Tensor, Pattern | None]) -> tuple[Tensor, Pattern | None]:
    """A result in the format that was asked for, where kernels can't write that."""
    data, pattern = result
    if (
        asked.wish is None
        or asked.wish.writable == asked.wish
        or (pattern is not None and pattern.format == asked.wish)
    ):
        return result
    if pattern is None:  # what the wish is made from is dense
        stored, nothing = asked.wish.writable, [None] * data.ndim
        data, pattern = data.permute(stored.order).reshape(-1), Pattern(stored, data.shape, nothing, nothing)
    conversion = pattern.converted(asked.wish)
    return conversion.values(data, dtypes.identity(asked.reduce, data.dtype)), conversion.pattern


def prepare(asked: Problem, operands: Sequence[Operand], *, wide: bool = False) -> Call | Chain:
    """The call for a problem on these operands, kept with the first pattern among them."""
    patterns = [o.pattern for o in operands if o.pattern is not None]
    if not patterns:
        return _make(asked, operands, wide=wide)
    calls: dict[Any, tuple[Call | Chain, list[weakref.ref[Pattern]]]] = patterns[0].calls
    name = (wide, *problem.key(asked, operands))
    entry = calls.get(name)
    if entry is not None and all(ref() is p for ref, p in zip(entry[1], patterns[1:], strict=True)):
        return entry[0]
    call = _make(asked, operands, wide=wide)
    for old, (_, refs) in list(calls.items()):
        if len(calls) >= _CALLS_KEPT or any(ref() is None for ref in refs):
            calls.pop(old, None)
    calls[name] = call, [weakref.ref(p) for p in patterns[1:]]
    return call


def _make(asked: Problem, operands: Sequence[Operand], *, wide: bool) -> Call | Chain:
    made = kernel.find(problem.describe(asked, operands, wide=wide))
    return Chain(made, asked) if made.steps else Call(made, asked, operands)
