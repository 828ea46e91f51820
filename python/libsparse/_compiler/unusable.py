"""Kernels that were just compiled and can't be loaded: they are gone, or where code may not be, or wrong."""

from __future__ import annotations

import os
from contextlib import suppress

from libsparse._lang.errors import InternalError, ToolchainError

_COMPILATIONS = 5  # of one kernel that others remove before it is loaded


def raise_unless_gone(path: str, error: Exception, number: int) -> None:
    """Does nothing where the object at a path has been removed since it was compiled: it can be compiled again.

    Args:
        path: The object.
        error: What loading it has met.
        number: How many times it has been compiled before.

    Raises:
        ToolchainError: The folder of the cache may not hold code, or others go on removing objects.
        InternalError: The object is there.
    """
    folder = path.partition("/kernels/")[0]
    try:
        noexec = bool(os.statvfs(path).f_flag & os.ST_NOEXEC)
    except FileNotFoundError:
        if number + 1 < _COMPILATIONS:
            return
        message = f"the kernel cache {folder} is cleared again and again: kernels are gone before they are loaded"
        raise ToolchainError(message) from error
    text = str(error)
    if noexec or ("failed to map" in text and ("not permitted" in text or "denied" in text)):
        raise ToolchainError(
            f"the folder of the kernel cache {folder} may not hold code that is run, as of a file system that is "
            "mounted noexec: name another by LIBSPARSE_CACHE_DIR or ls.options(cache_dir=...)"
        ) from error
    with suppress(OSError):
        os.remove(path)  # noqa: PTH107  # so that the next process compiles it again
    raise InternalError(f"the kernel that was just compiled can't be used: {error}") from error
