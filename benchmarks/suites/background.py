"""Training while tuning goes on in the background: the time of all steps beside the same without, from a new cache on.

Each model is trained in two processes that take turns of about half a second. The helper of the one that tunes stands
still while the other has its turn, so that each pays for what it causes. Beside others' work on the machine, the time
that the process has had a processor says more: that of its threads alone, without the helper.
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
_TURN, _LONGEST = 0.5, 240.0  # seconds of a turn, and of a model's steps: fewer where they take longer
_FIRST = 8  # steps before both begin: those that compile, and those that bring values into other orders
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
        step = workers["off"].turn(1)
        count, steps = max(1, min(steps // 10, round(_TURN / step))), min(steps, max(_QUICK, round(_LONGEST / step)))
        taken: dict[str, list[float]] = {name: [] for name in workers}
        spent: dict[str, list[float]] = {name: [] for name in workers}
        for turn in range(-(-steps // count)):
            for name in ("off", "on") if turn % 2 else ("on", "off"):
                workers[name].tuning(stands_still=False)
                before = workers[name].processor()
                taken[name].append(workers[name].turn(count))
                spent[name].append((workers[name].processor() - before) / count)
                workers[name].tuning(stands_still=True)
        log = workers["on"].tuning(stands_still=False)
        for worker in workers.values():
            worker.close()
    about = {"model": workload.name, "data": workload.data, "steps": count * len(taken["on"])}
    return {**about, "taken": taken, "spent": spent, "log": log}


def _line(row: dict[str, Any]) -> str:
    shown = []
    for name, what in (("taken", "time"), ("spent", "processor's time")):
        on, off = row[name]["on"], row[name]["off"]
        last = max(1, round(_LAST * len(on)))
        end = statistics.median(on[-last:]) / statistics.median(off[-last:])
        shown.append(f"{sum(on) / sum(off):.3f} times the {what}, at the end {end:.3f}")
    step = statistics.median(row["taken"]["off"])
    about = f"{row['model']}, {row['data']}, {row['threads']} threads, {row['steps']} steps of {1e3 * step:.2f} ms"
    return f"{about}: with tuning {'; '.join(shown)}" + "".join(f"\n    {line}" for line in row["log"])
