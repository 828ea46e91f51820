"""Options: settings that hold for the process, changed at once or for the length of a `with` block."""

from __future__ import annotations

import difflib
import os
from pathlib import Path
from types import TracebackType
from typing import Any

from libsparse._lang.errors import DtypeError, FormatError, UnsupportedError
from libsparse._storage import derived

from . import threads

_cache_dir: str | None = None
_KEEP: Any = object()
_NAMES = ("num_threads", "cache_dir", "derived_bytes", "tune")


def cache_dir() -> str | None:
    """The folder that was set for the kernel cache, None where none was."""
    return _cache_dir


class options:
    """Changes settings at once; as a context manager, until the block is left.

    Args:
        num_threads: Threads a kernel may use; None follows `torch.get_num_threads()`. It is 1 in forked processes.
        cache_dir: Folder of the kernel cache; None goes back to the default.
        derived_bytes: The most that each pattern keeps of what is derived from it (`A.pattern.derived`); None, the
            default, for any number of bytes.
        tune: "off"; "background" is not available yet.

    Raises:
        DtypeError: A value has the wrong type, or there is no option of a name.
        FormatError: A value is out of range.
        UnsupportedError: A setting that is not available yet.

    Example:
        >>> with ls.options(num_threads=1):
        ...     ls.eye(2) @ torch.ones(2)
        tensor([1., 1.])
    """

    def __init__(
        self,
        *,
        num_threads: int | None = _KEEP,
        cache_dir: str | os.PathLike[str] | None = _KEEP,
        derived_bytes: int | None = _KEEP,
        tune: str = "off",
        **unknown: object,
    ) -> None:
        """Apply the settings."""
        global _cache_dir
        for name in unknown:
            close = difflib.get_close_matches(name, _NAMES, 1, 0.4)
            hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(_NAMES)}"
            raise DtypeError(f"options({name}=...): there is no such option; {hint}")
        if tune != "off":
            raise UnsupportedError(f"options(tune={tune!r}): background tuning is not available yet; use 'off'")
        if num_threads not in (_KEEP, None) and (type(num_threads) is not int or num_threads < 1):
            error = FormatError if type(num_threads) is int else DtypeError
            raise error(f"options(num_threads={num_threads!r}): expected a positive int, or None for torch's number")
        if cache_dir is not _KEEP and not isinstance(cache_dir, str | os.PathLike | None):
            raise DtypeError(f"options(cache_dir={cache_dir!r}): expected a path, or None for the default")
        if derived_bytes not in (_KEEP, None) and (type(derived_bytes) is not int or derived_bytes < 0):
            error = FormatError if type(derived_bytes) is int else DtypeError
            raise error(f"options(derived_bytes={derived_bytes!r}): expected a number of bytes, or None for no bound")
        self._before = threads.chosen(), _cache_dir, derived.limit
        if derived_bytes is not _KEEP:
            derived.limit = derived_bytes
        if num_threads is not _KEEP:
            threads.choose(num_threads)
        if cache_dir is not _KEEP:
            _cache_dir = None if cache_dir is None else str(Path(cache_dir).absolute())

    def __enter__(self) -> options:
        """The settings hold already."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restores the settings from before."""
        global _cache_dir
        number, _cache_dir, derived.limit = self._before
        threads.choose(number)
