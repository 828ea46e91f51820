"""C of the benchmarks' own (bandwidths, the plain loops), compiled once for this processor and loaded by ctypes."""

from __future__ import annotations

import ctypes
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

from torch import Tensor

BUILD = Path(__file__).resolve().parents[2] / "build" / "bench"


class CompilerMissing(Exception):
    """There is no C compiler."""


def openmp() -> str | None:
    """The OpenMP runtime that torch has loaded; a second one would keep threads of its own."""
    with Path("/proc/self/maps").open(encoding="utf-8") as maps:
        paths = {"/" + line.rstrip("\n").partition("/")[2] for line in maps}
    return min((path for path in paths if Path(path).name.startswith(("libgomp", "libiomp5"))), default=None)


def build(source: Path, *flags: str, threads: bool = True) -> Path:
    """The shared library of a C file, compiled if it isn't there yet.

    Args:
        source: The file.
        flags: Of the compiler.
        threads: Whether it uses OpenMP; it then shares torch's runtime.

    Raises:
        CompilerMissing: Neither `CC`, nor gcc, nor cc is there.
    """
    compiler = os.environ.get("CC") or shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        raise CompilerMissing("no C compiler")
    runtime = openmp() if threads else None
    command = [compiler, "-shared", "-fPIC", *flags]
    text = source.read_bytes() + " ".join([*command, str(runtime), _processor()]).encode()
    library = BUILD / f"{source.stem}-{hashlib.sha256(text).hexdigest()[:16]}.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        partial = library.with_suffix(f".{os.getpid()}")
        linked = [f"-Wl,--push-state,--no-as-needed,{runtime},--pop-state"] if runtime else []
        done = subprocess.run(
            [*command, "-o", str(partial), str(source), *linked, "-lm"], capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise CompilerMissing(f"{compiler} can't compile {source.name}: {done.stderr[-500:]}")
        partial.replace(library)
    return library


def _processor() -> str:
    # -march=native means something else on another machine that shares the folder
    with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        return next((line for line in lines if line.startswith("flags")), "")


def pointer(tensor: Tensor) -> ctypes.c_void_p:
    """The address of a tensor's first element, which keeps the tensor."""
    address = ctypes.c_void_p(tensor.data_ptr())
    address.keeps = tensor
    return address
