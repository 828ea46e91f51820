"""Training steps and inferences of models, beside torch, torch as an expert uses it, and graph libraries."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable
from typing import Any

import torch
from method import machine, results
from method.timing import Call, interleaved
from models.workload import Workload

_MODELS = ("gcn", "gat", "sage", "autoencoder", "attention", "lightgcn", "cp_als")
_STEPS = 3  # whose losses have to agree
_TOLERANCE = 1e-3


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures; `--kernels` names models, `--only` chooses by model and data, `--peers` by contender."""
    rows: list[results.Row] = []
    names = [n for n in _MODELS if not options.kernels or any(re.fullmatch(k, n) for k in options.kernels)]
    for count in options.threads:
        torch.set_num_threads(count)
        for name in names:
            for workload in importlib.import_module(f"models.{name}").workloads(options):
                if re.search(options.only or "", f"{workload.name} {workload.data}"):
                    rows += _measured(workload, options)
    groups = results.summary(rows)
    print("\n" + results.table(groups))
    wrong = [f"{title}: {why}" for row in rows for title, why in row["wrong"].items()]
    return {"rows": rows, "summary": groups, "wrong": wrong}


def _measured(workload: Workload, options: argparse.Namespace) -> list[results.Row]:
    made, failed = {}, {}
    for title, make in workload.contenders.items():
        if not results.is_ours(title) and not re.search(options.peers or "", title):
            continue
        try:
            made[title] = make()
        except Exception as error:  # the other contenders still run; the row says why
            failed[title] = f"{type(error).__name__}: {error}"
    inferred = {title: model.infer() for title, model in made.items()}
    found = [_row(workload, "inference", {t: m.infer for t, m in made.items()}, inferred, failed, options)]
    if all(hasattr(model, "step") for model in made.values()):
        losses = {t: torch.stack([m.step() for _ in range(_STEPS)]) for t, m in made.items()}
        found.append(_row(workload, "step", {t: m.step for t, m in made.items()}, losses, failed, options))
    return found


def _row(
    workload: Workload,
    what: str,
    calls: dict[str, Callable[[], object]],
    values: dict[str, torch.Tensor],
    failed: dict[str, str],
    options: argparse.Namespace,
) -> results.Row:
    """One row, for the contenders whose values agree with most."""
    wrong = _outliers(values)
    kept = {title: call for title, call in calls.items() if title not in wrong}
    memory = {title: machine.peak_of(call) for title, call in kept.items()}
    taken = interleaved({title: Call(call) for title, call in kept.items()}, options.rounds)
    row: results.Row = {
        **{"kernel": f"{workload.name} {what}", "title": f"{workload.name}, {what}", "matrix": workload.data},
        **{"family": "models", "width": 0, "dtype": "f32", "new": False, "threads": torch.get_num_threads()},
        "peers": {title: {**results.times(t), "memory": memory[title]} for title, t in taken.items()},
        "failed": failed,
        "wrong": {title: f"{workload.name}, {what} on {workload.data}: {why}" for title, why in wrong.items()},
    }
    print(f"{results.label(row)}, {workload.data}")
    fastest = min(times.median for times in taken.values())
    for title, times in sorted(taken.items(), key=lambda item: item[1].median):
        shown = f"{1e3 * times.median:9.3f} ms +-{50 * times.spread:3.0f} %  {times.median / fastest:6.2f} x the best"
        print(f"  {title:<32} {shown}  {memory[title] / 1e6:8.1f} MB", flush=True)
    for title, why in (wrong | failed).items():
        print(f"  {title:<32} {why}")
    return row


def _outliers(values: dict[str, torch.Tensor]) -> dict[str, str]:
    """The contenders whose values differ from the median of all."""
    middle = torch.stack(list(values.values())).double().median(0).values
    scale = float(middle.abs().max()) + 1e-30
    off = {title: float((v.double() - middle).abs().max()) / scale for title, v in values.items()}
    return {
        title: f"differs by {error:.1e} of the largest value" for title, error in off.items() if not error < _TOLERANCE
    }
