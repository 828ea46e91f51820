"""AOCL-Sparse by ctypes: from the package `aoclda`, which brings it, or where the loader finds it."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import ctypes
import ctypes.util
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import torch
from method import checking, native
from method.operands import Matrix
from torch import Tensor

from .peer import Absent, Peer, Run, need

_NORMAL, _TRANSPOSED = 111, 112
_ROW_MAJOR = 0
_CALLS = 1000  # that the hints promise
_NEEDED = ("libomp", "libaoclutils", "libblis", "libflame")


def _load() -> tuple[ctypes.CDLL, ctypes.CDLL | None]:
    folder = Path(sysconfig.get_path("purelib")) / "aoclda.libs"
    name = next(map(str, folder.glob("libaoclsparse*.so*")), None) or ctypes.util.find_library("aoclsparse")
    if name is None:
        raise Absent("libaoclsparse is not there: pip install --no-deps aoclda")
    # the libraries of the package don't know where they lie: those that others need come first
    needed = [path for part in _NEEDED for path in folder.glob(f"{part}*.so*")]
    loaded = {path.name: ctypes.CDLL(str(path)) for path in needed}
    runtime = next((library for file, library in loaded.items() if file.startswith("libomp")), None)
    return ctypes.CDLL(name), runtime


_aocl, _openmp = _load()


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"AOCL-Sparse: status {status}")


def _descriptor() -> ctypes.c_void_p:
    descriptor = ctypes.c_void_p()
    _check(_aocl.aoclsparse_create_mat_descr(ctypes.byref(descriptor)))
    return descriptor


_GENERAL = _descriptor()


class Handle:
    """A matrix of AOCL-Sparse, with the type of its values; `arrays` keeps what it points to."""

    def __init__(self, dtype: torch.dtype, arrays: Any = None) -> None:
        self.pointer, self.dtype, self.arrays = ctypes.c_void_p(), dtype, arrays

    def __del__(self) -> None:
        if self.pointer:
            _aocl.aoclsparse_destroy(ctypes.byref(self.pointer))


def _letter(dtype: torch.dtype) -> tuple[str, Any]:
    need(dtype in (torch.float32, torch.float64), "float32 and float64 only")
    return ("s", ctypes.c_float) if dtype == torch.float32 else ("d", ctypes.c_double)


def _prepared(m: Matrix, hint: str, operation: int = _NORMAL) -> Handle:
    letter, _ = _letter(m.values.dtype)
    handle = Handle(m.values.dtype, m)
    create = getattr(_aocl, f"aoclsparse_create_{letter}csr")
    arrays = [native.pointer(a) for a in m.arrays]
    _check(create(ctypes.byref(handle.pointer), 0, *m.shape, m.nnz, *arrays))
    _check(getattr(_aocl, f"aoclsparse_set_{hint}_hint")(handle.pointer, operation, _GENERAL, _CALLS))
    _check(_aocl.aoclsparse_optimize(handle.pointer))
    return handle


class AOCL(Peer):
    """See `Peer`."""

    title = "AOCL-Sparse"
    apart = True

    def threads(self, count: int) -> None:
        if _openmp is not None:
            _openmp.omp_set_num_threads(count)

    def spmv(self, p: Any) -> Run:
        return self._vector(p, _NORMAL, p.A.shape[0])

    def spmv_transposed(self, p: Any) -> Run:
        return self._vector(p, _TRANSPOSED, p.A.shape[1])

    def _vector(self, p: Any, operation: int, size: int) -> Run:
        letter, number = _letter(p.A.values.dtype)
        A, x, multiply = _prepared(p.A, "mv", operation), p.x, getattr(_aocl, f"aoclsparse_{letter}mv")
        one, zero = ctypes.byref(number(1)), ctypes.byref(number(0))
        operand = native.pointer(x)

        def run() -> Tensor:
            y = torch.empty(size, dtype=x.dtype)
            multiply(operation, one, A.pointer, _GENERAL, operand, zero, native.pointer(y))
            return y

        return run

    def spmm(self, p: Any) -> Run:
        letter, number = _letter(p.A.values.dtype)
        A, X, multiply = _prepared(p.A, "mm"), p.X, getattr(_aocl, f"aoclsparse_{letter}csrmm")
        size, width = (p.A.shape[0], X.shape[1]), X.shape[1]
        one, operands = number(1), (_GENERAL, _ROW_MAJOR, native.pointer(X), width, width, number(0))

        def run() -> Tensor:
            Y = torch.zeros(size, dtype=X.dtype)  # it multiplies what is there by 0, and NaN stays
            multiply(_NORMAL, one, A.pointer, *operands, native.pointer(Y), width)
            return Y

        return run

    def spgemm(self, p: Any) -> Run:
        A = _prepared(p.A, "2m")

        def run() -> Handle:
            C = Handle(A.dtype)
            _check(_aocl.aoclsparse_spmm(_NORMAL, A.pointer, A.pointer, ctypes.byref(C.pointer)))
            return C

        return run

    def spadd(self, p: Any) -> Run:
        letter, number = _letter(p.A.values.dtype)
        A, B, one = _prepared(p.A, "mv"), _prepared(p.B, "mv"), number(1)
        add = getattr(_aocl, f"aoclsparse_{letter}add")

        def run() -> Handle:
            C = Handle(A.dtype)
            _check(add(_NORMAL, A.pointer, one, B.pointer, ctypes.byref(C.pointer)))
            return C

        return run

    def read(self, result: Any) -> checking.Result:
        """Reads the arrays of its matrices."""
        return _export(result) if isinstance(result, Handle) else super().read(result)


def _export(handle: Handle) -> checking.Result:
    letter, number = _letter(handle.dtype)
    base, rows, columns, count = (ctypes.c_int() for _ in range(4))
    pos, col, values = (ctypes.POINTER(t)() for t in (ctypes.c_int, ctypes.c_int, number))
    into = [ctypes.byref(v) for v in (base, rows, columns, count, pos, col, values)]
    _check(getattr(_aocl, f"aoclsparse_export_{letter}csr")(handle.pointer, *into))
    shape, entries = (rows.value, columns.value), (count.value,)
    lengths = np.diff(np.ctypeslib.as_array(pos, (shape[0] + 1,)))
    coords = np.repeat(np.arange(shape[0]), lengths), np.ctypeslib.as_array(col, entries)
    return checking.sparse(coords, np.ctypeslib.as_array(values, entries).copy(), shape)  # it frees its own


PEERS = [AOCL()]
