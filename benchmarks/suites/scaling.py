"""Numbers of threads: how many times as fast is each kernel with several threads as with the first number?

Operands are large: generated ones, or those of `--data`. Libraries other than ours take part where `--peers` names
them, if they share torch's OpenMP runtime. Results are compared with those of the first number of threads, which the
other suites check.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

import torch
from data import files, generated
from kernels import KERNELS, Kernel
from kernels.kernel import largest
from method import candidate, checking, machine
from method.operands import Matrix, Problem, SparseTensor
from method.results import OURS
from method.timing import geomean, interleaved
from peers.peer import Peer, Unsupported, available

_WIDTH, _ROUNDS = 64, 5
_KERNELS = (
    *("spmv", "spmv_transposed", "spmm", "dense_sparse", "spmm_mean", "spmm_max", "spmm_relu", "spmm_backward"),
    *("sddmm", "softmax", "softmax_backward", "attention", "spgemm", "spadd", "spmul", "chain", "sum_rows"),
    *("transpose", "csr_to_csc", "coo_to_csr", "index_rows", "index_columns", "slice_rows", "mttkrp", "ttv", "ttm"),
)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures, prints a line for each kernel, matrix and library, and the means of each kernel."""
    _memory(options.threads)
    found, _ = available(options.peer)
    peers = {t: p for t, p in found.items() if t == OURS or (not p.apart and re.search(options.peers or "^$", t))}
    rows: list[dict[str, Any]] = []
    wrong: list[str] = []
    for operand in _operands(options):
        for kernel in _chosen(options):
            for width in (0,) if kernel.widths == (0,) else options.widths or (_WIDTH,):
                problem = kernel.problem(operand, width) if kernel.tensor == isinstance(operand, SparseTensor) else None
                for new in ((False, True) if kernel.new and options.new else (False,)) if problem else ():
                    for title, peer in peers.items():
                        row = _row(peer, kernel, problem, new, options)
                        if row:
                            row |= {"peer": title, "matrix": operand.name, "width": width, "new": new}
                            rows.append(row)
                            wrong += [f"{title}: {_label(row)}: differs with {n} threads" for n in row["differ"]]
                            print(_line(row), flush=True)
    print("\n" + "\n".join(_means(rows)))
    return {"rows": rows, "wrong": wrong}


def _memory(counts: list[int]) -> None:
    for count in counts:
        torch.set_num_threads(count)
        roofline = machine.calibrate()
        levels = ", ".join(f"{name} {level.read / 1e9:.0f}" for name, level in roofline.levels.items())
        print(f"{count} threads read {levels} GB/s; {roofline.flops / 1e9:.0f} GF/s")


def _operands(options: argparse.Namespace) -> Iterator[Matrix | SparseTensor]:
    if options.data:
        yield from files.matrices(options.data, options.only, quick=options.quick, most=options.most)
        yield from files.tensors(options.data, options.only, quick=options.quick, most=options.most)
        return
    for one in (*generated.large_matrices(), *generated.large_tensors()):
        if re.search(options.only or "", f"{one.family}/{one.name}"):
            yield one


def _chosen(options: argparse.Namespace) -> Iterator[Kernel]:
    for kernel in KERNELS.values():
        if options.kernels:
            if any(re.fullmatch(pattern, kernel.name) for pattern in options.kernels):
                yield kernel
        elif kernel.name in _KERNELS:
            yield kernel


def _row(peer: Peer, kernel: Kernel, problem: Problem, new: bool, options: argparse.Namespace) -> dict[str, Any] | None:
    if not peer.prepares(kernel.name):
        return None
    seconds: dict[int, float] = {}
    first, differ = None, []
    for count in options.threads:
        torch.set_num_threads(count)
        peer.threads(count)
        try:
            ready = candidate.prepare(peer, kernel.name, problem, new=new)
        except Unsupported:
            return None
        if first is None:
            first = ready.result
        elif not checking.error(ready.result, first, largest(first)) <= checking.TOLERANCE[torch.float32]:
            differ.append(count)
        seconds[count] = interleaved({"": ready.call}, min(options.rounds, _ROUNDS))[""].median
    return {"kernel": kernel.name, "title": kernel.title, "seconds": seconds, "differ": differ}


def _label(row: dict[str, Any]) -> str:
    width = f" {row['width']}" if row["width"] else ""
    return f"{row['title']}{width}{', new operands' if row['new'] else ''}"


def _line(row: dict[str, Any]) -> str:
    (_, least), *others = row["seconds"].items()
    speeds = " ".join(f"{n}: {least / seconds:5.2f}" for n, seconds in others)
    return f"{row['peer']:<16} {row['matrix']:<28} {_label(row):<32} {least * 1e3:9.3f} ms  {speeds}"


def _means(rows: list[dict[str, Any]]) -> Iterator[str]:
    groups: dict[tuple[str, str], list[dict[int, float]]] = {}
    for row in rows:
        groups.setdefault((row["peer"], _label(row)), []).append(row["seconds"])
    for (peer, label), taken in groups.items():
        first, *others = taken[0]
        speeds = (f"{n}: {geomean([t[first] / t[n] for t in taken]):5.2f}" for n in others)
        yield f"{peer:<16} {label:<32} {' '.join(speeds)}"
