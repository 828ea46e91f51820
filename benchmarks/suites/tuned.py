"""`ls.tune` on real kernels: the time of what it finds beside the compiler's schedule, and beside random proposals.

Both search the same space with the same budget and the same way to measure. A search is scored by its last comparison,
in which its best schedules and the compiler's take turns.
"""

from __future__ import annotations

import argparse
import re
import statistics
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import torch
from data import files, generated
from libsparse._tools import trials, tune
from method.operands import Matrix

import libsparse as ls

_SEARCHES: dict[str, Callable[[int], int]] = {"libsparse": lambda _: 0, "random": lambda budget: budget}


def _cases(A: ls.SparseTensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    rows, columns = A.shape
    x, q, k = torch.rand(columns, 64), torch.rand(rows, 64), torch.rand(columns, 64)
    yield "spmv", lambda: ls.einsum("ij,j->i", A, x[:, 0].contiguous())
    yield "spmm", lambda: ls.einsum("ij,jk->ik", A, x)
    yield "sddmm", lambda: ls.einsum("ij,ik,jk->ij", A, q, k)


def _tensor_cases(T: ls.SparseTensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    factors = [torch.rand(n, 32) for n in T.shape]
    yield "mttkrp", lambda: ls.mttkrp(T, factors, 0)


def _inputs(options: argparse.Namespace) -> Iterator[tuple[str, Iterator[tuple[str, Callable[[], Any]]]]]:
    """Matrices and tensors of files, or generated ones, by name, with their kernels."""
    matrices: list[Matrix]
    if options.data:
        matrices = list(files.matrices(options.data, options.only, quick=options.quick, most=options.most))
        tensors = list(files.tensors(options.data, options.only, quick=options.quick, most=options.most))
    else:
        matrices = [generated.rmat(12, 8), generated.band(4000, 9)][: 1 if options.quick else 2]
        tensors = [generated.power_tensor((200, 300, 400), 20_000)]
    for matrix in matrices:
        A = ls.from_csr(matrix.crow, matrix.col, matrix.values, matrix.shape)
        yield matrix.name, _cases(A)
    for tensor in tensors:
        yield tensor.name, _tensor_cases(ls.from_coo(tensor.coords, tensor.values, tensor.shape, "csf"))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Tuned times over the compiler's, for each kernel, input and search."""
    budget = 4 if options.quick else 60
    rows = []
    for count in options.threads or [torch.get_num_threads()]:
        with tempfile.TemporaryDirectory() as folder, ls.options(num_threads=count, cache_dir=folder):
            for name, cases in _inputs(options):
                for kernel, work in cases:
                    if not options.kernels or any(re.fullmatch(k, kernel) for k in options.kernels):
                        rows.append({"input": name, "kernel": kernel, "threads": count, **_searched(work, budget)})
                        print("  " + _line(rows[-1]), flush=True)
    for search in _SEARCHES:
        gains = [row[search]["gain"] for row in rows]
        if gains:
            mean, better = statistics.geometric_mean(gains), sum(gain > 1 for gain in gains)
            print(f"  {search}: {mean:.3f} times faster (geometric mean of {len(gains)}), {better} of them changed")
    return {"budget": budget, "rows": rows}


def _searched(work: Callable[[], Any], budget: int) -> dict[str, Any]:
    """Each search for the one problem that something computes."""
    ((prepared, operands),) = tune.watched(work)
    found: dict[str, Any] = {}
    for search, first in _SEARCHES.items():
        subject = trials.Subject(prepared.problem, operands)
        tried: list[trials.Trial] = []
        trials.search(subject, tried, budget, float("inf"), 0, lambda: None, first(budget))
        winner, _, own, default = trials.decide(subject, tried)
        gain = statistics.median(default) / statistics.median(own) if winner else 1.0
        failed = sum(trial.ratio is None for trial in tried)
        schedule = winner.schedule if winner else ""
        found[search] = {"seconds": statistics.median(default), "gain": gain, "failed": failed, "schedule": schedule}
    return found


def _line(row: dict[str, Any]) -> str:
    shown = ", ".join(f"{search} {row[search]['gain']:.2f}" for search in _SEARCHES)
    return f"{row['kernel']} {row['input']}: {row['libsparse']['seconds'] * 1e6:.0f} us, times faster: {shown}"
