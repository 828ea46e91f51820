"""The target of kernels: this CPU, the OpenMP runtime torch has mapped, the C compiler and cache in use.

Everything is read when it is first needed, never at import.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from libsparse._lang.errors import LibsparseError, ToolchainError
from libsparse._storage.threads import openmp

from . import settings
from .version import VERSION

_BITS = {"K": 10, "M": 20}  # of the units in which the system says how large caches are
_SHARE = 4  # the part of the caches that a result may take, in which it is still found when it is read next
_OF_NEAR = 8  # times a core's own cache that a result has from which on it isn't found in a slow last one either
_PANEL_ROWS = (256, 128)  # bytes of the rows of a panel: the sums of a row of entries stay in registers
_PANEL_TAIL = 64  # the same of what rows are left
_BUSY = 0.8  # the share of the threads' time that strips use at least
_PANEL_USES = 64  # entries for each row of an operand and a result, up to which panels of the first width save time
_STREAMED = 5  # the part of the caches from which on entries gain from being brought near; with less they lose
_LAUNCHERS = frozenset({"ccache", "sccache", "distcc", "icecc"})
COMPILERS = ("cc", "gcc", "clang")
PACK = os.path.dirname(os.path.dirname(__file__)) + "/_pack"  # noqa: PTH120  # a first call has no time for pathlib
"""The folder of the pack: kernels of common requests that came with the package. It is only read.

Where no C compiler is found, it stands behind the cache of the user. There is a cache for each level of processors.
"""
_LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
    "x86-64": set[str](),
}
"""The levels of processors, the largest first, by the instructions that each adds to the next."""
_CPU_FIELDS = (
    "vendor_id",
    "cpu family",
    "model",
    "model name",
    "stepping",
    "flags",
    "CPU implementer",
    "CPU part",
    "Features",
)


@functools.cache
def has_vector_functions() -> bool:
    """Whether the C library has functions such as `tanh` for vectors, as glibc has from 2.35 on for x86.

    The compiler finds out for itself (codegen/vectorlibrary.go); this is for decisions on what to compile.
    """
    try:
        return hasattr(ctypes.CDLL("libmvec.so.1"), "_ZGVeN16v_tanhf")
    except OSError:
        return False


@functools.cache
def cpu() -> str:
    """Text that identifies the model and the instruction sets of this CPU."""
    lines = _text("/proc/cpuinfo").partition("\n\n")[0].splitlines()  # the first processor speaks for all
    if not lines:
        import platform

        return f"{platform.machine()} {platform.processor()}"
    found = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    return "; ".join(f"{name}: {found[name]}" for name in _CPU_FIELDS if name in found)


def _text(path: str, limit: int | None = 8192) -> str:
    """One of the system's files up to `limit` bytes, which hold a processor's description; "" where there is none."""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123  # a first call has no time for pathlib
            return file.read(limit or -1).decode("utf-8", "replace")
    except OSError:
        return ""


@functools.cache
def caches() -> tuple[int, ...]:
    """The sizes in bytes of the caches beyond the first level, the nearest first; fewer if the system doesn't say."""
    found: list[int] = []
    for level in (2, 3):
        size = _text(f"/sys/devices/system/cpu/cpu0/cache/index{level}/size").strip()
        number, unit = size[:-1], size[-1:]
        if unit not in _BITS or not number.isdecimal():
            break
        found.append(int(number) << _BITS[unit])
    return tuple(found)


def outgrown(bytes: int) -> bool:
    """Whether a result of so many bytes is written past the caches, which it would fill: a quarter of the farthest.

    Where that is shared by many cores and hardly faster than memory, it is eight times the one before.
    """
    sizes = caches()
    if len(sizes) > 1 and _has_slow_last_cache(cpu()):
        return bytes >= _OF_NEAR * sizes[-2]
    return bytes * _SHARE >= max(sizes, default=sys.maxsize)


def _has_slow_last_cache(cpu: str) -> bool:
    """Whether this is a server processor of Intel since Sapphire Rapids, whose cores are far from their last cache.

    Measured in a virtual machine: 31 GB/s from it, 28 from memory. Results of 16 MB and more that are written past it
    take less time together with what reads them next; of smaller ones the product does, but not both.
    """
    return "GenuineIntel" in cpu and "avx512_fp16" in cpu


def overflows(bytes: int) -> bool:
    """Whether entries of so many bytes are mostly read from beyond the caches, beside what else a program reads."""
    return bytes * _STREAMED >= max(caches(), default=sys.maxsize)


def strip(rows: int, across: int, others: int, entries: int, size: int, team: int) -> int:
    """How many rows of a dense operand a thread turns to a panel at a time, where a product reads it across its rows.

    Copies of the operand and the result in another order go from one processor's cache to another's. Strips don't, but
    each reads all entries: these take half of the near cache at most, a panel a quarter, and they are few enough for
    what copies take to matter.

    Args:
        rows: Of the operand and the result.
        across: The extent of the index that is summed over.
        others: The other extent of the result.
        entries: Of the sparse operand.
        size: Of an element, in bytes.
        team: How many threads there are.

    Returns:
        A number of rows; 0 where copies take no longer, or strips are too few for the threads.
    """
    near = caches()[0] // 2 if caches() else 0
    if entries * (size + 4) > near:
        return 0
    for bytes in _PANEL_ROWS:
        width = bytes // size
        strips, left = divmod(rows, width)
        tail = _PANEL_TAIL // size
        longest = -(-strips // team) * width + -(-left // (tail * team)) * tail  # rows of the thread with the most
        few = entries * _PANEL_ROWS[0] <= _PANEL_USES * bytes * (across + others)
        if strips and rows >= _BUSY * team * longest and few and across * bytes <= near // 2:
            return width
    return 0


@functools.cache
def level() -> str:
    """The largest level of instructions that this processor has, "" of another kind of processor than x86-64."""
    found = cpu().partition("; flags: ")[2].partition(";")[0]
    if not found:
        return ""
    flags, names = set(found.split()), list(_LEVELS)
    return next(name for n, name in enumerate(names) if all(_LEVELS[smaller] <= flags for smaller in names[n:]))


def pack() -> tuple[str, str]:
    """The largest level that this processor and the pack have, and its folder; "" where there is none."""
    names = list(_LEVELS)
    for name in names[names.index(level()) :] if level() else ():
        folder = f"{PACK}/{name}/v{VERSION}"
        if os.path.isdir(folder):  # noqa: PTH112  # as above
            return name, folder
    return "", ""


@functools.cache
def identity() -> str:
    """A digest of the properties that identify this machine and process."""
    return hashlib.sha256(f"{cpu()} {caches()} {openmp()} ".encode()).hexdigest()


def compiler() -> str:
    """The C compiler that the environment names, "" to take the first on PATH.

    `CC` is often a command line ("ccache gcc -O2"); only the compiler in it counts.
    """
    given = os.environ.get("LIBSPARSE_CC") or os.environ.get("CC") or ""
    if not settings.is_text(given):
        raise ToolchainError(f"the C compiler {given!r}: expected a name in UTF-8; name another by LIBSPARSE_CC")
    words = given.split()
    if len(words) < 2 or Path(given).exists():
        return given.strip()
    return next((word for word in words if word[0] != "-" and Path(word).name not in _LAUNCHERS), "")


def has_compiler() -> bool:
    """Whether the C compiler that the environment names, or one on PATH, can be executed."""
    named = compiler()
    return any(shutil.which(name) is not None for name in ([named] if named else COMPILERS))


def cache_dir() -> str:
    """The absolute path of the folder of the kernel cache."""
    chosen = settings.cache_dir()
    if chosen is not None:
        return chosen
    folder = os.environ.get("LIBSPARSE_CACHE_DIR") or (os.environ.get("XDG_CACHE_HOME") or "~/.cache") + "/libsparse"
    expanded = os.path.expanduser(folder)  # noqa: PTH111  # as above
    if expanded.startswith("~"):
        message = f"the kernel cache {folder}: the user has no home folder; name another by LIBSPARSE_CACHE_DIR"
        raise ToolchainError(message)
    found = settings.absolute(expanded)
    if not settings.is_text(found):
        raise ToolchainError(
            f"the kernel cache {found!r}: expected a name in UTF-8; name another by LIBSPARSE_CACHE_DIR"
        )
    return found


def cache_bytes() -> int:
    """How much the kernel cache may take, 0 to leave it to the compiler."""
    text = os.environ.get("LIBSPARSE_CACHE_MIB", "")
    if not text:
        return 0
    if not text.isdecimal() or int(text) < 1:
        raise LibsparseError(f"LIBSPARSE_CACHE_MIB={text!r}: expected a positive number of MiB")
    return min(int(text) << 20, sys.maxsize)


def target() -> dict[str, Any]:
    """The `target` part of a request."""
    return {
        "cpu": cpu(),
        "caches": list(caches()),
        "cc": compiler(),
        "path": os.environ.get("PATH", ""),
        "openmp": openmp(),
        "cache_dir": cache_dir(),
        "cache_bytes": cache_bytes(),
    }
