"""One large matrix: built from coordinates, multiplied, differentiated and indexed, with the memory that each takes.

Seconds are beside those of torch, and of one sort of the keys for the construction; bytes are over those of the matrix.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from method import machine

import libsparse as ls

_DEGREE, _WIDTH = 10, 8
_TURNS = 3


class Cost(NamedTuple):
    """Seconds, and bytes beyond what was there before."""

    seconds: float
    nbytes: int


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures; `--rows` says how large."""
    rows = options.rows
    nnz = _DEGREE * rows
    random = torch.Generator().manual_seed(0)
    places = torch.randint(rows, (2, nnz), generator=random)
    values, X = torch.rand(nnz, generator=random), torch.rand(rows, _WIDTH, generator=random)
    index = torch.randperm(rows, generator=random)[: rows // 2]
    own = 4 * (rows + 1) + nnz * 8
    print(f"{rows} x {rows}, {nnz} entries, {own / 1e6:.0f} MB as CSR with int32 indices")
    found = {}
    for count in options.threads:
        torch.set_num_threads(count)
        sort = _cost(lambda: torch.sort(places[0] * rows + places[1]))
        costs = {"one sort of the keys": sort} | _ours(places, values, X, index, rows) | _torch(places, values, X, rows)
        print(f"{count} threads")
        for what, cost in costs.items():
            print(f"  {what:<40} {cost.seconds:8.3f} s {cost.nbytes / own:6.2f} x the matrix's memory", flush=True)
        found[str(count)] = {what: {**cost._asdict(), "memory": cost.nbytes / own} for what, cost in costs.items()}
    return {"rows": rows, "nnz": nnz, "bytes": own, "costs": found}


def _ours(
    places: torch.Tensor, values: torch.Tensor, X: torch.Tensor, index: torch.Tensor, rows: int
) -> dict[str, Cost]:
    shape = rows, rows
    A = ls.from_coo(places, values, shape, format="csr")
    leaf, dense = A.values().detach().requires_grad_(), X.detach().requires_grad_()
    product = A.with_values(leaf) @ dense
    gradient = torch.ones_like(product)
    calls: dict[str, Callable[[], object]] = {
        "ls.from_coo": lambda: ls.from_coo(places, values, shape, format="csr"),
        f"A @ X, {_WIDTH} columns": lambda: A @ X,
        "gradients of values and X": lambda: torch.autograd.grad(product, (leaf, dense), gradient, retain_graph=True),
        "A[index], half of the rows": lambda: A[index],
        "A[a:b], half of the rows": lambda: A[rows // 4 : 3 * rows // 4],
        "A.T to CSR, pattern seen before": lambda: A.T.to_format("csr"),
    }
    return {what: _cost(call) for what, call in calls.items()}


def _torch(places: torch.Tensor, values: torch.Tensor, X: torch.Tensor, rows: int) -> dict[str, Cost]:
    def build() -> torch.Tensor:
        return torch.sparse_coo_tensor(places, values, (rows, rows)).coalesce().to_sparse_csr()

    A = build()
    return {"torch: coalesce, to CSR": _cost(build), f"torch: A @ X, {_WIDTH} columns": _cost(lambda: A @ X)}


def _cost(call: Callable[[], object]) -> Cost:
    """The least time of some calls; the first one shows how much memory it needs."""
    nbytes = machine.peak_of(call)
    taken = []
    for _ in range(_TURNS):
        start = time.perf_counter()
        call()
        taken.append(time.perf_counter() - start)
    return Cost(min(taken), nbytes)
