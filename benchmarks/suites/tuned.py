"""`ls.tune` on real kernels: the time of what it finds beside the compiler's schedule, random proposals and baselines.

All search the same space, the learned model with fewer and shorter measurements. What a search finds is compared with
the compiler's schedule once more, in longer turns than the search has taken. What it has spent is everything: looking
at patterns, ranking, conversions, measurements and its own last comparison, where its kernels had been compiled before.
"""

from __future__ import annotations

import argparse
import math
import re
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from data import files, generated
from libsparse._tools import trials, tune
from libsparse._tools.brief import Brief
from method.operands import Matrix
from training import split

import libsparse as ls

from . import fixed

_SEARCHES = {"learned": 11, "bayesian": 60, "random": 60}
_QUICK = 4  # measurements
_WIDE, _MOST = 256, 1 << 24  # columns of a wide operand, and its elements at most


def _cases(A: ls.SparseTensor) -> Iterator[tuple[str, Callable[[], Any]]]:
    rows, columns = A.shape
    x, q, k = torch.rand(columns, 64), torch.rand(rows, 64), torch.rand(columns, 64)
    yield "spmv", lambda: ls.einsum("ij,j->i", A, x[:, 0].contiguous())
    yield "spmv_transposed", lambda: ls.einsum("ij,i->j", A, q[:, 0].contiguous())
    yield "spmm", lambda: ls.einsum("ij,jk->ik", A, x)
    if columns * _WIDE <= _MOST:
        wide = torch.rand(columns, _WIDE)
        yield "spmm_wide", lambda: ls.einsum("ij,jk->ik", A, wide)
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
        if options.held_out and not split.held_out(matrix.name):
            continue
        A = ls.from_csr(matrix.crow, matrix.col, matrix.values, matrix.shape)
        yield matrix.name, _cases(A)
    for tensor in tensors:
        if options.held_out and not split.held_out(tensor.name):
            continue
        yield tensor.name, _tensor_cases(ls.from_coo(tensor.coords, tensor.values, tensor.shape, "csf"))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Tuned times over the compiler's, for each kernel, input and search."""
    searches = {title: n for title, n in _SEARCHES.items() if re.search(options.peers or "", title)}
    if options.quick:
        searches = dict.fromkeys(searches, _QUICK)
    rows = []
    for count in options.threads or [torch.get_num_threads()]:
        with tempfile.TemporaryDirectory() as folder, ls.options(num_threads=count, cache_dir=folder):
            for name, cases in _inputs(options):
                for kernel, work in cases:
                    if not options.kernels or any(re.fullmatch(k, kernel) for k in options.kernels):
                        rows.append({"input": name, "kernel": kernel, "threads": count, **_searched(work, searches)})
                        print("  " + _line(rows[-1], searches), flush=True)
    for search in searches:
        for kernel in ("all", *dict.fromkeys(row["kernel"] for row in rows)):
            _summarize(search, kernel, [row for row in rows if kernel in ("all", row["kernel"])])
    return {"budgets": searches, "rows": rows}


def _searched(work: Callable[[], Any], searches: dict[str, int]) -> dict[str, Any]:
    """Each search for the one problem that something computes."""
    ((prepared, operands),) = tune.watched(work)
    found: dict[str, Any] = {"baselines": fixed.times(trials.Subject(prepared.problem, operands))}
    for method, budget in searches.items():
        compiled, *_ = _search(prepared, operands, method, budget)  # and again, with all kernels in the cache
        spent, tried, subject, (winner, variant) = _search(prepared, operands, method, budget)
        times = _compared(prepared, operands, winner.schedule) if winner else (subject.seconds, subject.seconds)
        converted = 0.0 if variant is None else subject.conversions(variant)[1]
        found[method] = {
            "seconds": times[0],
            "gain": times[0] / times[1] if winner else 1.0,
            "tried": len(tried),
            "failed": sum(trial.ratio is None for trial in tried),
            "schedule": winner.schedule if winner else "",
            "spent": spent,
            "compiled": compiled,
            "calls": (spent + converted) / (times[0] - times[1]) if winner and times[1] < times[0] else math.inf,
        }
    return found


def _search(prepared: Any, operands: Any, method: str, budget: int) -> tuple[float, list[trials.Trial], Any, Any]:
    """The seconds that a search takes, what it has tried, with what operands, and the winner with its kernel."""
    begun = time.perf_counter()
    kind, tried = Brief if method == "learned" else trials.Subject, list[trials.Trial]()
    subject = kind(prepared.problem, operands)
    trials.search(subject, tried, budget, float("inf"), 0, lambda: None, method, stops=method == "learned")
    found = trials.decide(subject, tried)
    return time.perf_counter() - begun, tried, subject, found[:2]


def _compared(prepared: Any, operands: Any, schedule: str) -> tuple[float, float]:
    """The times of the compiler's schedule and of another one, medians of turns."""
    subject = trials.Subject(prepared.problem, operands)
    own, default = subject.compare([subject.variant(schedule)[0]])
    return statistics.median(default), statistics.median(own)


def _line(row: dict[str, Any], searches: Iterable[str]) -> str:
    shown = ", ".join(f"{search} {row[search]['gain']:.2f}" for search in searches)
    seconds = next(row[search]["seconds"] for search in searches)
    beside = ", ".join(f"{name} {ratio:.2f}" for name, ratio in row["baselines"].items())
    return f"{row['kernel']} {row['input']}: {seconds * 1e6:.0f} us, times faster: {shown}; {beside}"


def _summarize(search: str, kernel: str, rows: list[dict[str, Any]]) -> None:
    found = [row[search] for row in rows]
    gains = [one["gain"] for one in found]
    if gains:
        mean, better = statistics.geometric_mean(gains), sum(gain > 1 for gain in gains)
        spent, compiled = (statistics.median(one[name] for one in found) for name in ("spent", "compiled"))
        earned = [one["calls"] for one in found if math.isfinite(one["calls"])]
        calls = f"; those earned it back after {statistics.median(earned):.0f} calls" if earned else ""
        print(
            f"  {search}, {kernel}: {mean:.3f} times faster (geometric mean of {len(gains)}), {better} of them changed,"
            f" in {spent:.2f} s, with compiling {compiled:.1f} s (medians){calls}"
        )
        for baseline in rows[0]["baselines"]:
            over = [row[search]["gain"] / row["baselines"][baseline] for row in rows]
            print(f"    {statistics.geometric_mean(over):.2f} times as fast as {baseline} ({min(over):.2f} at least)")
