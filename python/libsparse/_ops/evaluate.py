"""`evaluate`: assignments in TACO's notation, with operands by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from libsparse._lang import assignment, grammar, user_functions
from libsparse._lang.errors import DtypeError, FormatError, UnsupportedError
from libsparse._runtime.problem import Operand, Problem
from libsparse._runtime.repeats import by_kind
from libsparse._storage.format import Format

from .einsum_reader import checked
from .operands import NUMBERS, is_tensor, plain_number

if TYPE_CHECKING:
    from .assignments import Job


@by_kind
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


def last(text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str) -> Job:
    """The last assignment, after those before it have been computed.

    Raises:
        UnsupportedError: There is more to it than a problem.
    """
    *_, job = _jobs(text, operands, format, reduce, combine)
    if not job.alone:
        raise UnsupportedError(f"{text!r}: the old elements of {job.target.name!r} come after; assign to another name")
    return job


def _jobs(
    text: str, operands: Mapping[str, Any], format: str | Format | None, reduce: str, combine: str
) -> Iterator[Job]:
    """Each assignment; its result is computed when the next one is asked for."""
    if not isinstance(text, str):
        raise DtypeError(f"evaluate: text is a {type(text).__name__}; expected an assignment such as 'y(i) = A(i,j)'")
    if "=" not in text:
        raise FormatError(f"evaluate {text!r}: expected an assignment such as 'y(i) = A(i,j) * x(j)'")
    from .assignments import Job  # only those who evaluate need it

    reduce, combine = checked(reduce, combine)
    operands = {name: plain_number(value) for name, value in operands.items()}
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
        job = Job(text, statement, known, None, reduce if reduces else "sum", combine)
        read |= job.read
        yield job
        known[statement.target.name] = job.result()
    job = Job(text, program[-1], known, format, reduce, combine)
    unused = sorted(set(operands) - read - job.read)
    if unused:
        raise FormatError(f"evaluate {text!r}: {unused[0]!r} is given and not used")
    yield job
