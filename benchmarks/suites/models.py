"""Training steps and inferences of models, beside torch, torch as an expert uses it, and graph libraries."""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from method import machine, results
from method.timing import Call, interleaved
from method.worker import Worker
from models.workload import Workload

_MODELS = ("gcn", "gat", "sage", "autoencoder", "attention", "lightgcn", "cp_als", "layers")
_STEPS = 3  # whose losses have to agree
_TOLERANCE = 1e-3


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures; `--kernels` names models, `--only` chooses by model and data, `--peers` by contender."""
    rows: list[results.Row] = []
    names = [n for n in _MODELS if not options.kernels or any(re.fullmatch(k, n) for k in options.kernels)]
    for count in options.threads:
        torch.set_num_threads(count)
        for name in names:
            for number, workload in enumerate(importlib.import_module(f"models.{name}").workloads(options)):
                if re.search(options.only or "", f"{workload.name} {workload.data}"):
                    rows += _measured(name, number, workload, options)
    groups = results.summary(rows)
    print("\n" + results.table(groups))
    wrong = [f"{title}: {why}" for row in rows for title, why in row["wrong"].items()]
    return {"rows": rows, "summary": groups, "wrong": wrong}


class _Here:
    """A contender in this process, as `Worker` is one elsewhere."""

    def __init__(self, model: Any) -> None:
        self._model = model

    def values(self, what: str, times: int) -> torch.Tensor | None:
        """See `Worker`."""
        if not hasattr(self._model, what):
            return None
        self._call = Call(getattr(self._model, what))
        return torch.stack([self._call.run() for _ in range(times)])

    def peak(self) -> int:
        """See `Worker`."""
        return machine.peak_of(self._call.run)

    def turn(self, count: int) -> float:
        """See `timing.Timed`."""
        return self._call.turn(count)


def _contenders(
    file: str, number: int, workload: Workload, options: argparse.Namespace
) -> Iterator[tuple[str, Callable[[], Any]]]:
    """What makes each contender, by title; in a process of its own where it needs one, or where it is another build."""
    told = argparse.Namespace(data=options.data, quick=options.quick)

    def elsewhere(title: str, environment: Mapping[str, str]) -> Worker:
        worker = Worker(title, environment)
        worker.threads(torch.get_num_threads())
        return worker.model(file, number, title, told)

    for title, make in workload.contenders.items():
        if not results.is_ours(title) and not re.search(options.peers or "", title):
            continue
        if title == results.OURS and options.builds:
            for name, environment in options.builds.items():
                yield name, lambda e=environment: elsewhere(results.OURS, e)
        elif title in workload.apart:
            yield title, lambda t=title: elsewhere(t, {})
        else:
            yield title, lambda m=make: _Here(m())


def _ready(make: Callable[[], Any]) -> Any:
    """The contender; or why there is none, for the others still run."""
    try:
        return make()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _measured(file: str, number: int, workload: Workload, options: argparse.Namespace) -> list[results.Row]:
    models: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for title, make in _contenders(file, number, workload, options):
        models[title] = _ready(make)
        if isinstance(models[title], str):
            failed[title] = models.pop(title)
    rows = []
    for what, name, times in (("infer", "inference", 1), ("step", "step", _STEPS)):
        values = {title: model.values(what, times) for title, model in models.items()}
        if all(value is not None for value in values.values()):
            rows.append(_row(workload, name, models, values, failed, options))
    for model in models.values():
        if isinstance(model, Worker):
            model.close()
    return rows


def _row(
    workload: Workload,
    what: str,
    models: dict[str, Any],
    values: dict[str, torch.Tensor],
    failed: dict[str, str],
    options: argparse.Namespace,
) -> results.Row:
    """One row, for the contenders whose values agree with most."""
    wrong = _outliers(values)
    kept = {title: model for title, model in models.items() if title not in wrong}
    memory = {title: model.peak() for title, model in kept.items()}
    taken = interleaved(kept, options.rounds * options.processes)
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
