"""A sweep of CP-ALS, rank 16: three MTTKRP and three small systems."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

import torch
from data import files, generated
from kernels.kernel import dense
from method.operands import Problem, SparseTensor
from peers import peer
from torch import Tensor

import libsparse as ls

from .workload import Workload

_RANK = 16
_NAMES = ("splatt-med", "visium-row-col-gene")


class Sweep:
    """One sweep over the modes; `products[mode](B, C)` is the MTTKRP of a mode with the two other factors."""

    def __init__(self, T: SparseTensor, products: Any) -> None:
        self._factors = [dense(f"factor {mode}", extent, _RANK) for mode, extent in enumerate(T.shape)]
        self._products = products

    def infer(self) -> Tensor:
        """The factors after a sweep from the same start, together."""
        factors = list(self._factors)
        for mode, product in enumerate(self._products):
            others = [factors[m] for m in range(3) if m != mode]
            gram = (others[0].T @ others[0]) * (others[1].T @ others[1])
            factors[mode] = torch.linalg.solve(gram + 1e-3 * torch.eye(_RANK), product(*others).T).T
        return torch.cat(factors)


def _on_libsparse(T: SparseTensor) -> Any:
    A = ls.from_coo(T.coords, T.values, T.shape, format="csf")
    texts = ("ijk,jr,kr->ir", "ijk,ir,kr->jr", "ijk,ir,jr->kr")
    return Sweep(T, [lambda B, C, text=text: ls.einsum(text, A, B, C) for text in texts])


def _turned(T: SparseTensor, mode: int) -> SparseTensor:
    """The tensor with a mode put first, and its entries sorted so."""
    order = [mode, *(m for m in range(3) if m != mode)]
    coords, shape = T.coords[order], tuple(T.shape[m] for m in order)
    sort = ((coords[0] * shape[1] + coords[1]) * shape[2] + coords[2]).argsort()
    return SparseTensor(T.name, T.family, coords[:, sort].contiguous(), T.values[sort], shape)


def _on_peer(one: Any, T: SparseTensor) -> Any:
    """The peer's MTTKRP, on a copy of the tensor for each mode."""

    def product(turned: SparseTensor) -> Any:
        problem = Problem(
            "mttkrp", {"T": turned, "B": torch.empty(turned.shape[1], _RANK), "C": torch.empty(turned.shape[2], _RANK)}
        )
        run = one.mttkrp(problem)

        def multiply(B: Tensor, C: Tensor) -> Tensor:
            problem.B.copy_(B)
            problem.C.copy_(C)
            result: Tensor = run()
            return result

        return multiply

    return Sweep(T, [product(_turned(T, mode)) for mode in range(3)])


def _tensors(data: str | None) -> Iterator[SparseTensor]:
    found = data and list(files.tensors(data, "|".join(f"{name}$" for name in _NAMES)))
    yield from found or [generated.power_tensor((2_000, 10_000, 30_000), 100_000)]


def workloads(options: argparse.Namespace) -> Iterator[Workload]:
    """Two tensors of the data folder, or a generated one."""
    titles = ("torch int32 CSR", "plain C")
    peers = {title: one for title, one in peer.available()[0].items() if title in titles}
    for T in _tensors(options.data):
        contenders = {"libsparse": lambda T=T: _on_libsparse(T)}
        contenders |= {title: (lambda one=one, T=T: _on_peer(one, T)) for title, one in peers.items()}
        yield Workload("CP-ALS sweep 16", T.name, contenders)
