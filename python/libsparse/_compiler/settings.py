"""Options: settings that hold for the process, changed at once or for the length of a `with` block."""

from __future__ import annotations

import difflib
import itertools
import os
import threading
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from libsparse._lang.errors import DtypeError, FormatError, ToolchainError
from libsparse._lang.records import NamedTuple
from libsparse._storage import derived, threads

_cache_dir: str | None = None
_KEEP: Any = object()
_MOST_THREADS = 4096  # each has counters on the stack of the thread that begins a kernel
_NAMES = ("num_threads", "cache_dir", "derived_bytes", "tune", "tune_share", "tune_bytes", "tune_bitwise")


class Tuning(NamedTuple):
    """How calls are tuned in the background, as the options of these names say."""

    tune: str = "off"
    tune_share: float = 0.05
    tune_bytes: int = 1 << 30
    tune_bitwise: bool = False


tuning = Tuning()


def _no_tuner() -> None:
    """Nobody tunes in the background."""


_tuner: Callable[[], None] = _no_tuner
_changing = threading.RLock()  # signal handlers change options, too
_entered: list[options] = []  # blocks that are not left yet, of any thread, in the order of their changes
_numbers = itertools.count()


def _after_fork() -> None:
    global _changing
    _changing = threading.RLock()


os.register_at_fork(after_in_child=_after_fork)


def set_tuner(tuner: Callable[[], None]) -> None:
    """Registers the function that is told when `tuning` has changed: tuning is far above options."""
    global _tuner
    _tuner = tuner


def _settings() -> dict[str, Any]:
    """All settings by the names of their options."""
    return {
        "num_threads": threads.chosen(),
        "cache_dir": _cache_dir,
        "derived_bytes": derived.limit,
        **tuning._asdict(),
    }


def _change(wanted: dict[str, Any]) -> bool:
    """Gives some settings the values that are wanted; returns whether `tuning` is another one. Needs the lock."""
    global _cache_dir, tuning
    derived.limit = wanted.get("derived_bytes", derived.limit)
    _cache_dir = wanted.get("cache_dir", _cache_dir)
    if "num_threads" in wanted:
        threads.choose(wanted["num_threads"])
    before = tuning
    tuning = changed = before._replace(**{name: wanted[name] for name in Tuning._fields if name in wanted})
    return changed != before


def cache_dir() -> str | None:
    """The folder that was set for the kernel cache, None where none was."""
    return _cache_dir


def absolute(folder: str) -> str:
    """The absolute path of a folder of the kernel cache.

    Raises:
        ToolchainError: The name is relative, and the current folder is gone.
    """
    try:
        return os.path.abspath(folder)  # noqa: PTH100  # objects of paths are slow to make
    except FileNotFoundError as error:
        raise ToolchainError(
            f"the kernel cache {folder}: the current folder is gone, in which a relative name is; name an absolute one "
            "by LIBSPARSE_CACHE_DIR or ls.options(cache_dir=...)"
        ) from error


def is_text(path: str) -> bool:
    """Whether a path can be written in UTF-8, as requests to the compiler are."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


class options:
    """Changes settings at once; as a context manager, until the block is left.

    Args:
        num_threads: Threads a kernel may use, up to 4096; None follows `torch.get_num_threads()`. It is 1 in forked
            processes.
        cache_dir: Folder of the kernel cache; None goes back to the default.
        derived_bytes: The most that each pattern keeps of what is derived from it (`A.pattern.derived`); None, the
            default, for any number of bytes.
        tune: "background" measures other schedules for calls that repeat, in a process of its own, and computes with
            those that are faster; "off", the default, doesn't, and computes with what has been found.
        tune_share: The share of one core that measurements may take.
        tune_bytes: The most memory that copies of patterns may take: those that are measured, and those in formats
            that faster schedules read; also that of each copy of values that calls without tuning repeat with.
        tune_bitwise: Whether results have to stay the same to the last bit, so that only schedules that keep the order
            of sums are computed with.

    Raises:
        DtypeError: A value has the wrong type, or there is no option of a name.
        FormatError: A value is out of range.

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
        tune: str = _KEEP,
        tune_share: float = _KEEP,
        tune_bytes: int = _KEEP,
        tune_bitwise: bool = _KEEP,
        **unknown: object,
    ) -> None:
        """Apply the settings."""
        for name in unknown:
            close = difflib.get_close_matches(name, _NAMES, 1, 0.4)
            hint = f"did you mean {close[0]}?" if close else f"the options are {', '.join(_NAMES)}"
            raise DtypeError(f"options({name}=...): there is no such option; {hint}")
        wanted: dict[str, Any] = {
            "tune": tune,
            "tune_share": tune_share,
            "tune_bytes": tune_bytes,
            "tune_bitwise": tune_bitwise,
        }
        wanted = {name: value for name, value in wanted.items() if value is not _KEEP}
        _check(tuning._replace(**wanted))
        if num_threads not in (_KEEP, None) and (type(num_threads) is not int or not 0 < num_threads <= _MOST_THREADS):
            error = FormatError if type(num_threads) is int else DtypeError
            expected = f"an int from 1 to {_MOST_THREADS}, or None for torch's number"
            raise error(f"options(num_threads={num_threads!r}): expected {expected}")
        if cache_dir is not _KEEP and not isinstance(cache_dir, str | os.PathLike | None):
            raise DtypeError(f"options(cache_dir={cache_dir!r}): expected a path, or None for the default")
        folder = absolute(str(Path(cache_dir))) if isinstance(cache_dir, str | os.PathLike) else None
        if folder is not None and not is_text(folder):
            raise FormatError(f"options(cache_dir={cache_dir!r}): expected a name in UTF-8")
        if derived_bytes not in (_KEEP, None) and (type(derived_bytes) is not int or derived_bytes < 0):
            error = FormatError if type(derived_bytes) is int else DtypeError
            raise error(f"options(derived_bytes={derived_bytes!r}): expected a number of bytes, or None for no bound")
        wanted |= {"num_threads": num_threads, "cache_dir": folder if cache_dir is not _KEEP else _KEEP}
        wanted["derived_bytes"] = derived_bytes
        wanted = {name: value for name, value in wanted.items() if value is not _KEEP}
        self._wanted = wanted
        self._apply()

    def _apply(self) -> None:
        """Changes the settings."""
        with _changing:
            self._before, self._number, self._process = _settings(), next(_numbers), os.getpid()
            self._is_left = False
            changed = _change(self._wanted)
        if changed:
            _tuner()  # without the lock: it may wait for a thread

    def __enter__(self) -> options:
        """The settings hold already, unless this was a block before."""
        if self._is_left:
            self._apply()
        with _changing:
            _entered.append(self)
            _entered.sort(key=lambda block: block._number)  # another thread may have been between
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Restores the settings from before."""
        with _changing:
            changed = _change(self._leave())
        if changed:
            _tuner()

    def _leave(self) -> dict[str, Any]:
        """What to restore. Blocks of several threads need not end in the order in which they began.

        Where a younger block holds a setting, that goes on, and restores what was before the older one.
        """
        at = next((number for number, block in enumerate(_entered) if block is self), len(_entered))
        younger = _entered[at + 1 :]
        del _entered[at:]
        _entered.extend(younger)
        self._is_left = self not in younger  # entered twice, it is left with the outer block
        restored = dict(self._before)
        if os.getpid() != self._process:  # a forked process doesn't tune in the background as its parent does
            del restored["tune"]
        if not younger:
            return restored
        restored = {name: value for name, value in restored.items() if name in self._wanted}
        for block in younger:
            block._before |= restored
            restored = {name: value for name, value in restored.items() if name not in block._wanted}
        return restored


def _check(wanted: Tuning) -> None:
    if wanted.tune not in ("off", "background"):
        raise FormatError(f"options(tune={wanted.tune!r}): expected 'off' or 'background'")
    share, most = wanted.tune_share, wanted.tune_bytes
    if type(share) not in (int, float) or not 0 < share <= 1:
        error = FormatError if type(share) in (int, float) else DtypeError
        raise error(f"options(tune_share={share!r}): expected a number above 0 and up to 1")
    if type(most) is not int or most < 0:
        error = FormatError if type(most) is int else DtypeError
        raise error(f"options(tune_bytes={most!r}): expected a number of bytes")
    if type(wanted.tune_bitwise) is not bool:
        raise DtypeError(f"options(tune_bitwise={wanted.tune_bitwise!r}): expected True or False")
