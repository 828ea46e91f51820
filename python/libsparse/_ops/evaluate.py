"""`evaluate`: assignments in TACO's notation, with operands by name."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from libsparse._autograd import tape
from libsparse._lang import assignment, dtypes, grammar, operations, user_functions
from libsparse._lang.assignment import Access, Call, Expr, Statement
from libsparse._lang.errors import DtypeError, FormatError, ShapeError, UnsupportedError
from libsparse._runtime.problem import Operand, Problem
from libsparse._storage.format import Format

from . import assemble, background, statements, updates
from .einsum_reader import REDUCTIONS, checked
from .operands import NUMBERS, is_sparse, is_tensor


def evaluate(
    text: str,
    *,
    format: str | Format | None = None,
    reduce: str = "sum",
    combine: str = "mul",
    **operands: Any,
) -> Operand:
    """Computes an assignment such as `"y(i) = alpha * A(i,j) * x(j) + b(i)"`, or several separated by semicolons.

    Indices that are only on the right are summed in each additive term that has them. By the operator of `+=`, `*=`,
    `min=`, `max=`, `mean=`, `|=`, `&=`, `^=`, the whole right side is reduced, over the terms that exist: those where
    it has a value. Where the name on the left is an operand or an earlier result, such a reduction
    takes its stored old elements as one more term; `-=` and `/=` need an old one. A later assignment reads the results
    of earlier ones, and the result is that of the last. `|=`, `&=` and `^=` reduce truth values, as any and all do.

    A function is a part of its term: `n(i) = exp(A(i,j) - m(i))` sums exponentials over `j`. `sum(...)` is a sum inside
    of a function, over the indices that nothing else has: `relu(sum(A(i,j) * x(j)) + b(i))` is relu(A x + b).

    `A(i(2:10:4),j)` is a part of a dimension, and so is `A(i([0,3,5]),j)`. On the left, `y(i(2:4)) = x(i)` is `y` with
    that part of it replaced; `y` has to be an operand or an earlier result. Nothing that is passed is modified.

    Operands and numbers are promoted as torch promotes them; `/`, `mean` and functions such as `exp` make floats of
    integers, which `//`, `%`, `fmod` and `pow` leave whole. `abs`, `real` and `imag` real values of complex ones.

    Functions have torch's names and types, and act on an operand's value everywhere: `y(i) = exp(b(i))` is 1 where `b`
    stores nothing. A sparse result has the value where no operand stores anything as its fill value; where dense
    operands decide that, it is dense, and a `DenseResultWarning` says so once. `stored(A(i,j)) * exp(A(i,j))` has only
    the elements that `A` stores. `first[0 & ~1](a(i), b(i))` gives a call another region, over its numbered arguments;
    see `register`.

    Args:
        text: The assignments.
        format: The format of the result; None lets the compiler choose.
        reduce: The reduction of a plain `=`, as in `einsum`.
        combine: The meaning of `*`, as in `einsum`.
        operands: The tensors and numbers by name.

    Raises:
        FormatError: The text is malformed, or a name is missing or unused.
        ShapeError: Extents do not agree.
        DivisionByZeroError: `//`, `%` or `fmod` of an integer and zero, in a term that exists; `where` computes only
            what it chooses.

    Example:
        >>> A = ls.tensor([[0.0, 2.0], [1.0, 0.0]])
        >>> ls.evaluate("y(i) = 3 * A(i,j) * x(j)", A=A, x=torch.ones(2)).tolist()
        [6.0, 3.0]
    """
    *_, job = _jobs(text, operands, format, reduce, combine)
    return job.result()


def problems(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> Iterator[tuple[Problem, Sequence[Operand]]]:
    """The problem for the right side of each assignment, and its operands; earlier ones are computed on the way."""
    for job in _jobs(text, operands, format, reduce, combine):
        yield job.problem, job.operands


def problem_of(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> tuple[Problem, Sequence[Operand]]:
    """The problem for the last assignment, and its operands in the order in which it names them.

    Raises:
        UnsupportedError: There is more to it than a problem.
    """
    *_, job = _jobs(text, operands, format, reduce, combine)
    if not job.alone:
        raise UnsupportedError(f"{text!r}: the old elements of {job.target.name!r} come after; assign to another name")
    return job.problem, job.operands


def _jobs(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> Iterator[_Job]:
    """Each assignment; its result is computed when the next one is asked for."""
    if not isinstance(text, str):
        raise DtypeError(f"evaluate: text is a {type(text).__name__}; expected an assignment such as 'y(i) = A(i,j)'")
    if "=" not in text:
        raise FormatError(f"evaluate {text!r}: expected an assignment such as 'y(i) = A(i,j) * x(j)'")
    reduce, combine = checked(reduce, combine)
    for name, value in operands.items():
        if not isinstance(value, NUMBERS) and not is_tensor(value):
            raise DtypeError(
                f"evaluate {text!r}: operand {name!r} is a {type(value).__name__}; expected a tensor or a number: use "
                f"torch.tensor({name}), or ls.tensor({name}) where it is mostly zeros"
            )
    program = grammar.parse(text, user_functions.names())
    known = dict(operands)
    read: set[str] = set()
    for statement in program[:-1]:
        reduces = not assignment.indices(statement.value).issubset(statement.target.indices)
        job = _Job(text, statement, known, None, reduce if reduces else "sum", combine)
        read |= job.read
        yield job
        known[statement.target.name] = job.result()
    job = _Job(text, program[-1], known, format, reduce, combine)
    unused = sorted(set(operands) - read - job.read)
    if unused:
        raise FormatError(f"evaluate {text!r}: {unused[0]!r} is given and not used")
    yield job


class _Job:
    """One assignment with the operands and results before it, as a problem and its operands."""

    def __init__(
        self,
        text: str,
        statement: Statement,
        known: Mapping[str, Any],
        format: str | Format | None,
        reduce: str,
        combine: str,
    ) -> None:
        self.text, self.format = text, format
        self.target, sign, value = statement
        self.old = known.get(self.target.name)
        self.sign = operations.REDUCTIONS.get(sign, sign)
        reduce = self.sign if self.sign in REDUCTIONS else reduce
        self.placed = bool(self.target.windows)
        self._check()
        # The old elements are a term of a sum wherever that is possible.
        if self.old is not None and not self.placed and sign in ("+", "-"):
            value = Call(sign, (self.target, value))
            self.sign, reduce = "", "sum"
        self.alone = not self.placed and not (self.sign and self.old is not None)
        if not self.alone and not assignment.indices(value).issuperset(self.target.indices):
            # The old elements say how long the indices are; where there is none, nothing is to be multiplied.
            value = Call("first", (value, self.target), "0 & 1" if self.sign in ("prod", "/") else "0")
        names = {node.name for node in assignment.walk(value) if isinstance(node, Access)}
        self.read = names | ({self.target.name} if self.sign or self.placed else set())
        if not self.alone:
            # Elements without a term keep their old values.
            sparse = any(is_sparse(known.get(name)) for name in self.read - {self.target.name})
            kept = is_sparse(self.old) and self.sign and self.target.indices and sparse
            format = "s" * len(self.target.indices) if kept else None
        self.background = background.Background(value)
        self.dense: str | Format | None = None  # the format of a result that is computed sparse
        self._prepare(value, dict(known), format, reduce, combine)

    def _prepare(
        self, value: Expr, known: dict[str, Any], format: str | Format | None, reduce: str, combine: str
    ) -> None:
        """Finds the problem, with functions that act where nothing is stored, too."""
        target = self.target._replace(windows=())
        summed = (reduce, combine) == ("sum", "mul")
        neutral = reduce if statements.is_product(value) else "sum"
        filled, known, definitions = background.filled(value, known, neutral)
        if filled is not value:
            value, combine = background.combined(filled, combine), "mul"
        if summed or (combine == "mul" and assignment.indices(value) <= set(target.indices)):
            found = background.of(target, value, known, definitions, summed and self.sign in ("", "sum"))
            if found.densified is not None and format is None:
                background.warn(self.text, found.densified)
            dense = format is not None and Format(format).resolve(max(len(target.indices), 1)).is_dense
            if (
                dense
                and self.alone
                and found.fill is not None
                and background.is_quotient(value)
                and math.isnan(found.fill)
            ):
                self.dense, format, dense = format, None, False  # 0 / 0: kernels leave out what neither side stores
            if found.fill is None or (self.alone and not dense):
                self.background = found
                value, known = found.value, {**known, **background.counts(found, known)}
                for step, rest in found.steps:
                    problem, operands = statements.prepare(self.text, step, rest, known)
                    dtype = None if problem.dtype is None else dtypes.accumulator(problem.dtype)
                    data, pattern = tape.compute(problem._replace(dtype=dtype), operands)
                    known[step.name] = Operand(pattern, data)
        self.problem, self.operands = statements.prepare(
            self.text, target, value, known, format, reduce, combine, definitions=definitions
        )
        if self.background.dtype is not None:
            self.problem = self.problem._replace(dtype=self.background.dtype)

    def _check(self) -> None:
        name, kind = self.target.name, f"{self.sign}="
        if self.old is None and self.placed:
            raise ShapeError(
                f"evaluate {self.text!r}: {assignment.text(self.target)} is a part of {name!r}, which is not given; "
                f"pass {name}=..., of which the rest stays as it is"
            )
        if self.old is None and self.sign in ("-", "/"):
            raise FormatError(f"evaluate {self.text!r}: {name!r} has no old elements for {kind!r}; pass {name}=...")
        if self.old is not None and self.sign == "mean":
            raise FormatError(f"evaluate {self.text!r}: 'mean=' can't take old elements; assign it to another name")

    def _fill(self, dtype: torch.dtype) -> int | float:
        """The value of elements that the result does not store."""
        if self.background.fill is not None:
            fill = self.background.fill
            exact = torch.float64 if isinstance(fill, float) else torch.int64
            number: int | float = torch.tensor(fill, dtype=exact, device="cpu").to(dtype).item()
            return number
        # Elements without a term keep their old values.
        return 0 if self.sign and not self.alone else dtypes.identity(self.problem.reduce, dtype)

    def result(self) -> Operand:
        """The value of the assignment."""
        data, pattern = tape.compute(self.problem, self.operands)
        new = Operand(pattern, data, self._fill(data.dtype) if pattern is not None else 0)
        if self.dense is not None:
            new = assemble.to_format(new, self.dense)
        if self.placed:
            return updates.place(self.text, self.old, self.target, new, self.sign)
        return new if self.alone else updates.update(self.sign, self.old, new, self.target.indices, self.format)
