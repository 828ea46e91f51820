"""The exceptions that libsparse raises, and how the compiler's error kinds map to them."""

from __future__ import annotations


class LibsparseError(RuntimeError):
    """Base class of every error that libsparse raises.

    Attributes:
        detail: Text that is too long for the message (compiler output, a stack trace), or "".

    Example:
        >>> issubclass(ls.ShapeError, ls.LibsparseError) and issubclass(ls.LibsparseError, RuntimeError)
        True
    """

    detail: str = ""

    def __str__(self) -> str:
        """The message, followed by the detail where there is one."""
        message = super().__str__()
        return f"{message}\n{self.detail}" if self.detail else message


class ShapeError(LibsparseError, ValueError):
    """Extents that do not agree.

    Example:
        >>> ls.eye(2) @ torch.ones(3)
        Traceback (most recent call last):
        ShapeError: the inner extents differ
    """


class FormatError(LibsparseError, ValueError):
    """A format, pattern or expression that is malformed.

    Example:
        >>> ls.Format("xyz")
        Traceback (most recent call last):
        FormatError: 'xyz' is no format
    """


class IndexBoundsError(LibsparseError, IndexError):
    """A coordinate outside its dimension.

    Example:
        >>> ls.eye(2)[5]
        Traceback (most recent call last):
        IndexBoundsError: index 5 is out of range
    """


class DtypeError(LibsparseError, TypeError):
    """A dtype (or a Python type) that the operation does not take.

    Example:
        >>> ls.eye(2) @ "x"
        Traceback (most recent call last):
        DtypeError: expected a tensor
    """


class DivisionByZeroError(LibsparseError, ZeroDivisionError):
    """An integer divided by zero; floating values become infinite or NaN instead.

    Example:
        >>> ls.eye(2, dtype=torch.int64) // 0
        Traceback (most recent call last):
        DivisionByZeroError: an integer is divided by zero
    """


class UnsupportedError(LibsparseError, NotImplementedError):
    """Something meaningful that libsparse can't do yet.

    Example:
        >>> torch.linalg.svd(ls.eye(2))
        Traceback (most recent call last):
        UnsupportedError: torch.linalg.svd is not supported
    """


class MissingKernelError(DtypeError, UnsupportedError):
    """A function that torch has for other dtypes only, where torch raises NotImplementedError."""


class MissingAttributeError(UnsupportedError, AttributeError):
    """A name that an object does not have; the message suggests close ones."""


class ToolchainError(LibsparseError):
    """No working C compiler, or a kernel cache that can't be used.

    Example:
        >>> issubclass(ls.ToolchainError, ls.LibsparseError)
        True
    """


class InternalError(LibsparseError):
    """A bug in libsparse; please report it.

    Example:
        >>> issubclass(ls.InternalError, ls.LibsparseError)
        True
    """


class DenseResultWarning(UserWarning):
    """A dense result with the shape of a sparse operand, which may need far more memory than the operands.

    Example:
        >>> issubclass(ls.DenseResultWarning, UserWarning)
        True
    """


_KINDS: dict[str, type[LibsparseError]] = {
    "syntax": FormatError,
    "shape": ShapeError,
    "format": FormatError,
    "bounds": IndexBoundsError,
    "dtype": DtypeError,
    "unsupported": UnsupportedError,
    "toolchain": ToolchainError,
    "cache": ToolchainError,
    "handle": InternalError,
    "internal": InternalError,
}


def from_kind(kind: str, message: str, detail: str = "") -> LibsparseError:
    """The exception for an error of the compiler, by the compiler's name of its kind."""
    error = _KINDS.get(kind, InternalError)(message)
    error.detail = detail
    return error
