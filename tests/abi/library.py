"""The C interface through ctypes, for code that runs in a process of its own.

Loading the library starts a Go runtime, which must not happen in the process that runs the tests.
"""

from __future__ import annotations

import ctypes
import json
import os
import subprocess
import sys
import textwrap
from ctypes import POINTER, byref, c_char_p, c_int32, c_size_t, c_void_p
from pathlib import Path
from typing import Any

LIBRARY = Path(__file__).parents[2] / "python" / "libsparse" / "_libsparse.so"

PRELUDE = """
import ctypes, json, os, sys
from ctypes import byref, c_void_p
from library import Library, spmv
cache = sys.argv[1]
lib = Library()
def kind(outcome):
    status, error = outcome[:2]
    assert status == 1, outcome
    assert set(error) <= {"kind", "message", "span", "detail"} and error["message"], error
    return error["kind"]
"""

Outcome = tuple[int, dict[str, Any]]  # a status, and the error object where it is not 0


class Library:
    """The functions of libsparse.h. Each returns its status, its results and the decoded error."""

    def __init__(self) -> None:
        """Load the library and declare its functions."""
        self.c = ctypes.CDLL(str(LIBRARY))
        text, place = c_char_p, POINTER(c_void_p)
        for name, arguments in {
            "abi_version": [],
            "version": [place, place],
            "compile": [text, POINTER(c_size_t), place],
            "kernel_info": [c_size_t, place, place],
            "release": [c_size_t, place],
            "explain": [text, text, place, place],
            "read": [text, text, POINTER(c_size_t), place],
            "tensor_info": [c_size_t, place, place],
            "tensor_copy": [c_size_t, c_void_p, c_void_p, place],
            "write": [text, text, c_void_p, c_void_p, place],
            "tune_open": [text, text, POINTER(c_size_t), place],
            "tune_ask": [c_size_t, place, place],
            "tune_tell": [c_size_t, text, place],
            "tune_space": [c_size_t, place, place],
            "tune_moves": [c_size_t, place, place],
            "tune_describe": [c_size_t, text, place, place],
            "tune_propose": [c_size_t, text, place, place],
            "pattern_features": [text, c_void_p, place, place],
            "debug_panic": [place],
            "free": [c_void_p],
        }.items():
            function = getattr(self.c, "libsparse_" + name)
            function.argtypes = arguments
            function.restype = None if name == "free" else c_int32

    def take(self, string: c_void_p) -> str:
        """Copy a string that the library handed out, and free it."""
        if not string.value:
            return ""
        text = ctypes.string_at(string.value).decode()
        self.c.libsparse_free(string)
        return text

    def outcome(self, status: int, error: c_void_p) -> Outcome:
        """Decode the error of a call; there is one exactly where the status is not 0."""
        text = self.take(error)
        assert (status == 0) == (text == ""), (status, text)
        return status, json.loads(text or "{}")

    def version(self) -> str:
        """The version of the library."""
        out, error = c_void_p(), c_void_p()
        assert self.outcome(self.c.libsparse_version(byref(out), byref(error)), error) == (0, {})
        return self.take(out)

    def compile(self, request: object) -> tuple[int, dict[str, Any], int]:
        """Compile a request: text as it is, None as NULL, anything else as JSON."""
        handle, error = c_size_t(), c_void_p()
        status = self.c.libsparse_compile(encode(request), byref(handle), byref(error))
        return (*self.outcome(status, error), handle.value)

    def info(self, handle: int) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """Describe a kernel."""
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_kernel_info(handle, byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "{}"))

    def release(self, handle: int) -> Outcome:
        """Release a handle."""
        error = c_void_p()
        return self.outcome(self.c.libsparse_release(handle, byref(error)), error)

    def explain(self, request: object, stage: str | None = "") -> tuple[int, dict[str, Any], str]:
        """Print a stage."""
        out, error = c_void_p(), c_void_p()
        name = None if stage is None else stage.encode()
        status = self.c.libsparse_explain(encode(request), name, byref(out), byref(error))
        return (*self.outcome(status, error), self.take(out))

    def read(self, path: str | None, options: object = "{}") -> tuple[int, dict[str, Any], int]:
        """Read a tensor's file."""
        handle, error = c_size_t(), c_void_p()
        status = self.c.libsparse_read(path and path.encode(), encode(options), byref(handle), byref(error))
        return (*self.outcome(status, error), handle.value)

    def tensor_info(self, handle: int) -> tuple[int, dict[str, Any], dict[str, Any]]:
        """Describe a tensor."""
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_tensor_info(handle, byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "{}"))

    def tensor_copy(self, handle: int, coordinates: Any, values: Any) -> Outcome:
        """Copy a tensor's arrays."""
        error = c_void_p()
        return self.outcome(self.c.libsparse_tensor_copy(handle, coordinates, values, byref(error)), error)

    def write(self, path: str | None, header: object, coordinates: Any, values: Any) -> Outcome:
        """Write a tensor's file."""
        error = c_void_p()
        status = self.c.libsparse_write(path and path.encode(), encode(header), coordinates, values, byref(error))
        return self.outcome(status, error)

    def tune_open(self, request: object, options: object = "{}") -> tuple[int, dict[str, Any], int]:
        """Begin a search."""
        handle, error = c_size_t(), c_void_p()
        status = self.c.libsparse_tune_open(encode(request), encode(options), byref(handle), byref(error))
        return (*self.outcome(status, error), handle.value)

    def tune_ask(self, tuner: int) -> tuple[int, dict[str, Any], Any]:
        """A schedule to measure."""
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_tune_ask(tuner, byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "{}"))

    def tune_tell(self, tuner: int, result: object) -> Outcome:
        """A measurement."""
        error = c_void_p()
        return self.outcome(self.c.libsparse_tune_tell(tuner, encode(result), byref(error)), error)

    def tune_space(self, tuner: int) -> tuple[int, dict[str, Any], str]:
        """The space in words."""
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_tune_space(tuner, byref(out), byref(error))
        return (*self.outcome(status, error), self.take(out))

    def tune_moves(self, tuner: int) -> tuple[int, dict[str, Any], Any]:
        """The steps away from the compiler's schedule."""
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_tune_moves(tuner, byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "null"))

    def tune_about(self, name: str, tuner: int, changes: object) -> tuple[int, dict[str, Any], Any]:
        """What `describe` or `propose` say about changes."""
        out, error = c_void_p(), c_void_p()
        status = getattr(self.c, f"libsparse_tune_{name}")(tuner, encode(changes), byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "null"))

    def pattern_features(self, pattern: object, *arrays: Any) -> tuple[int, dict[str, Any], Any]:
        """Features of a pattern with these arrays of ctypes, None for NULL."""
        addresses = (c_void_p * len(arrays))(*[None if a is None else ctypes.addressof(a) for a in arrays])
        out, error = c_void_p(), c_void_p()
        status = self.c.libsparse_pattern_features(encode(pattern), addresses, byref(out), byref(error))
        return (*self.outcome(status, error), json.loads(self.take(out) or "null"))

    def panic(self) -> Outcome:
        """Panic inside the library."""
        error = c_void_p()
        return self.outcome(self.c.libsparse_debug_panic(byref(error)), error)


def run(body: str, cache: Path, *more: str) -> str:
    """Run statements in a process that has loaded the library; what they print is the result."""
    done = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(body), str(cache), *more],
        cwd=Path(__file__).parent,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def encode(request: object) -> bytes | None:
    """A request as the library takes it."""
    if request is None:
        return None
    return request.encode() if isinstance(request, str) else json.dumps(request).encode()


def spmv(cache: str, **changes: object) -> dict[str, Any]:
    """A request for y = A x, with changes to the first operand or, by the name of a field, to target."""
    matrix: dict[str, Any] = {"name": "A", "format": "ds", "dtype": "f32", "shape": [64, 64], "nnz": 256}
    target: dict[str, Any] = {"cpu": "test", "path": os.environ.get("PATH", ""), "cache_dir": cache}
    for field, value in changes.items():
        (target if field in ("cc", "path", "cache_dir", "openmp") else matrix)[field] = value
    vector = {"name": "x", "format": "d", "dtype": "f32", "shape": [64]}
    return {"spec": "ij,j->i", "operands": [matrix, vector], "output": {}, "target": target}
