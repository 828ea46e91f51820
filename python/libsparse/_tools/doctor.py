"""The parts that libsparse needs, as found, with advice; works also where some are missing."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable
from pathlib import Path

import torch

from libsparse._compiler import cache, native, target
from libsparse._compiler.version import ABI_VERSION, VERSION
from libsparse._lang.errors import ToolchainError
from libsparse._lang.records import NamedTuple

_SECONDS = 60  # for a command
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

    Example:
        >>> "torch" in str(ls.doctor())
        True
    """
    checks: dict[str, Callable[[], tuple[bool, str, str]]] = {
        "python": _python,
        "torch": _torch,
        "OpenMP": _openmp,
        "compiler (Go)": _library,
        "helper (Go)": _helper,
        "C compiler": _c_compiler,
        "kernel cache": _cache,
        "kernel pack": _pack,
        "CPU": _cpu,
    }
    return Report(_guarded(name, check) for name, check in checks.items())


def _guarded(name: str, check: Callable[[], tuple[bool, str, str]]) -> Finding:
    """A check's finding; what it advises counts only where not all is well."""
    try:
        ok, found, advice = check()
    except Exception as error:  # a doctor that dies tells nothing
        ok, found, advice = False, f"{type(error).__name__}: {error}", "this check itself failed; please report it"
    return Finding(name, ok, found, "" if ok else advice)


def _python() -> tuple[bool, str, str]:
    free = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
    found = f"{platform.python_version()}{', free-threaded,' if free else ''} at {sys.executable}"
    return sys.version_info >= (3, 10) and not free, found, "install Python 3.10 or newer, not its free-threaded build"


def _torch() -> tuple[bool, str, str]:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    found = f"{torch.__version__}, {torch.get_num_threads()} threads"
    return version >= (2, 4), found, "pip install 'torch>=2.4'"


def _openmp() -> tuple[bool, str, str]:
    maps = Path("/proc/self/maps")
    if not maps.exists():
        return False, "this system doesn't list what a process has mapped", "use Linux"
    paths = {line.split(maxsplit=5)[-1] for line in maps.read_text(encoding="utf-8", errors="replace").splitlines()}
    runtimes = sorted(p for p in paths if Path(p).name.startswith(("libgomp", "libomp.", "libiomp5")))
    if not runtimes:
        return True, "torch has none mapped; kernels run on one thread", ""
    found = " and ".join(runtimes) if len(runtimes) > 1 else f"{runtimes[0]} (torch's, kernels use the same)"
    advice = "two runtimes in one process are slow and can compute wrong numbers; find which package brings the second"
    return len(runtimes) == 1, found, advice


def _library() -> tuple[bool, str, str]:
    if not native.LIBRARY.exists():
        return False, f"{native.LIBRARY} is missing", "in a clone run make build; else install libsparse again"
    # loaded in a process of its own: this one may be about to fork, which a loaded Go doesn't survive
    code = (
        "import ctypes, sys; l = ctypes.CDLL(sys.argv[1]); v = ctypes.c_char_p(); e = ctypes.c_char_p();"
        "l.libsparse_version(ctypes.byref(v), ctypes.byref(e)); print(l.libsparse_abi_version(), v.value.decode())"
    )
    done = _run([sys.executable, "-c", code, str(native.LIBRARY)])
    if done.returncode != 0:
        return False, f"{native.LIBRARY} can't be loaded: {done.stderr.strip()[-200:]}", "run make build"
    abi, version = done.stdout.split()
    found = f"{native.LIBRARY}, version {version}, interface {abi}"
    ok = int(abi) == ABI_VERSION and version == VERSION
    return ok, found, f"expected version {VERSION}, interface {ABI_VERSION}: run make build"


def _helper() -> tuple[bool, str, str]:
    ok = os.access(native.EXECUTABLE, os.X_OK)
    advice = "in a clone run make build; without it forked children can't compile new kernels"
    return ok, str(native.EXECUTABLE) if ok else f"{native.EXECUTABLE} is missing", advice


def _c_compiler() -> tuple[bool, str, str]:
    wanted, tried = target.compiler(), []
    for text in [wanted] if wanted else target.COMPILERS:
        path = shutil.which(text)
        problem = "not found" if path is None else _compile_probe(path)
        if path is not None and not problem:
            version = _run([path, "--version"]).stdout
            return True, f"{path}: {version.splitlines()[0] if version else 'works'}", ""
        tried.append(f"{text}: {problem}")
    advice = "install gcc (Debian, Ubuntu: apt install gcc libc6-dev) or set LIBSPARSE_CC; known kernels work without"
    return False, "; ".join(tried), advice


def _compile_probe(compiler: str) -> str:
    """The error when a C compiler compiles a small kernel that is loaded, "" for none."""
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "probe.c"), Path(folder, "probe.so")
        source.write_text(_PROBE, encoding="utf-8")
        try:
            # no OpenMP runtime is linked: kernels take the one torch brought
            done = _run([compiler, "-O2", "-fopenmp", "-fPIC", "-c", "-o", f"{folder}/probe.o", str(source)])
            if done.returncode == 0:
                done = _run([compiler, "-shared", "-fPIC", "-o", str(library), str(source)])
            if done.returncode == 0:
                ctypes.CDLL(str(library))
                return ""
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        return (done.stderr.strip().splitlines() or ["failed without a message"])[-1][:200]


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)


def _cache() -> tuple[bool, str, str]:
    advice = "set LIBSPARSE_CACHE_DIR to a folder you can write, or repair this one"
    try:
        folder = Path(target.cache_dir())
    except ToolchainError as error:
        return False, f"none: {error}", advice
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        return False, f"{folder}: {error.strerror or error}", advice
    return True, f"{folder}, {sum(1 for _ in folder.glob('v*/kernels/*/*/kernel.so'))} kernels", ""


def _pack() -> tuple[bool, str, str]:
    if not Path(target.PACK).is_dir():
        return True, "none; with a C compiler none is needed", ""
    kernels = cache.packed()
    found = f"{kernels} kernels for {target.level()}, used where there is no C compiler"
    return kernels > 0, found, "made by another build of the compiler: in a clone run make pack"


def _cpu() -> tuple[bool, str, str]:
    fields = dict(part.partition(": ")[::2] for part in target.cpu().split("; "))
    flags = fields.get("flags", fields.get("Features", "")).split()
    shown = [f for f in ("avx2", "fma", "f16c", "avx512f", "avx512_bf16", "asimd", "sve") if f in flags]
    name = fields.get("model name", platform.machine())
    return True, f"{name}, {os.cpu_count()} cores, {' '.join(shown)}".rstrip(", "), ""
