"""torch.sparse on CSR, which MKL multiplies where torch has it; with int32 and with int64 indices.

"MKL as for Intel" is the same in a process whose MKL takes this processor for one of Intel's: on others, torch's MKL
uses slower kernels. A library that the benchmarks build answers `mkl_serv_intel_cpu_true` and is loaded first.
"""

# ruff: noqa: D102  # each method prepares the kernel of its name
from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from method import native
from method.operands import Matrix
from torch import Tensor

from .peer import Peer, Run, gradients


class TorchCSR(Peer):
    """torch's functions on CSR.

    Args:
        title: For tables.
        index: The type of the indices.
    """

    def __init__(self, title: str, index: torch.dtype) -> None:
        self.title, self.index = title, index

    def csr(self, m: Matrix, *, grad: bool = False) -> Tensor:
        """Torch's object."""
        matrix = torch.sparse_csr_tensor(m.crow.to(self.index), m.col.to(self.index), m.values, m.shape)
        return matrix.requires_grad_(grad)

    def spmv(self, p: Any) -> Run:
        A, x = self.csr(p.A), p.x
        return lambda: A @ x

    def spmv_transposed(self, p: Any) -> Run:
        A, x = self.csr(p.A).t().to_sparse_csr(), p.x
        return lambda: A @ x

    def spmm(self, p: Any) -> Run:
        A, X = self.csr(p.A), p.X
        return lambda: torch.sparse.mm(A, X)

    spmm_column_major = spmm

    def dense_sparse(self, p: Any) -> Run:
        A, X = self.csr(p.A), p.X
        return lambda: X @ A

    def linear(self, p: Any) -> Run:
        A, X = self.csr(p.A), p.X
        return lambda: F.linear(X, A)

    def _reduced(self, p: Any, reduce: str) -> Run:
        A, X = self.csr(p.A), p.X
        return lambda: torch.sparse.mm(A, X, reduce)

    def spmm_mean(self, p: Any) -> Run:
        return self._reduced(p, "mean")

    def spmm_max(self, p: Any) -> Run:
        return self._reduced(p, "amax")

    def spmm_min(self, p: Any) -> Run:
        return self._reduced(p, "amin")

    def spmm_relu(self, p: Any) -> Run:
        A, X, b = self.csr(p.A), p.X, p.b
        return lambda: torch.sparse.mm(A, X).add_(b).relu_()

    def spmm_backward(self, p: Any) -> Run:
        A, X = self.csr(p.A, grad=True), p.X.detach().requires_grad_()
        back = gradients(torch.sparse.mm(A, X), (A, X), p.G)
        return lambda: _with_values(back())

    def spmv_backward(self, p: Any) -> Run:
        A, x = self.csr(p.A, grad=True), p.x.detach().requires_grad_()
        back = gradients(torch.sparse.mm(A, x[:, None])[:, 0], (A, x), p.g)
        return lambda: _with_values(back())

    def sddmm(self, p: Any) -> Run:
        A, U, Vt = self.csr(p.A), p.U, p.V.T
        crow, col = A.crow_indices(), A.col_indices()

        def run() -> Tensor:
            sampled = torch.sparse.sampled_addmm(A, U, Vt, beta=0.0)
            return torch.sparse_csr_tensor(crow, col, sampled.values() * A.values(), A.shape)

        return run

    def spgemm(self, p: Any) -> Run:
        A = self.csr(p.A)
        return lambda: A @ A

    def spadd(self, p: Any) -> Run:
        A, B = self.csr(p.A), self.csr(p.B)
        return lambda: A + B

    def sum_rows(self, p: Any) -> Run:
        return self._segments(p, "sum", lambda sums: sums)

    def mean_rows(self, p: Any) -> Run:
        return self._segments(p, "sum", lambda sums: sums / p.A.shape[1])

    def max_rows(self, p: Any) -> Run:
        lacks = p.A.crow.diff() < p.A.shape[1]
        return self._segments(p, "max", lambda most: torch.where(lacks, most.clamp(min=0), most), initial=-torch.inf)

    def _segments(self, p: Any, reduce: str, finish: Any, **options: Any) -> Run:
        values, crow = p.A.values, p.A.crow.long()
        return lambda: finish(torch.segment_reduce(values, reduce, offsets=crow, **options))

    def transpose(self, p: Any) -> Run:
        A = self.csr(p.A)
        return lambda: A.t().to_sparse_csr()

    def csr_to_csc(self, p: Any) -> Run:
        A = self.csr(p.A)
        return lambda: A.to_sparse_csc()

    def mttkrp(self, p: Any) -> Run:
        """In two stages: fibers times C, weighted by the rows of B, and summed by another sparse product."""
        rows, fiber_i, fiber_j = _fibers(p.T)
        crow = torch.searchsorted(fiber_i, torch.arange(p.T.shape[0] + 1)).to(rows.crow.dtype)
        ones = torch.ones(fiber_i.numel(), dtype=p.T.values.dtype)
        columns = torch.arange(fiber_i.numel(), dtype=torch.int32)
        upper = self.csr(Matrix("", "", crow, columns, ones, (p.T.shape[0], fiber_i.numel())))
        lower, B, C = self.csr(rows), p.B, p.C
        return lambda: torch.sparse.mm(upper, torch.sparse.mm(lower, C) * B[fiber_j])

    def ttv(self, p: Any) -> Run:
        rows, i, j = _fibers(p.T)
        A, v, places, shape = self.csr(rows), p.v, torch.stack([i, j]), p.T.shape[:2]
        return lambda: torch.sparse_coo_tensor(places, A @ v, shape, is_coalesced=True)

    def ttm(self, p: Any) -> Run:
        rows, i, j = _fibers(p.T)
        A, C, places = self.csr(rows), p.C, torch.stack([i, j])
        shape = (*p.T.shape[:2], C.shape[1])
        return lambda: torch.sparse_coo_tensor(places, torch.sparse.mm(A, C), shape, is_coalesced=True)

    def read(self, result: Any) -> Any:
        """Also COO with dense rows, as `ttm` returns."""
        if isinstance(result, Tensor) and result.layout == torch.sparse_coo and result.dense_dim():
            (i, j), values = result.indices(), result.values()
            rank = values.shape[1]
            coords = (i.repeat_interleave(rank), j.repeat_interleave(rank), torch.arange(rank).repeat(i.numel()))
            result = torch.sparse_coo_tensor(torch.stack(coords), values.reshape(-1), result.shape)
        return super().read(result)


def _with_values(pair: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    return pair[0].values(), pair[1]


def _fibers(T: Any) -> tuple[Matrix, Tensor, Tensor]:
    i, j, starts = T.fibers()
    return Matrix("", "", starts.int(), T.coords[2].int(), T.values, (i.numel(), T.shape[2])), i, j


class ForIntel(TorchCSR):
    """In a process of its own, with MKL's check of the vendor answered."""

    apart = True

    @functools.cached_property
    def environment(self) -> dict[str, str]:  # type: ignore[override]
        """See `Peer`."""
        source = Path(__file__).with_name("intel_cpu.c")
        return {"LD_PRELOAD": str(native.build(source, "-O2", threads=False))}


def _vendor() -> str:
    with Path("/proc/cpuinfo").open(encoding="utf-8", errors="replace") as lines:
        return next((line.split(":")[1].strip() for line in lines if line.startswith("vendor_id")), "")


PEERS: list[Peer] = [TorchCSR("torch int32 CSR", torch.int32), TorchCSR("torch int64 CSR", torch.int64)]
if torch.backends.mkl.is_available() and _vendor() not in ("", "GenuineIntel"):
    PEERS.append(ForIntel("torch int32 CSR, MKL as for Intel", torch.int32))
