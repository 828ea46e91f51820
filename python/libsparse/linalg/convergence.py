"""The error of an iteration that does not arrive."""

from __future__ import annotations

import libsparse as ls


class ConvergenceError(ls.LibsparseError):
    """An iterative method did not reach its tolerance.

    Example:
        >>> issubclass(ls.linalg.ConvergenceError, ls.LibsparseError)
        True
    """
