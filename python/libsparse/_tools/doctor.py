"""The parts that libsparse needs, as found, with advice; works also where some are missing."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import torch

from libsparse._compiler import native, target
from libsparse._compiler.version import ABI_VERSION, VERSION

__all__ = ["Finding", "Report", "doctor"]

_COMPILER_SECONDS = 60
_PROBE = """
#include <stdint.h>
int32_t probe(int64_t *s) {
#pragma omp parallel for
  for (int i = 0; i < 4; i++) s[i] = i;
  return 0;
}
"""


class Finding(NamedTuple):
    """One thing that was looked at; `advice` is empty where all is well."""

    name: str
    ok: bool
    found: str
    advice: str = ""


class Report(tuple[Finding, ...]):
    """All findings; prints as a table."""

    __slots__ = ()

    @property
    def ok(self) -> bool:
        """Whether nothing is missing."""
        return all(finding.ok for finding in self)

    def __str__(self) -> str:
        """One line a finding, with advice below if need be."""
        lines = []
        for name, ok, found, advice in self:
            lines.append(f"{'ok     ' if ok else 'MISSING'}  {name:<14}  {found}")
            if advice:
                lines.append(f"{'':25}-> {advice}")
        lines.append("everything is there" if self.ok else "something is missing; see the lines with an arrow")
        return "\n".join(lines)

    __repr__ = __str__


def doctor() -> Report:
    """Look at everything libsparse stands on.

    Returns:
        The findings; `print(ls.doctor())` shows them, `.ok` says whether all is well. Never raises.
    """
    checks: list[tuple[str, Callable[[], Finding]]] = [
        ("python", _python),
        ("torch", _torch),
        ("OpenMP", _openmp),
        ("compiler (Go)", _library),
        ("helper (Go)", _helper),
        ("C compiler", _c_compiler),
        ("kernel cache", _cache),
        ("CPU", _cpu),
    ]
    return Report(_guarded(name, check) for name, check in checks)


def _guarded(name: str, check: Callable[[], Finding]) -> Finding:
    try:
        return check()
    except Exception as error:  # a doctor that dies tells nothing
        return Finding(name, False, f"{type(error).__name__}: {error}", "this check itself failed; please report it")


def _python() -> Finding:
    ok = sys.version_info >= (3, 10)
    return Finding(
        "python", ok, f"{platform.python_version()} at {sys.executable}", "" if ok else "install Python 3.10 or newer"
    )


def _torch() -> Finding:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    found = f"{torch.__version__}, {torch.get_num_threads()} threads"
    return Finding("torch", version >= (2, 4), found, "" if version >= (2, 4) else "pip install 'torch>=2.4'")


def _openmp() -> Finding:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return Finding("OpenMP", False, "this system doesn't list what a process has mapped", "use Linux")
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text(encoding="utf-8", errors="replace").splitlines()}
    runtimes = sorted(p for p in paths if Path(p).name.startswith(("libgomp", "libomp.", "libiomp5")))
    if len(runtimes) == 1:
        return Finding("OpenMP", True, f"{runtimes[0]} (torch's, kernels use the same)")
    if runtimes:
        advice = (
            "two runtimes in one process are slow and can compute wrong numbers; find which package brings the second"
        )
        return Finding("OpenMP", False, " and ".join(runtimes), advice)
    return Finding("OpenMP", True, "torch has none mapped; kernels run on one thread")


def _library() -> Finding:
    name = "compiler (Go)"
    if not native.LIBRARY.exists():
        return Finding(
            name, False, f"{native.LIBRARY} is missing", "in a clone run make build; else install libsparse again"
        )
    # loaded in a process of its own: this one may be about to fork, which a loaded Go doesn't survive
    code = (
        "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); v = ctypes.c_char_p(); e = ctypes.c_char_p();"
        "l.libsparse_version(ctypes.byref(v), ctypes.byref(e)); print(l.libsparse_abi_version(), v.value.decode())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(native.LIBRARY)], capture_output=True, text=True, timeout=60, check=False
    )
    if done.returncode != 0:
        return Finding(name, False, f"{native.LIBRARY} can't be loaded: {done.stderr.strip()[-200:]}", "run make build")
    abi, version = done.stdout.split()
    ok = int(abi) == ABI_VERSION and version == VERSION
    found = f"{native.LIBRARY}, version {version}, interface {abi}"
    return Finding(
        name, ok, found, "" if ok else f"expected version {VERSION}, interface {ABI_VERSION}: run make build"
    )


def _helper() -> Finding:
    ok = os.access(native.EXECUTABLE, os.X_OK)
    advice = "" if ok else "in a clone run make build; without it forked children can't compile new kernels"
    return Finding("helper (Go)", ok, str(native.EXECUTABLE) if ok else f"{native.EXECUTABLE} is missing", advice)


def _c_compiler() -> Finding:
    name = "C compiler"
    wanted, tried = target.compiler(), []
    for text in [wanted] if wanted else ["cc", "gcc", "clang"]:
        path = shutil.which(text)
        if path is None:
            tried.append(f"{text}: not found")
            continue
        problem = _compile_probe([path])
        if not problem:
            version = subprocess.run(
                [path, "--version"], capture_output=True, text=True, timeout=60, check=False
            ).stdout
            return Finding(name, True, f"{path}: {version.splitlines()[0] if version else 'works'}")
        tried.append(f"{text}: {problem}")
    advice = "install gcc (Debian, Ubuntu: apt install gcc libc6-dev) or set LIBSPARSE_CC; cached kernels work without"
    return Finding(name, False, "; ".join(tried), advice)


def _compile_probe(command: list[str]) -> str:
    """The error when `command` compiles and loads a small kernel, "" for none."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "probe.c"), Path(folder, "probe.so")
        source.write_text(_PROBE, encoding="utf-8")
        # no OpenMP runtime is linked: kernels take the one torch brought
        command = [*command, "-O2", "-fopenmp", "-fPIC", "-c", "-o", str(library.with_suffix(".o")), str(source)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_COMPILER_SECONDS, check=False)
            if done.returncode == 0:
                plain = [command[0], "-shared", "-fPIC", "-o", str(library), str(source)]
                done = subprocess.run(plain, capture_output=True, text=True, timeout=_COMPILER_SECONDS, check=False)
            if done.returncode == 0:
                ctypes.CDLL(str(library))
                return ""
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return (done.stderr.strip().splitlines() or ["failed without a message"])[-1][:200]


def _cache() -> Finding:
    folder = Path(target.cache_dir())
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        advice = "set LIBSPARSE_CACHE_DIR to a folder you can write, or repair this one"
        return Finding("kernel cache", False, f"{folder}: {error.strerror or error}", advice)
    size = sum(1 for _ in folder.glob("v*/kernels/*/*/kernel.so"))
    return Finding("kernel cache", True, f"{folder}, {size} kernels")


def _cpu() -> Finding:
    fields = dict(part.partition(": ")[::2] for part in target.cpu().split("; "))
    flags = fields.get("flags", fields.get("Features", "")).split()
    shown = [f for f in ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "asimd", "sve") if f in flags]
    return Finding(
        "CPU",
        True,
        f"{fields.get('model name', platform.machine())}, {os.cpu_count()} cores, {' '.join(shown)}".rstrip(", "),
    )
