"""The kernel cache on disk, as users see it: `ls.cache.info()`, `.clear()`, `.path`.

Only the compiler writes kernels; this module counts and deletes them.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from libsparse._lang.errors import ToolchainError
from libsparse._lang.records import NamedTuple

from . import kernel, native, request, target


class CacheInfo(NamedTuple):
    """The contents of the cache.

    Attributes:
        path: The folder of this version's kernels.
        kernels: How many kernels are on disk.
        bytes: Their size.
        loaded: How many kernels this process knows.
        packed: How many kernels came with the package, for machines without a C compiler.
        tuned: For how many computations `ls.tune` has kept what it measured.
    """

    path: Path
    kernels: int
    bytes: int
    loaded: int
    packed: int = 0
    tuned: int = 0


class Cache:
    """The kernels that are kept on disk for this version.

    Example:
        >>> ls.cache.info().kernels >= 0
        True
    """

    __slots__ = ()

    @property
    def path(self) -> Path:
        """The folder that they are kept in.

        Example:
            >>> ls.cache.path.name != ""
            True
        """
        return kernel.store()

    def info(self) -> CacheInfo:
        """Counts kernels and bytes.

        Example:
            >>> ls.cache.info().loaded >= 0
            True
        """
        objects = list(self.path.glob("kernels/*/*/kernel.so"))
        size = sum(f.stat().st_size for f in self.path.rglob("*") if f.is_file())
        return CacheInfo(self.path, len(objects), size, len(kernel.known()), packed(), len(request.tuned()))

    def clear(self) -> None:
        """Deletes every kernel of this version and what `ls.tune` has found, and forgets those this process knows.

        Raises:
            ToolchainError: The folder can't be deleted.

        Example:
            >>> with ls.options(cache_dir="kernels"):
            ...     ls.cache.clear()
        """
        kernel.forget()
        try:
            if self.path.exists():
                shutil.rmtree(self.path)
        except OSError as error:
            raise ToolchainError(f"the kernel cache {self.path} can't be cleared: {error}") from error


def packed() -> int:
    """How many kernels the pack has for this processor, made by this build of the compiler."""
    try:
        fits = Path(target.PACK, "build.txt").read_text() == native.BUILD
    except OSError:
        fits = False
    return sum(1 for _ in Path(target.pack()[1]).glob("kernels/*/*/kernel.so")) if fits and target.pack()[1] else 0


cache = Cache()
