"""The plain loops of `plain.c`, compiled with -O3 -ffast-math -march=native: how far a compiler gets with TACO's C."""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import torch
from method import native
from method.operands import Matrix
from torch import Tensor

from .peer import Absent, Peer, Run, need

_FLAGS = ("-O3", "-ffast-math", "-march=native", "-fopenmp", "-std=gnu11")


def _library(number: str) -> ctypes.CDLL:
    try:
        path = native.build(Path(__file__).with_name("plain.c"), f"-DT={number}", *_FLAGS)
    except native.CompilerMissing as error:
        raise Absent(str(error)) from None
    return ctypes.CDLL(str(path))


_libraries = {torch.float32: _library("float"), torch.float64: _library("double")}


def _function(name: str, dtype: torch.dtype) -> Any:
    need(dtype in _libraries, "float32 and float64 only")
    function = getattr(_libraries[dtype], name)
    function.restype = None
    return function


def _at(*tensors: Tensor) -> list[ctypes.c_void_p]:
    return [native.pointer(t) for t in tensors]


class PlainC(Peer):
    """See `Peer`."""

    title = "plain C"

    def spmv(self, p: Any) -> Run:
        A, x, multiply = p.A, p.x, _function("spmv", p.A.values.dtype)
        operands = [ctypes.c_int64(A.shape[0]), *_at(*A.arrays, x)]

        def run() -> Tensor:
            y = torch.empty(A.shape[0], dtype=x.dtype)
            multiply(*operands, native.pointer(y))
            return y

        return run

    def spmm(self, p: Any) -> Run:
        A, X, multiply = p.A, p.X, _function("spmm", p.A.values.dtype)
        shape = A.shape[0], X.shape[1]
        operands = [*map(ctypes.c_int64, shape), *_at(*A.arrays, X)]

        def run() -> Tensor:
            Y = torch.empty(shape, dtype=X.dtype)
            multiply(*operands, native.pointer(Y))
            return Y

        return run

    def sddmm(self, p: Any) -> Run:
        A, U, V, sample = p.A, p.U, p.V, _function("sddmm", p.A.values.dtype)
        operands = [ctypes.c_int64(A.shape[0]), ctypes.c_int64(U.shape[1]), *_at(*A.arrays, U, V)]

        def run() -> Tensor:
            S = torch.empty_like(A.values)
            sample(*operands, native.pointer(S))
            return torch.sparse_csr_tensor(A.crow, A.col, S, A.shape)

        return run

    def spgemm(self, p: Any) -> Run:
        A, multiply = p.A, _function("spgemm", p.A.values.dtype)
        return self._assembled(multiply, [A, A], ctypes.c_int64(A.shape[1]))

    def spadd(self, p: Any) -> Run:
        return self._assembled(_function("spadd", p.A.values.dtype), [p.A, p.B])

    def _assembled(self, function: Any, pair: list[Matrix], *extents: ctypes.c_int64) -> Run:
        A, B = pair
        operands = [ctypes.c_int64(A.shape[0]), *extents, *_at(*A.arrays, *B.arrays)]

        def run() -> Any:
            pos = torch.empty(A.shape[0] + 1, dtype=torch.int32)
            function(*operands, native.pointer(pos), None, None)
            count = int(pos[-1])
            col, values = torch.empty(count, dtype=torch.int32), torch.empty(count, dtype=A.values.dtype)
            function(*operands, *_at(pos, col, values))
            return torch.sparse_csr_tensor(pos, col, values, A.shape)

        return run

    def mttkrp(self, p: Any) -> Run:
        T, B, C, multiply = p.T, p.B, p.C, _function("mttkrp", p.T.values.dtype)
        i, j, fibers = T.fibers()
        slices, counts = i.unique_consecutive(return_counts=True)
        begins = torch.cat([torch.zeros(1, dtype=torch.int64), counts.cumsum(0)])
        arrays = [a.int().contiguous() for a in (begins, slices, fibers, j, T.coords[2])]
        operands = [ctypes.c_int64(slices.numel()), ctypes.c_int64(B.shape[1]), *_at(*arrays, T.values, B, C)]

        def run() -> Tensor:
            M = torch.zeros(T.shape[0], B.shape[1], dtype=B.dtype)
            multiply(*operands, native.pointer(M))
            return M

        return run


PEERS = [PlainC()]
