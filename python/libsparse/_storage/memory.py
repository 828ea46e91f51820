"""How much memory there is now: what can't fit is refused before it is asked for."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from libsparse._lang.errors import FormatError

_SMALL: Final = 1 << 26  # bytes that are asked for without asking the system first
_MARGIN: Final = 16  # of so many bytes one more is needed, for page tables and what others take meanwhile
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


class _Names(NamedTuple):
    """What a version of cgroups calls a limit, what is used of it, and the parts of that which are given back."""

    limit: str
    used: str
    cached: tuple[str, str]


_FIRST: Final = _Names("memory.limit_in_bytes", "memory.usage_in_bytes", ("total_inactive_file", "total_active_file"))
_SECOND: Final = _Names("memory.max", "memory.current", ("inactive_file", "active_file"))


def check(count: int, size: int, what: str, advice: str) -> None:
    """An array of `count` elements of `size` bytes fits into the memory that is available now.

    Raises:
        FormatError: It does not.
    """
    need = count * size
    if need <= _SMALL:
        return
    free = available()
    if need + need // _MARGIN > free:
        raise FormatError(
            f"{what} would take {need / 2**30:.4g} GiB, {free / 2**30:.4g} GiB are available now; {advice}"
        )


def available() -> int:
    """The bytes that this process can take without swapping: what the system, its cgroups and its own limit leave."""
    return max(0, min([_system(), _address_space(), *cgroups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]))


def _system() -> int:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def _address_space() -> int:
    """What `ulimit -v` leaves."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _text(Path("/proc/self/statm")).split()
    return limit - int(used[0]) * _PAGE if limit != resource.RLIM_INFINITY and used else 1 << 62


def cgroups(own: Path, root: Path) -> Iterator[int]:
    """What the limits of the process's cgroup and of those around it leave."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names, mount = (_FIRST, root / "memory") if controllers else (_SECOND, root)
        folder = mount / path.lstrip("/")
        for group in (folder, *folder.parents):
            limit, used = _text(group / names.limit), _text(group / names.used)
            if limit.strip().isdigit() and used.strip().isdigit():
                stat = dict(line.split(maxsplit=1) for line in _text(group / "memory.stat").splitlines())
                yield int(limit) - int(used) + sum(int(stat.get(name, 0)) for name in names.cached)
            if group == mount:
                break


def _text(path: Path) -> str:
    """The text of one of the system's files, "" where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
