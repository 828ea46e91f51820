"""Every kernel on every matrix, by every peer that has it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from typing import Any

import torch
from data import files, generated
from kernels import KERNELS, Kernel
from method import candidate, checking, machine, results
from method.operands import Matrix, SparseTensor, cast
from method.timing import interleaved
from method.worker import Worker
from peers.peer import Unsupported, available

_QUICK_KERNELS = ("spmv", "spmm", "sddmm", "spgemm", "spadd", "spmm_backward", "mttkrp", "transpose", "softmax")
_QUICK_WIDTHS = 64
DTYPES = {"f32": torch.float32, "f64": torch.float64, "bf16": torch.bfloat16}


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures, prints a line a row and tables at the end."""
    rooflines: dict[int, machine.Roofline] = {}
    rows: list[results.Row] = []
    for _ in range(options.processes):
        field = _Field(options)
        try:
            for count in options.threads:
                rows += _measured(field, count, rooflines, options)
        finally:
            field.close()
    rows = results.merged(rows)
    for row in rows:
        row["bound"] = rooflines[row["threads"]].bound(row["bytes"], row["flops"])
    groups = results.summary(rows, {k.name: k.beside for k in KERNELS.values() if k.beside})
    print("\n" + results.table(groups))
    for line in _failures(rows):
        print(line)
    return {
        "rows": rows,
        "summary": groups,
        "absent": field.absent,
        "rooflines": {str(count): roofline.as_dict() for count, roofline in rooflines.items()},
        "wrong": [f"{title}: {reason}" for row in rows for title, reason in row["wrong"].items()],
    }


def _measured(
    field: _Field, count: int, rooflines: dict[int, machine.Roofline], options: argparse.Namespace
) -> Iterator[results.Row]:
    """The rows with this number of threads; the memory's speed is measured before and after."""
    field.threads(count)
    _calibrate(count, rooflines)
    print(f"{count} threads, measured now: {_shown(rooflines[count])}", flush=True)
    for matrix in _inputs(options):
        for kernel, width, new in _cases(options, matrix):
            for dtype in options.dtype:
                row = field.measure(kernel, matrix, width, dtype, new=new)
                if row:
                    _finish(row, rooflines[count])
                    yield row
    _calibrate(count, rooflines)


def _calibrate(count: int, rooflines: dict[int, machine.Roofline]) -> None:
    found = machine.calibrate()
    rooflines[count] = rooflines[count].better(found) if count in rooflines else found


def _failures(rows: list[results.Row]) -> list[str]:
    kernels: dict[tuple[str, str], dict[str, None]] = {}
    for row in rows:
        for title, why in row["failed"].items():
            kernels.setdefault((title, why), {})[row["kernel"]] = None
    return [f"not measured: {title}: {', '.join(names)}: {why}" for (title, why), names in kernels.items()]


def _shown(roofline: machine.Roofline) -> str:
    levels = (f"{name} {v.read / 1e9:.0f} / {v.triad / 1e9:.0f}" for name, v in roofline.levels.items())
    return f"{', '.join(levels)} GB/s read / triad, {roofline.flops / 1e9:.0f} GF/s"


def _finish(row: results.Row, roofline: machine.Roofline) -> None:
    row["bound"] = roofline.bound(row["bytes"], row["flops"])
    row["beyond L2"] = row["bytes"] > roofline.levels["L2"].holds
    print(f"{results.label(row)}\n{results.line(row)}", flush=True)
    for title, reason in row["wrong"].items():
        print(f"    WRONG: {title}: {reason}")


def _inputs(options: argparse.Namespace) -> Iterator[Matrix | SparseTensor]:
    chosen = [k for k in KERNELS.values() if _wanted(options, k)]
    if any(not kernel.tensor for kernel in chosen):
        yield from _matrices(options)
    if any(kernel.tensor for kernel in chosen):
        yield from _tensors(options)


def _matrices(options: argparse.Namespace) -> Iterator[Matrix]:
    if options.data:
        yield from files.matrices(options.data, options.only, quick=options.quick, most=options.most)
    else:
        yield from _filtered(generated.matrices(quick=options.quick), options)


def _tensors(options: argparse.Namespace) -> Iterator[SparseTensor]:
    if options.data:
        yield from files.tensors(options.data, options.only, quick=options.quick, most=options.most)
    else:
        yield from _filtered(generated.tensors(quick=options.quick), options)


def _filtered(inputs: Iterator[Any], options: argparse.Namespace) -> Iterator[Any]:
    for one in inputs:
        if re.search(options.only or "", f"{one.family}/{one.name}") and one.nnz <= (options.most or one.nnz):
            yield one


def _wanted(options: argparse.Namespace, kernel: Kernel) -> bool:
    if options.kernels:
        return any(re.fullmatch(pattern, kernel.name) for pattern in options.kernels)
    return not options.quick or kernel.name in _QUICK_KERNELS


def _cases(options: argparse.Namespace, matrix: Matrix | SparseTensor) -> Iterator[tuple[Kernel, int, bool]]:
    for kernel in KERNELS.values():
        if kernel.tensor != isinstance(matrix, SparseTensor) or not _wanted(options, kernel):
            continue
        for width in _widths(options, kernel):
            for new in (False, True) if kernel.new and options.new else (False,):
                yield kernel, width, new


def _widths(options: argparse.Namespace, kernel: Kernel) -> tuple[int, ...]:
    if options.widths and kernel.widths != (0,):
        return tuple(options.widths)
    if options.quick and len(kernel.widths) > 1:
        return tuple(w for w in kernel.widths if w <= _QUICK_WIDTHS)[-1:]
    return kernel.widths


class _Field:
    """Those who take part."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        found, self.absent = available(options.peer)
        chosen = {t: p for t, p in found.items() if re.search(options.peers or "", t) or results.is_ours(t)}
        self._peers = {t: p for t, p in chosen.items() if not p.apart}
        self._workers = {t: Worker(t, p.environment).peer(p.file) for t, p in chosen.items() if p.apart}
        for name, environment in options.builds.items():
            self._peers.pop(results.OURS, None)
            self._workers[name] = Worker(results.OURS, environment).peer("libsparse")
        for name, reason in self.absent.items():
            print(f"without {name}: {reason}")
        print(f"peers: {', '.join([*self._peers, *self._workers])}")

    def threads(self, count: int) -> None:
        """Sets everybody's threads."""
        torch.set_num_threads(count)
        for peer in (*self._peers.values(), *self._workers.values()):
            peer.threads(count)

    def close(self) -> None:
        """Ends the processes."""
        for worker in self._workers.values():
            worker.close()

    def measure(
        self, kernel: Kernel, matrix: Matrix | SparseTensor, width: int, dtype: str, *, new: bool
    ) -> results.Row | None:
        """One row; None where the kernel isn't defined on the matrix or nobody has it."""
        problem = kernel.problem(matrix, width)
        if problem is None:
            return None
        problem = cast(problem, DTYPES[dtype], self._options.align % 64)
        expected, scale = kernel.expected(problem)
        row: results.Row = {
            **{"kernel": kernel.name, "title": kernel.title, "matrix": matrix.name, "family": matrix.family},
            **{"shape": list(matrix.shape), "nnz": matrix.nnz, "width": width, "dtype": dtype, "new": new},
            **{"threads": torch.get_num_threads(), "align": self._options.align, "flops": kernel.flops(problem)},
            "bytes": problem.nbytes() + checking.nbytes(expected, DTYPES[dtype]),
            **{"peers": {}, "failed": {}, "wrong": {}},
        }
        ready: dict[str, candidate.Prepared] = {}
        for title, peer in {**self._peers, **self._workers}.items():
            if not peer.prepares(kernel.name):
                continue
            try:
                prepared = self._prepared(peer, kernel, problem, new)
            except Unsupported as error:
                row["failed"][title] = str(error)
                continue
            except Exception as error:  # a peer that fails must not end the run; the row says why
                row["failed"][title] = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
                continue
            off = checking.error(prepared.result, expected, scale)
            if off <= checking.TOLERANCE[DTYPES[dtype]]:
                ready[title] = prepared._replace(result=())
            else:
                row["wrong"][title] = f"{kernel.name} on {matrix.name}: relative error {off:.1e}"
        taken = interleaved({title: prepared.call for title, prepared in ready.items()}, self._options.rounds)
        for title, found in taken.items():
            row["peers"][title] = {
                **results.times(found),
                "prepare": ready[title].prepare,
                "first": ready[title].first,
            }
        return row if row["peers"] or row["failed"] or row["wrong"] else None

    def _prepared(self, peer: Any, kernel: Kernel, problem: Any, new: bool) -> candidate.Prepared:
        if isinstance(peer, Worker):
            return peer.prepared(kernel.name, problem, new=new, offset=self._options.align % 64)
        return candidate.prepare(peer, kernel.name, problem, new=new)
