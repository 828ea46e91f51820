"""How many threads a kernel may use, and the OpenMP runtime that they are from."""

from __future__ import annotations

import ctypes
import functools
import os
import re
from collections.abc import Callable

import torch

EACH = 1 << 15  # entries from which on a thread is worth its start

_OPENMP = r"lib(?:gomp|iomp5|omp)[-.\w]*\.so[.\d]*"
_MAPPED = rf"(?m) (/\S.*/{_OPENMP})$"

# Called for every kernel call.
count: Callable[[], int] = torch.get_num_threads
_chosen: int | None = None
_forked = False


def chosen() -> int | None:
    """The number that was set, None where torch decides."""
    return _chosen


def choose(number: int | None) -> None:
    """Sets the number of threads, None to follow `torch.get_num_threads()`; a forked process stays at 1."""
    global count, _chosen
    _chosen = number
    wanted = torch.get_num_threads if number is None else (lambda: number)
    count = (lambda: 1) if _forked else wanted


def _after_fork() -> None:
    # A child can't open a team of threads where its parent has had one (libsparse's, torch's or anybody's): it would
    # wait for threads that it does not have. Nothing tells whether there was one.
    global _forked
    _forked = True
    choose(_chosen)


os.register_at_fork(after_in_child=_after_fork)


def shared(items: int, each: int | None = None) -> tuple[int, int]:
    """How many threads divide so many items, of which each has so many at least, and the `team` that they are of."""
    number = min(count(), items // (EACH if each is None else each))
    return (number, team()) if number > 1 else (1, 0)


@functools.cache
def openmp() -> str:
    """The path of the OpenMP runtime this process has mapped (torch's own), "" where there is none."""
    lib = os.path.dirname(torch.__file__) + "/lib"  # noqa: PTH120  # a first call has no time for pathlib
    try:
        with os.scandir(lib) as entries:
            beside = sorted(entry.name for entry in entries if re.fullmatch(_OPENMP, entry.name))
    except OSError:
        beside = []
    for name in beside:
        if _is_mapped(f"{lib}/{name}"):  # quicker than reading the map of thousands of lines
            return f"{lib}/{name}"
    found = re.search(_MAPPED, _maps())
    if found is not None:
        return found.group(1)
    return f"{lib}/{beside[0]}" if beside else ""


def _is_mapped(library: str) -> bool:
    try:
        ctypes.CDLL(library, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True


def _maps() -> str:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # as above
            return file.read()
    except OSError:
        return ""


@functools.cache
def team() -> int:
    """The address of the function by which C runs a team of that runtime's threads, 0 where there is none.

    Threads of another kind would wait for these, which go on looking for work for some time after each kernel.
    """
    path = openmp()
    if not path:
        return 0
    try:
        run = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW).GOMP_parallel
    except (OSError, AttributeError):
        return 0
    return ctypes.cast(run, ctypes.c_void_p).value or 0
