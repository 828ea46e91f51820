"""A peer by path: librsb, a C library of recursive blocks, called by ctypes.

    apt install librsb0
    make bench ARGS="kernels --kernels 'spm.' --peer benchmarks/examples/librsb.py"

Any shared library can take part in this way: load it, make its objects in the method of a kernel, and return the call.
FusedMM, JitSpMM, TACO or SPLATT, built from source, need the same four steps: load, wrap, prepare, call.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from typing import Any

import torch
from method import native
from method.operands import Matrix
from peers.peer import Absent, Peer, Run, need

_NORMAL, _ROW_MAJOR, _THREADS = ord("N"), 0, 9  # of its header
_NUMBERS = {torch.float32: (ord("S"), ctypes.c_float), torch.float64: (ord("D"), ctypes.c_double)}


def _load() -> ctypes.CDLL:
    name = ctypes.util.find_library("rsb")
    if name is None:
        raise Absent("librsb is not there: apt install librsb0")
    library = ctypes.CDLL(name)
    library.rsb_mtx_alloc_from_csr_const.restype = ctypes.c_void_p
    library.rsb_mtx_free.argtypes = [ctypes.c_void_p]
    if library.rsb_lib_init(None):
        raise Absent("librsb refuses to start")
    return library


_rsb = _load()


class _Blocks:
    """A matrix of librsb's."""

    def __init__(self, m: Matrix) -> None:
        need(m.values.dtype in _NUMBERS, "float32 and float64 only")
        self.letter, self.number = _NUMBERS[m.values.dtype]
        failed = ctypes.c_int()
        arrays = [native.pointer(a) for a in (m.values, m.crow, m.col)]
        address = _rsb.rsb_mtx_alloc_from_csr_const(
            *arrays, m.nnz, self.letter, *m.shape, 0, 0, 0, ctypes.byref(failed)
        )
        if not address:
            raise RuntimeError(f"librsb: status {failed.value}")
        self.pointer = ctypes.c_void_p(address)

    def __del__(self) -> None:
        if hasattr(self, "pointer"):
            _rsb.rsb_mtx_free(self.pointer)


class Librsb(Peer):
    """See `Peer`; it has OpenMP threads of its own, so it gets a process of its own."""

    title = "librsb"
    apart = True

    def threads(self, count: int) -> None:
        """Sets its threads."""
        _rsb.rsb_lib_set_opt(_THREADS, ctypes.byref(ctypes.c_int(count)))

    def spmv(self, p: Any) -> Run:
        """Y = A x."""
        A, x = _Blocks(p.A), p.x
        one, zero = ctypes.byref(A.number(1)), ctypes.byref(A.number(0))

        def run() -> torch.Tensor:
            y = torch.empty(p.A.shape[0], dtype=x.dtype)
            _rsb.rsb_spmv(_NORMAL, one, A.pointer, native.pointer(x), 1, zero, native.pointer(y), 1)
            return y

        return run

    def spmm(self, p: Any) -> Run:
        """Y = A X, by rows."""
        A, X, width = _Blocks(p.A), p.X, p.X.shape[1]
        one, zero = ctypes.byref(A.number(1)), ctypes.byref(A.number(0))

        def run() -> torch.Tensor:
            Y = torch.empty(p.A.shape[0], width, dtype=X.dtype)
            at = native.pointer(X), width, zero, native.pointer(Y), width
            _rsb.rsb_spmm(_NORMAL, one, A.pointer, width, _ROW_MAJOR, *at)
            return Y

        return run


PEERS = [Librsb()]
