"""Memory: arrays that can't fit into what is available now are not allocated, and freed ones are not read."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from torch import Tensor

from libsparse._lang.errors import FormatError, UnsupportedError

_SMALL: Final = 1 << 26  # bytes that are allocated without a look at what the system has left
_MARGIN: Final = 16  # one byte in so many is added, for page tables and for other processes
_PAGE: Final = os.sysconf("SC_PAGE_SIZE")


# The names in both versions of cgroups: of a limit, of its use, and of the caches in that use that are given back.
_FIRST: Final = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file", "total_active_file")
_SECOND: Final = ("memory.max", "memory.current", "inactive_file", "active_file")


def is_small(count: int, size: int) -> bool:
    """Whether an array of `count` elements of `size` bytes is allocated without a look at what the system has left."""
    return count * size <= _SMALL


def check(count: int, size: int, subject: str, advice: str) -> None:
    """An array of `count` elements of `size` bytes fits into the memory that is available now.

    Raises:
        FormatError: It does not.
    """
    if is_small(count, size):
        return
    need = count * size
    free = available()
    if need + need // _MARGIN > free:
        raise FormatError(
            f"{subject} would take {need / 2**30:.4g} GiB, {free / 2**30:.4g} GiB are available now; {advice}"
        )


def address(array: Tensor) -> int:
    """Where the elements of an array are, for a kernel to read.

    Raises:
        UnsupportedError: Its memory has been freed, as by `array.untyped_storage().resize_(0)`.
    """
    found = array.data_ptr()
    if not found and array.numel():
        raise UnsupportedError(
            f"an array of shape {tuple(array.shape)} and {array.dtype} has no memory: its storage has been freed; "
            "give it a size again before it is used"
        )
    return found


def elements(tensor: Tensor) -> Tensor:
    """The tensor with its elements in memory, not conjugated or negated as they are read.

    Formulas of torch's gradients have zeros without memory, too (`torch._efficientzerotensor`), which get some here.
    """
    read = tensor.resolve_conj().resolve_neg()
    return read.clone() if read._is_zerotensor() else read


def available() -> int:
    """The bytes that this process can take without swapping, by the system, its cgroups and its own limit."""
    return max(0, min([_system(), _address_space(), *cgroups(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]))


def _system() -> int:
    for line in _text(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return os.sysconf("SC_PHYS_PAGES") * _PAGE


def _address_space() -> int:
    """The rest of the limit of `ulimit -v`."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    used = _text(Path("/proc/self/statm")).split()
    return limit - int(used[0]) * _PAGE if limit != resource.RLIM_INFINITY and used else 1 << 62


def cgroups(own: Path, root: Path) -> Iterator[int]:
    """The rests of the limits of the process's cgroup and of the cgroups around it."""
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers and "memory" not in controllers.split(","):
            continue
        names, mount = (_FIRST, root / "memory") if controllers else (_SECOND, root)
        folder = mount / path.lstrip("/")
        for group in (folder, *folder.parents):
            limit, used = (_text(group / name) for name in names[:2])
            if limit.strip().isdigit() and used.strip().isdigit():
                stat = dict(line.split(maxsplit=1) for line in _text(group / "memory.stat").splitlines())
                yield int(limit) - int(used) + sum(int(stat.get(name, 0)) for name in names[2:])
            if group == mount:
                break


def _text(path: Path) -> str:
    """The text of one of the system's files, "" where there is none."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
