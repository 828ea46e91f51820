"""Training while tuning goes on in the background: the time of all steps beside the same without, from a new cache on.

Each model is trained in two processes, which take turns of about half a second. The helper of the one that tunes stands
still while the other has its turn, so that each pays for what it causes.
"""

from __future__ import annotations

import argparse
import importlib
import re
import statistics
import tempfile
from collections.abc import Iterator
from typing import Any

import torch
from method import results
from method.worker import Worker
from models.workload import Workload

_MODELS = ("gcn", "lightgcn", "autoencoder")
_STEPS, _QUICK = 1000, 40
_TURN = 0.5  # seconds
_FIRST = 3  # steps that compile, before both begin
_LAST = 0.2  # of the steps, by which it is told whether the end is faster


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures; `--kernels` names models, `--only` chooses by model and data."""
    rows = []
    for count in options.threads:
        torch.set_num_threads(count)
        for file, number, workload in _workloads(options):
            rows.append({"threads": count, **_measured(file, number, workload, options)})
            print("  " + _line(rows[-1]), flush=True)
    return {"rows": rows}


def _workloads(options: argparse.Namespace) -> Iterator[tuple[str, int, Workload]]:
    names = [n for n in _MODELS if not options.kernels or any(re.fullmatch(k, n) for k in options.kernels)]
    for name in names:
        for number, workload in enumerate(importlib.import_module(f"models.{name}").workloads(options)):
            if re.search(options.only or "", f"{workload.name} {workload.data}"):
                yield name, number, workload


def _measured(file: str, number: int, workload: Workload, options: argparse.Namespace) -> dict[str, Any]:
    """The seconds of each turn's steps, with tuning and without."""
    told = argparse.Namespace(data=options.data, quick=options.quick)
    steps = _QUICK if options.quick else _STEPS
    with tempfile.TemporaryDirectory() as folder:
        workers = {name: Worker(results.OURS, {"LIBSPARSE_CACHE_DIR": f"{folder}/{name}"}) for name in ("off", "on")}
        for worker in workers.values():
            worker.threads(torch.get_num_threads())
            worker.model(file, number, results.OURS, told)
            worker.values("step", _FIRST)
        workers["on"].settings(tune="background")
        count = max(1, min(steps // 10, round(_TURN / workers["off"].turn(1))))
        taken: dict[str, list[float]] = {name: [] for name in workers}
        for turn in range(-(-steps // count)):
            for name in ("off", "on") if turn % 2 else ("on", "off"):
                workers[name].tuning(stands_still=False)
                taken[name].append(workers[name].turn(count))
                workers[name].tuning(stands_still=True)
        log = workers["on"].tuning(stands_still=False)
        for worker in workers.values():
            worker.close()
    return {
        "model": workload.name,
        "data": workload.data,
        "steps": count * len(taken["on"]),
        "taken": taken,
        "log": log,
    }


def _line(row: dict[str, Any]) -> str:
    on, off = row["taken"]["on"], row["taken"]["off"]
    last = max(1, round(_LAST * len(on)))
    middle = [statistics.median(times[-last:]) for times in (on, off)]
    about = f"{row['model']}, {row['data']}, {row['threads']} threads, {row['steps']} steps of {1e3 * middle[1]:.2f} ms"
    said = "".join(f"\n    {line}" for line in row["log"])
    return f"{about}: with tuning {sum(on) / sum(off):.3f} times the time, at the end {middle[0] / middle[1]:.3f}{said}"
