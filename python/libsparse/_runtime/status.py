"""The statuses of kernels, as exceptions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from libsparse._lang import assignment, grammar, operations
from libsparse._lang.errors import DivisionByZeroError, InternalError, LibsparseError

if TYPE_CHECKING:
    from .problem import Operand, Problem


class IndexOverflowError(Exception):
    """The result has more entries than its index dtype can number."""


class BoundError(Exception):
    """The result may have so many entries that they have to be counted before there is room for them."""


class WrongExtentsError(InternalError):
    """A kernel was called with extents that it was not compiled for."""


def check(status: int) -> None:
    """Turns the status of a kernel into an exception."""
    if status == 0:
        return
    if status == 2:
        raise IndexOverflowError
    if status == 1:
        raise MemoryError("a kernel could not allocate its workspace")
    if status == 3:
        raise WrongExtentsError("a kernel was called with extents that it was not compiled for")
    if status == 4:
        raise DivisionByZeroError
    raise InternalError(f"a kernel returned status {status}")


def by_zero(problem: Problem) -> DivisionByZeroError:
    """The error of a kernel that found an integer divided by zero."""
    divisors = []
    if problem.is_expr:
        (statement,) = grammar.parse(problem.text, tuple(definition.name for definition in problem.functions))
        calls = [node for node in assignment.walk(statement.value) if isinstance(node, assignment.Call)]
        divisors = [assignment.text(node.args[1]) for node in calls if node.op in operations.DIVIDING]
    subject = " or ".join(dict.fromkeys(divisors)) or "an operand after the first"
    return DivisionByZeroError(
        f"{problem.text}: {subject} is zero where an integer is divided by it (a sparse operand is zero where it "
        "has no entry); choose with where(ne(y, 0), x // y, 0), or convert the operands to a floating dtype"
    )


def too_large(problem: Problem, operands: Sequence[Operand], error: MemoryError) -> MemoryError:
    """The error of a kernel that found no memory."""
    given = "; ".join(f"operand {number}: {operand}" for number, operand in enumerate(operands))
    return MemoryError(
        f"{problem.text} ({given}): {error}, which may be as long as a dimension is large; ask for another format "
        "of the result, or take fewer threads"
    )


def too_many(problem: Problem) -> LibsparseError:
    """The error of a result that has more entries than any index can number."""
    return LibsparseError(f"{problem.text}: the result has more entries than 64 bits can number")
