"""The kernel cache on disk, as users see it: `ls.cache.info()`, `.clear()`, `.path`.

Only the compiler writes kernels; this module counts and deletes them.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from contextlib import suppress
from pathlib import Path

from libsparse._lang.errors import ToolchainError
from libsparse._lang.records import NamedTuple

from . import kernel, native, request, target

_ABANDONED = 3600  # seconds after which nobody goes on with what is in `tmp/`


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
        # A walk passes over folders that others remove meanwhile, or that can't be read.
        files = [Path(folder, name) for folder, _, names in os.walk(self.path) for name in names]
        objects = [file for file in files if file.name == "kernel.so" and file.parents[2] == self.path / "kernels"]
        size = sum(map(_size, files))
        return CacheInfo(self.path, len(objects), size, len(kernel.known()), packed(), len(request.tuned()))

    def clear(self) -> None:
        """Deletes every kernel of this version and what `ls.tune` has found, and forgets those this process knows.

        Kernels that are being compiled meanwhile, here or in another process, may be kept.

        Raises:
            ToolchainError: The folder can't be deleted.

        Example:
            >>> with ls.options(cache_dir="kernels"):
            ...     ls.cache.clear()
        """
        kernel.forget()
        try:
            if self.path.exists():
                _empty(self.path)
        except OSError as error:
            raise ToolchainError(f"the kernel cache {self.path} can't be cleared: {error}") from error


def _size(path: Path) -> int:
    """The bytes of a file; none if it is gone by now."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _empty(root: Path) -> None:
    """Deletes what is in the cache; folders, locks and what is being made stay, as others use them meanwhile.

    Entries are moved away first, so that nobody sees a part of one, or puts a new one into a folder that is deleted.
    """
    room = root / "tmp"
    room.mkdir(mode=0o700, exist_ok=True)
    aside = Path(tempfile.mkdtemp(prefix="cleared.", dir=room))
    parts = ("requests/*.json", "tuned/*.json", "kernels/*/*")
    for number, path in enumerate(path for part in parts for path in root.glob(part)):
        with suppress(FileNotFoundError):  # another has removed it
            path.rename(aside / str(number))
    for left in [aside, *room.iterdir()]:
        with suppress(FileNotFoundError):  # whoever has made it is done
            if left == aside or left.stat().st_mtime < time.time() - _ABANDONED:
                shutil.rmtree(left) if left.is_dir() else left.unlink()


def packed() -> int:
    """How many kernels the pack has for this processor, made by this build of the compiler."""
    try:
        fits = Path(target.PACK, "build.txt").read_text() == native.BUILD
    except OSError:
        fits = False
    return sum(1 for _ in Path(target.pack()[1]).glob("kernels/*/*/kernel.so")) if fits and target.pack()[1] else 0


cache = Cache()
