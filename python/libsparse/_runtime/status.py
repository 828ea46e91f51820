"""The statuses of kernels, as exceptions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from libsparse._lang import assignment, grammar, operations
from libsparse._lang.errors import DivisionByZeroError, InternalError

if TYPE_CHECKING:
    from .problem import Problem


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
