"""The pack: kernels of common requests that were compiled with the package, for processors of several levels.

It is only read. Where no C compiler is found, it stands behind the cache of the user. Its kernels fit every size of
their operands but small extents of dense ones, for which loops are written out.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import platform
import shutil
from pathlib import Path

from . import native, target
from .request import OperandInfo, Request, key
from .version import VERSION

FOLDER = Path(__file__).parents[1] / "_pack"
_LEVELS = {
    "x86-64-v4": {"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"},
    "x86-64-v3": {"avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe"},
    "x86-64": set[str](),
}
"""The levels of processors, the largest first, by the instructions that each adds to the next."""


@functools.cache
def machine_level() -> str:
    """The largest level whose instructions this processor has, "" of another kind of processor."""
    if platform.machine() != "x86_64":
        return ""
    flags = set(dict(part.partition(": ")[::2] for part in target.cpu().split("; ")).get("flags", "").split())
    names = list(_LEVELS)
    return next(name for n, name in enumerate(names) if all(_LEVELS[smaller] <= flags for smaller in names[n:]))


@functools.cache
def level() -> str:
    """The largest level that this processor and the pack have, "" where there is none."""
    largest, names = machine_level(), list(_LEVELS)
    fitting = names[names.index(largest) :] if largest and FOLDER.is_dir() else []
    return next((name for name in fitting if (FOLDER / name).is_dir()), "")


def store(level: str) -> str:
    """The folder with the kernels of a level, laid out as a cache."""
    return f"{FOLDER}/{level}/v{VERSION}"


def places(wanted: Request) -> list[tuple[str, str]]:
    """Where the pack has a kernel for a request: the folder and the name of the answer; nowhere if it is not asked."""
    if not level() or _has_compiler():
        return []
    with contextlib.suppress(
        OSError
    ):  # kernels of the pack don't name the OpenMP runtime: each torch has one of its own
        ctypes.CDLL(target.openmp(), mode=os.RTLD_NOLOAD | os.RTLD_NOW | os.RTLD_GLOBAL)
    return [(store(level()), key(widened(wanted), native.BUILD, level()))]


def _has_compiler() -> bool:
    """Whether the C compiler that the environment names, or one on PATH, can be executed."""
    named = target.compiler()
    return any(shutil.which(name) is not None for name in ([named] if named else target.COMPILERS))


def count() -> int:
    """How many kernels the pack has for this processor, made by this build of the compiler."""
    try:
        fits = (FOLDER / "build.txt").read_text() == native.BUILD
    except OSError:
        fits = False
    return sum(1 for _ in Path(store(level())).glob("kernels/*/*/kernel.so")) if fits and level() else 0


def widened(wanted: Request) -> Request:
    """A request for operands of any size, which all requests that its kernel fits come to."""
    return wanted._replace(operands=tuple(map(_any_size, wanted.operands)))


def _any_size(operand: OperandInfo) -> OperandInfo:
    shape = tuple(n if n < 8 or (n <= 64 and n % 8 == 0) else 0 for n in operand.shape)
    return operand._replace(shape=shape, nnz=0, filled=0, skew=(), reach=0, scattered=False)
