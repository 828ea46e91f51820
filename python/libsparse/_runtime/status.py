"""The statuses of kernels, as exceptions."""

from __future__ import annotations

from libsparse._lang.errors import DivisionByZeroError, InternalError


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
