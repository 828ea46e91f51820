"""The Go compiler behind its C interface, entered for compiling and explaining only, never on a kernel call.

Go can't live through a fork: a child of a process that has loaded the library runs the compiler as a subprocess.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from libsparse._lang.errors import InternalError, ToolchainError, from_kind

from .version import ABI_VERSION

_FOLDER = Path(__file__).parents[1]
LIBRARY = _FOLDER / "_libsparse.so"
EXECUTABLE = _FOLDER / "_libsparse_go"
_SUBPROCESS_SECONDS = 150

_lock = threading.Lock()
_library: ctypes.CDLL | None = None
_entered_by = 0  # the process that loads or has loaded Go; set before loading starts


def _build() -> str:
    try:
        stat = LIBRARY.stat()
    except OSError:
        return ""
    return f"{stat.st_size}-{stat.st_mtime_ns}"


BUILD = _build()
"""Text that changes when the compiler is rebuilt, "" where there is none."""


def compile_request(request: dict[str, Any]) -> dict[str, Any]:
    """Has the compiler make a kernel (or find it in its cache) and returns the kernel's description."""
    text = json.dumps(request)
    if _must_not_enter():
        answer = _run(["compile"], text)
    else:
        library = _load()
        handle = ctypes.c_size_t()
        _check(library, lambda error: library.libsparse_compile(text.encode(), ctypes.byref(handle), error))
        try:
            answer = _string(library, lambda out, error: library.libsparse_kernel_info(handle, out, error))
        finally:
            _check(library, lambda error: library.libsparse_release(handle, error))
    info: dict[str, Any] = json.loads(answer)
    return info


def explain_request(request: dict[str, Any], stage: str) -> str:
    """The compiler's account of a request, of one stage or (with "") of all."""
    text = json.dumps(request)
    if _must_not_enter():
        return _run(["explain", stage] if stage else ["explain"], text)
    library = _load()
    return _string(library, lambda out, error: library.libsparse_explain(text.encode(), stage.encode(), out, error))


def is_loaded() -> bool:
    """Whether this process has loaded Go."""
    return _library is not None and _entered_by == os.getpid()


def _must_not_enter() -> bool:
    return _entered_by not in (0, os.getpid())


def _load() -> ctypes.CDLL:
    global _library, _entered_by
    with _lock:
        if _library is not None:
            return _library
        if not LIBRARY.exists():
            raise ToolchainError(f"the compiler {LIBRARY} is missing; run `make build`, or install libsparse again")
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        _entered_by = os.getpid()
        try:
            library = ctypes.CDLL(str(LIBRARY))
            found = library.libsparse_abi_version()  # returns once Go's start-up is over
        except OSError as error:
            raise ToolchainError(f"the compiler {LIBRARY} can't be loaded: {error}") from error
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)  # Go raises it as it starts
        if found != ABI_VERSION:
            raise InternalError(f"{LIBRARY} has interface {found}, expected {ABI_VERSION}; run `make build` again")
        library.libsparse_compile.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        library.libsparse_kernel_info.argtypes = [ctypes.c_size_t, ctypes.c_void_p, ctypes.c_void_p]
        library.libsparse_release.argtypes = [ctypes.c_size_t, ctypes.c_void_p]
        library.libsparse_explain.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p]
        library.libsparse_free.argtypes = [ctypes.c_void_p]
        library.libsparse_free.restype = None
        _library = library
        return library


def _check(library: ctypes.CDLL, call: Callable[[Any], int]) -> None:
    error = ctypes.c_void_p()
    if call(ctypes.byref(error)) == 0:
        return
    text = ctypes.string_at(error.value).decode("utf-8", "replace") if error.value else "{}"
    library.libsparse_free(error)
    raise _to_exception(text)


def _string(library: ctypes.CDLL, call: Callable[[Any, Any], int]) -> str:
    out = ctypes.c_void_p()
    _check(library, lambda error: call(ctypes.byref(out), error))
    try:
        return ctypes.string_at(out.value or 0).decode("utf-8")
    finally:
        library.libsparse_free(out)


def _run(arguments: list[str], text: str) -> str:
    if not EXECUTABLE.exists():
        raise ToolchainError(f"the compiler {EXECUTABLE} is missing; run `make build`, or install libsparse again")
    command = [str(EXECUTABLE), *arguments]
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=_SUBPROCESS_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ToolchainError(f"{' '.join(command)} failed: {error}") from error
    if done.returncode != 0:
        raise _to_exception(done.stderr)
    return done.stdout


def _to_exception(text: str) -> Exception:
    try:
        error = json.loads(text)
        return from_kind(error["kind"], error["message"], error.get("detail", ""))
    except (ValueError, KeyError, TypeError):
        return from_kind("internal", "the compiler failed without saying why", text[-2000:])
