"""What kernels are compiled for: this CPU, the OpenMP runtime torch has mapped, the C compiler and cache in use.

Everything is read when it is first needed, never at import.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
from pathlib import Path

import torch

from . import settings

_OPENMP = re.compile(r"lib(?:gomp|iomp5|omp)[-.\w]*\.so[.\d]*")
_MAPPED = re.compile(r" (/\S.*/lib(?:gomp|iomp5|omp)[-.\w]*\.so[.\d]*)$", re.MULTILINE)
_CPU_BYTES = 8192  # holds the description of one processor
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
def cpu() -> str:
    """Text that identifies the model and the instruction sets of this CPU."""
    found: dict[str, str] = {}
    try:
        with Path("/proc/cpuinfo").open("rb") as file:
            text = file.read(_CPU_BYTES).decode("utf-8", "replace")
        for line in text.partition("\n\n")[0].splitlines():  # the first processor speaks for all
            name, _, value = line.partition(":")
            if name.strip() in _CPU_FIELDS:
                found[name.strip()] = value.strip()
    except OSError:
        import platform

        return f"{platform.machine()} {platform.processor()}"
    return "; ".join(f"{name}: {found[name]}" for name in _CPU_FIELDS if name in found)


@functools.cache
def openmp() -> str:
    """The path of the OpenMP runtime this process has mapped (torch's own), "" where there is none."""
    lib = Path(torch.__file__).parent / "lib"
    beside = sorted(path.name for path in lib.glob("lib*omp*") if _OPENMP.fullmatch(path.name))
    for name in beside:
        if _is_mapped(lib / name):  # asking the loader is far quicker than reading the thousands of lines of the map
            return str(lib / name)
    try:
        found = re.search(_MAPPED, Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"))
    except OSError:
        found = None
    if found is not None:
        return found.group(1)
    return str(lib / beside[0]) if beside else ""


def _is_mapped(library: Path) -> bool:
    try:
        ctypes.CDLL(str(library), mode=os.RTLD_NOLOAD | os.RTLD_NOW)
    except OSError:
        return False
    return True


def compiler() -> str:
    """The C compiler that was asked for, "" to take the first on PATH."""
    return os.environ.get("LIBSPARSE_CC") or os.environ.get("CC") or ""


def cache_dir() -> Path:
    """The folder of the kernel cache."""
    chosen = settings.cache_dir() or os.environ.get("LIBSPARSE_CACHE_DIR")
    if chosen:
        return Path(chosen).expanduser().absolute()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return (Path(base) / "libsparse").expanduser().absolute()


def target() -> dict[str, str]:
    """The `target` part of a request."""
    return {
        "cpu": cpu(),
        "cc": compiler(),
        "path": os.environ.get("PATH", ""),
        "openmp": openmp(),
        "cache_dir": str(cache_dir()),
    }
