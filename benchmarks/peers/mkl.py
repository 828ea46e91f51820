"""MKL's inspector-executor by ctypes, from the package `mkl` or where the loader finds it; with and without hints.

Results go to fresh tensors of torch where they are dense. Sparse results stay MKL's: unsorted, as it makes them.
"""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import ctypes
import ctypes.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from method import checking, native
from method.operands import Matrix
from torch import Tensor

from .peer import Absent, Peer, Run, need

_NORMAL, _TRANSPOSED = 10, 11
_ROWS, _COLUMNS = 101, 102  # dense layouts
_CALLS = 1000  # that the hints promise


class _Description(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("mode", ctypes.c_int), ("diag", ctypes.c_int)]


_GENERAL = _Description(20, 0, 0)


def _load() -> ctypes.CDLL:
    # the runtime of OpenMP that torch has: MKL's own would keep threads beside it
    if runtime := native.openmp():
        ctypes.CDLL(runtime, mode=ctypes.RTLD_GLOBAL)
    os.environ.setdefault("MKL_THREADING_LAYER", "GNU")
    installed = sorted((Path(sys.prefix) / "lib").glob("libmkl_rt.so*"))
    name = str(installed[-1]) if installed else ctypes.util.find_library("mkl_rt")
    if name is None:
        raise Absent("libmkl_rt is not there: pip install mkl")
    return ctypes.CDLL(name)


_mkl = _load()


def _check(status: int) -> None:
    if status:
        raise RuntimeError(f"MKL: status {status}")


class Handle:
    """A matrix of MKL, with the type of its values; `arrays` keeps what it points to."""

    def __init__(self, dtype: torch.dtype, arrays: Any = None) -> None:
        self.pointer, self.dtype, self.arrays = ctypes.c_void_p(), dtype, arrays

    def __del__(self) -> None:
        if self.pointer:
            _mkl.mkl_sparse_destroy(self.pointer)


def _letter(dtype: torch.dtype) -> tuple[str, Any]:
    need(dtype in (torch.float32, torch.float64), "float32 and float64 only")
    return ("s", ctypes.c_float) if dtype == torch.float32 else ("d", ctypes.c_double)


def _csr(m: Matrix) -> Handle:
    letter, _ = _letter(m.values.dtype)
    handle = Handle(m.values.dtype, m)
    begin = native.pointer(m.crow)
    end = ctypes.c_void_p(m.crow.data_ptr() + 4)
    create = getattr(_mkl, f"mkl_sparse_{letter}_create_csr")
    arrays = native.pointer(m.col), native.pointer(m.values)
    _check(create(ctypes.byref(handle.pointer), 0, m.shape[0], m.shape[1], begin, end, *arrays))
    return handle


class MKL(Peer):
    """See `Peer`.

    Args:
        title: For tables.
        hints: Whether MKL is told what will be called, and prepares for it.
    """

    def __init__(self, title: str, *, hints: bool) -> None:
        self.title, self.hints = title, hints

    def threads(self, count: int) -> None:
        _mkl.MKL_Set_Num_Threads(count)

    def _prepared(self, m: Matrix, *hint: Any) -> Handle:
        handle = _csr(m)
        if self.hints:
            if len(hint) == 1:
                _check(_mkl.mkl_sparse_set_mv_hint(handle.pointer, hint[0], _GENERAL, _CALLS))
            elif hint:
                _check(_mkl.mkl_sparse_set_mm_hint(handle.pointer, _NORMAL, _GENERAL, *hint, _CALLS))
            _check(_mkl.mkl_sparse_optimize(handle.pointer))
        return handle

    def _vector(self, p: Any, operation: int, size: int) -> Run:
        letter, number = _letter(p.A.values.dtype)
        A, x, multiply = self._prepared(p.A, operation), p.x, getattr(_mkl, f"mkl_sparse_{letter}_mv")
        one, operands = number(1), (_GENERAL, native.pointer(x), number(0))

        def run() -> Tensor:
            y = torch.empty(size, dtype=x.dtype)
            multiply(operation, one, A.pointer, *operands, native.pointer(y))
            return y

        return run

    def spmv(self, p: Any) -> Run:
        return self._vector(p, _NORMAL, p.A.shape[0])

    def spmv_transposed(self, p: Any) -> Run:
        return self._vector(p, _TRANSPOSED, p.A.shape[1])

    def spmm(self, p: Any) -> Run:
        return self._columns(p, _ROWS)

    def spmm_column_major(self, p: Any) -> Run:
        return self._columns(p, _COLUMNS)

    def _columns(self, p: Any, layout: int) -> Run:
        letter, number = _letter(p.A.values.dtype)
        (rows, columns), width = p.A.shape, p.X.shape[1]
        A, X = self._prepared(p.A, layout, width), p.X
        one, multiply = number(1), getattr(_mkl, f"mkl_sparse_{letter}_mm")
        size, leading = ((rows, width), (width, width)) if layout == _ROWS else ((width, rows), (columns, rows))
        operands = _GENERAL, layout, native.pointer(X), width, leading[0], number(0)

        def run() -> Tensor:
            Y = torch.empty(size, dtype=X.dtype)
            multiply(_NORMAL, one, A.pointer, *operands, native.pointer(Y), leading[1])
            return Y if layout == _ROWS else Y.t()

        return run

    def linear(self, p: Any) -> Run:
        run = self._columns(_Turned(p.A, p.X.t()), _COLUMNS)
        return lambda: run().t()

    def spgemm(self, p: Any) -> Run:
        A = self._prepared(p.A)

        def run() -> Handle:
            C = Handle(A.dtype)
            _check(_mkl.mkl_sparse_spmm(_NORMAL, A.pointer, A.pointer, ctypes.byref(C.pointer)))
            return C

        return run

    def spadd(self, p: Any) -> Run:
        letter, number = _letter(p.A.values.dtype)
        A, B, one = self._prepared(p.A), self._prepared(p.B), number(1)
        add = getattr(_mkl, f"mkl_sparse_{letter}_add")

        def run() -> Handle:
            C = Handle(A.dtype)
            _check(add(_NORMAL, A.pointer, one, B.pointer, ctypes.byref(C.pointer)))
            return C

        return run

    def transpose(self, p: Any) -> Run:
        A = self._prepared(p.A)

        def run() -> Handle:
            C = Handle(A.dtype)
            _check(_mkl.mkl_sparse_convert_csr(A.pointer, _TRANSPOSED, ctypes.byref(C.pointer)))
            return C

        return run

    def read(self, result: Any) -> checking.Result:
        """Reads the arrays of MKL's matrices."""
        return _export(result) if isinstance(result, Handle) else super().read(result)


class _Turned:
    """The operands of another layout of the same product."""

    def __init__(self, A: Matrix, X: Tensor) -> None:
        self.A, self.X = A, X


def _export(handle: Handle) -> checking.Result:
    letter, number = _letter(handle.dtype)
    base, rows, columns = ctypes.c_int(), ctypes.c_int(), ctypes.c_int()
    begin, end, col, values = (ctypes.POINTER(t)() for t in (ctypes.c_int, ctypes.c_int, ctypes.c_int, number))
    export = getattr(_mkl, f"mkl_sparse_{letter}_export_csr")
    into = [ctypes.byref(v) for v in (base, rows, columns, begin, end, col, values)]
    _check(export(handle.pointer, *into))
    shape = rows.value, columns.value
    first, last = (np.ctypeslib.as_array(pointer, (shape[0],)) for pointer in (begin, end))
    count = int(last[-1])
    coords = np.repeat(np.arange(shape[0]), last - first), np.ctypeslib.as_array(col, (count,))
    return checking.sparse(coords, np.ctypeslib.as_array(values, (count,)).copy(), shape)  # MKL frees its own


PEERS = [MKL("MKL inspector-executor", hints=True), MKL("MKL, no hints", hints=False)]
