"""The kernel cache on disk, as users see it: `ls.cache.info()`, `.clear()`, `.path`.

Only the compiler writes kernels; this module counts and deletes them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

from libsparse._lang.errors import ToolchainError

from . import kernel

__all__ = ["CacheInfo", "clear", "info"]  # and path, through __getattr__


class CacheInfo(NamedTuple):
    """What the cache holds.

    Attributes:
        path: The folder of this version's kernels.
        kernels: How many kernels are on disk.
        bytes: Their size.
        loaded: How many kernels this process knows.
    """

    path: Path
    kernels: int
    bytes: int
    loaded: int


def info() -> CacheInfo:
    """Counts what is there."""
    root = kernel.store()
    objects = list(root.glob("kernels/*/*/kernel.so"))
    size = sum(f.stat().st_size for f in root.rglob("*") if f.is_file())
    return CacheInfo(root, len(objects), size, len(kernel.known()))


def clear() -> None:
    """Deletes every kernel of this version, and forgets those this process knows.

    Raises:
        ToolchainError: The folder can't be deleted.
    """
    kernel.forget()
    root = kernel.store()
    try:
        if root.exists():
            shutil.rmtree(root)
    except OSError as error:
        raise ToolchainError(f"the kernel cache {root} can't be cleared: {error}") from error


def __getattr__(name: str) -> Path:
    if name == "path":
        return kernel.store()
    raise AttributeError(name)
