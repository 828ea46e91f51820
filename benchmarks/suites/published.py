"""The published spaces of sparse kernels on a matrix or a tensor: a point is compiled as its schedule, and measured.

The templates are those of the artifact of Hellsten et al., "BaCO: A Fast and Portable Bayesian Compiler Optimization
Framework": which loops are split by which parameters, their order, and the loop on threads. Lanes are left out,
since some templates name one that isn't innermost. How OpenMP hands out iterations is not part of a schedule here, so
those two parameters change nothing; there are no more threads than processors. What a template forbids without saying
so (loops over positions of a row before the row is known) can't be measured, and counts as such.
"""

from __future__ import annotations

import functools
import math
import os
import random
import statistics
from collections.abc import Callable, Mapping
from typing import Any

import torch
from data import files, generated
from libsparse._tools import trials, tune

import libsparse as ls

_ROUNDS = 7  # of each measurement, in which it takes turns with the compiler's schedule; the least of each counts
_AGAIN = 5  # measurements of points that come near the best, at other times
_CLOSE = 1.4  # times the least, up to where points are measured again
_SLOW = 0.1  # seconds of a call that is measured once
_FAR = 5  # times the compiler's schedule, from which on one turn is enough
_MATRIX, _TENSOR = "cora_adj", "umls"  # small, since some points take a hundred times as long as others,
_FEW = "squeezenet_fire4_conv3x3_2"  # most of all where columns are cut into strips


class Measured:
    """Seconds of a kernel at the points of its space; each schedule is compiled and measured once, for all tuners.

    They are multiples of the time of the compiler's schedule at that moment: the best points of a space differ by less
    than the speed of a shared machine changes while tuners search.
    """

    def __init__(self, work: Callable[[], Any], schedule: Callable[[Mapping[str, Any]], str]) -> None:
        """Take a call that computes one problem, and the schedule of a point."""
        ((prepared, operands),) = tune.watched(work)
        self._of = {n: _subject(prepared, operands, n) for n in {1, min(2, os.cpu_count() or 1)}}
        self._schedule, self._known = schedule, dict[tuple[str, int], float | None]()

    def __call__(self, point: Mapping[str, Any]) -> float | None:
        """Seconds at a point; None where it can't be compiled."""
        name = self._schedule(point), min(point["omp_num_threads"], max(self._of))
        if name not in self._known:
            with ls.options(num_threads=name[1]):
                self._known[name] = _seconds(self._of[name[1]], name[0])
        return self._known[name]

    def settled(self) -> dict[float, float]:
        """For the seconds of the best points what they are in the middle of several measurements, at other times.

        With two threads one measurement is off by as much as good points differ, and the least of many is luck.
        """
        least = min(seconds for seconds in self._known.values() if seconds is not None)
        close = {name: [s] for name, s in self._known.items() if s is not None and s <= _CLOSE * least}
        for _ in range(_AGAIN):
            for name in random.sample(list(close), len(close)):
                with ls.options(num_threads=name[1]):
                    close[name].append(_seconds(self._of[name[1]], name[0]) or math.inf)
        return {each[0]: statistics.median(each) for each in close.values()}


def _subject(prepared: Any, operands: Any, count: int) -> trials.Subject:
    with ls.options(num_threads=count):
        return trials.Subject(prepared.problem, operands)


def _seconds(subject: trials.Subject, schedule: str) -> float | None:
    try:
        variant, first = subject.variant(schedule)
    except ls.LibsparseError:
        return None
    if first > _SLOW:
        return first
    turns = [(subject.clock(variant), subject.clock(subject.default))]
    while len(turns) < _ROUNDS and turns[0][0] < _FAR * turns[0][1]:
        turns.append((subject.clock(variant), subject.clock(subject.default)))
    return min(own for own, _ in turns) / min(default for _, default in turns) * subject.seconds


def _order(point: Mapping[str, Any], loops: str) -> list[str]:
    names = loops.split()
    return [names[element] for element in point["permutation"]]


def _positions(point: Mapping[str, Any]) -> str:
    """A product or a sampled one: rows in chunks, entries of a row in groups."""
    order = _order(point, "i0 i1 p0 k p1")
    return (
        f"pos(j, p, A0); split(i, i0, i1, {point['chunk_size']}); split(p, p0, p1, {point['unroll_factor']}); "
        f"reorder({', '.join(order)}); parallelize({order[0]}, threads)"
    )


def _twice(point: Mapping[str, Any]) -> str:
    """A product with a vector: rows in chunks of chunks, columns in strips."""
    order = _order(point, "i0 i10 i11 j1 j0")
    return (
        f"split(i, i0, i1, {point['chunk_size']}); split(i1, i10, i11, {point['chunk_size2']}); "
        f"split(j, j0, j1, {point['chunk_size3']}); reorder({', '.join(order)}); parallelize({order[0]}, threads)"
    )


def _rows(point: Mapping[str, Any]) -> str:
    """MTTKRP: rows in chunks; the other parameters are accepted and do nothing, as in the artifact."""
    return f"split(i, i1, i2, {point['chunk_size']}); reorder(i1, i2, j, k, l); vectorize(l); parallelize(i1, threads)"


def objectives(data: str | None) -> dict[str, tuple[str, Callable[[], Measured]]]:
    """Spaces by title: the name of each one's scenario, and what makes what is measured."""
    matrix = (files.named(data, _MATRIX) if data else None) or generated.rmat(11, 5)
    few = (files.named(data, _FEW) if data else None) or generated.pruned(128, 288, 0.3)
    A, W = (ls.from_csr(m.crow, m.col, m.values, m.shape) for m in (matrix, few))
    tensor = next(files.tensors(data, _TENSOR), None) if data else None
    tensor = tensor or generated.power_tensor((100, 50, 100), 6_000)
    T = ls.from_coo(tensor.coords, tensor.values, tensor.shape, "csf")
    rows, columns = A.shape
    X, x = torch.rand(columns, 256), torch.rand(W.shape[1])
    q, k = torch.rand(rows, 64), torch.rand(columns, 64)
    B, C = torch.rand(T.shape[1], 16), torch.rand(T.shape[2], 16)
    kernels: dict[str, tuple[Callable[[], Any], Callable[[Mapping[str, Any]], str]]] = {
        "spmm": (lambda: ls.einsum("ij,jk->ik", A, X), _positions),
        "sddmm": (lambda: ls.einsum("ij,ik,jk->ij", A, q, k), _positions),
        "spmv": (lambda: ls.einsum("ij,j->i", W, x), _twice),
        "mttkrp": (lambda: ls.einsum("ijk,jl,kl->il", T, B, C), _rows),
    }
    operands = {"spmv": few.name, "mttkrp": tensor.name}
    return {
        f"{name} on {operands.get(name, matrix.name)}": (name, functools.partial(Measured, work, schedule))
        for name, (work, schedule) in kernels.items()
    }
