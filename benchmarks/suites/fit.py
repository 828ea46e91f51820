"""Fits the constants of the scheduler's cost model to this kind of machine. With --quick, to what was measured before.

Every order of the loops of the suite's expressions is timed on matrices other than those of the schedules suite. The
constants are those with which the compiler's own model chooses best: its prices come from `libsparse prices`.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from data import selected
from libsparse._compiler import native, target
from method import machine
from method.operands import Matrix
from method.timing import geomean
from scheduler import candidates
from scheduler.expressions import EXPRESSIONS, Expression, fits, forget

_BENCHMARKS = Path(__file__).resolve().parents[1]
_CONSTANTS = _BENCHMARKS.parent / "libsparse" / "autoschedule" / "constants"

# What is fitted, and between which bounds; what is missing here is policy or measured by itself.
_BOUNDS = {
    "loop": (0.05, 5.0),
    "merge": (0.5, 20.0),
    "lane": (0.08, 1.0),
    "fold": (0.1, 20.0),
    "strided": (0.1, 10.0),
    "update": (0.02, 4.0),
    "insert": (0.5, 100.0),
    "scatter": (0.3, 20.0),
    "list": (0.3, 40.0),
}
_STOPPED = 10.0  # what a candidate that was stopped counts for, in times of the best
_SHARPNESS = 8.0  # how clearly the soft choice prefers what is cheaper
_SHAPE = 0.3  # weight of how well costs are proportional to times, beside the choice
_ROUNDS = 2
_MEASUREMENTS, _STEPS, _SEED = 200, 32, 1  # of the Bayesian tuner, and between the bounds


class Fit(NamedTuple):
    """Constants, and how much slower what they choose is than the best order: geometric mean and worst."""

    constants: dict[str, float]
    geomean: float
    worst: float


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, fit, and write both the measurements and the constants."""
    name, pattern = profile(target.cpu())
    stored = _BENCHMARKS / "fits" / f"{name}.json"
    if not options.quick:
        rows = _measured(options.data)
        lines = ",\n".join(json.dumps(row) for row in rows)
        stored.write_text(
            f'{{"machine": {json.dumps(machine.describe())},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8"
        )
    rows = json.loads(stored.read_text(encoding="utf-8"))["rows"]
    prices = _Prices([_request(row) for row in rows])
    entry = _conversion(rows)
    default = json.loads((_CONSTANTS / "default.json").read_text(encoding="utf-8"))["constants"]
    shared = entry / default["reuse"]
    times = [_times(row, orders, shared) for row, orders in zip(rows, prices.orders, strict=True)]
    before = _judge(times, prices(default))
    default["convert"] = float(f"{entry / _unit(times, prices(default)):.3g}")
    fit = _fitted(default, times, prices)
    print(f"the choice's order over the best order, {len(rows)} cases")
    print(f"  with the default's constants  geometric mean {before[0]:.3f}, worst {before[1]:.2f}")
    print(f"  fitted                        geometric mean {fit.geomean:.3f}, worst {fit.worst:.2f}")
    print("  " + ", ".join(f"{key} {value:g}" for key, value in fit.constants.items()))
    if fit[1:] >= before:
        print("the default's constants choose as well; no profile is written")
        return {"profile": "default", "geomean": before[0], "worst": before[1], "constants": default}
    path = _CONSTANTS / f"{name}.json"
    path.write_text(json.dumps({"cpu": pattern, "constants": fit.constants}, indent=1) + "\n", encoding="utf-8")
    print(f"written to {path}; make build takes them in")
    return {"profile": name, **fit._asdict()}


def profile(cpu: str) -> tuple[str, str]:
    """The name of a kind of machine, and a pattern that fits the text by which targets name its processors."""
    fields = dict(part.split(": ", 1) for part in cpu.split("; ") if ": " in part)
    keys = [k for k in ("vendor_id", "cpu family") if k in fields] or [
        k for k in ("CPU implementer", "CPU part") if k in fields
    ]
    name = "-".join(re.sub(r"\W+", "", fields[k]).lower() for k in keys)
    return name or "unknown", "^" + ".*".join(re.escape(f"{k}: {fields[k]};").replace(r"\ ", " ") for k in keys)


def _measured(data: str | None) -> list[dict[str, Any]]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    rows = []
    try:
        for matrix in selected.fit(data):
            start = time.perf_counter()
            cases = [e for e in EXPRESSIONS if fits(e, matrix)]
            rows += [_row(expression, matrix) for expression in cases]
            forget()
            print(f"  {matrix.name}: {len(cases)} expressions, {time.perf_counter() - start:.0f} s", flush=True)
    finally:
        torch.set_num_threads(threads)
    return rows


def _row(expression: Expression, matrix: Matrix) -> dict[str, Any]:
    found = candidates.compiled(expression, matrix, candidates.enumerate_all(expression, matrix, plain=True))
    right = candidates.same(
        expression.in_double(matrix, absolute=False).automatic()(),
        expression.in_double(matrix, absolute=True).automatic()(),
    )
    taken = [float("inf")] * len(found)
    for _ in range(_ROUNDS):
        best = min(1.0, *taken)
        for at, screened in enumerate(candidates.screen([c.run for c in found if c.run], right, best)):
            taken[at] = min(taken[at], screened.seconds)
            if not screened.right:
                raise SystemExit(f"{expression.title} on {matrix.name}: {found[at].schedule} computes something else")
    asked = expression.prepared(matrix).request()
    return {
        "expression": expression.title,
        "matrix": matrix.name,
        "spec": asked["spec"],
        "operands": [[o["format"], o["shape"], o["nnz"], o["same_pattern"]] for o in asked["operands"]],
        "format": asked["output"]["format"] or "",
        "combine": asked["combine"],
        "us": {
            " ".join(c.order): [_rounded(t), _rounded(expression.conversion_seconds(matrix, c.schedule))]
            for c, t in zip(found, taken, strict=True)
        },
    }


def _rounded(seconds: float) -> float | None:
    return None if math.isinf(seconds) else float(f"{1e6 * seconds:.3g}")


def _request(row: dict[str, Any]) -> dict[str, Any]:
    operands = [
        {"name": f"A{n}", "format": f, "dtype": "f32", "shape": shape, "nnz": nnz, "same_pattern": same}
        for n, (f, shape, nnz, same) in enumerate(row["operands"])
    ]
    return {"spec": row["spec"], "operands": operands, "combine": row["combine"], "output": {"format": row["format"]}}


class _Program:
    """A conversation with a command of the compiler, line by line of JSON, which ends it at the end of a block."""

    def __init__(self, *arguments: str) -> None:
        """Start it."""
        self._process = subprocess.Popen(
            [str(native.EXECUTABLE), *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def __enter__(self) -> _Program:
        """As it is."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the pipes, at whose end the program ends."""
        self._process.communicate()

    def tell(self, statement: Any) -> None:
        """What has no answer."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(statement) + "\n")
        self._process.stdin.flush()

    def ask(self, question: Any) -> Any:
        """What has one."""
        self.tell(question)
        assert self._process.stdout is not None
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"{self._process.args} ended")
        return json.loads(answer)


class _Prices(_Program):
    """The compiler's model: called with constants, it gives for each request the costs of its orders."""

    def __init__(self, requests: list[dict[str, Any]]) -> None:
        """Start the conversation."""
        super().__init__("prices")
        self.orders: list[list[str]] = self.ask(requests)

    def __call__(self, constants: dict[str, float]) -> list[np.ndarray]:
        """Costs by request."""
        return [np.array(costs) for costs in self.ask(constants)]


def _conversion(rows: list[dict[str, Any]]) -> float:
    """Microseconds that converting an entry takes, of large operands.

    Small ones take a time that has nothing to do with their entries.
    """
    each = [
        taken / operand[2]
        for row in rows
        for _, taken in row["us"].values()
        for operand in row["operands"]
        if taken and "s" in operand[0]
    ]
    return float(np.percentile(each, 10))


def _unit(times: list[np.ndarray], costs: list[np.ndarray]) -> float:
    """Microseconds that a unit of the model takes, by the best orders."""
    best = [np.nanargmin(t) for t in times]
    return geomean([t[b] / c[b] for t, c, b in zip(times, costs, best, strict=True)])


def _times(row: dict[str, Any], orders: list[str], conversion: float) -> np.ndarray:
    """Microseconds by order, with a call's share of conversions; NaN where it was not compiled."""
    best = min(t for t, _ in row["us"].values() if t is not None)
    entries = max(operand[2] for operand in row["operands"] if "s" in operand[0])
    out = []
    for order in orders:
        taken, converted = row["us"].get(order, (float("nan"), 0))
        out.append((_STOPPED * best if taken is None else taken) + (conversion * entries if converted else 0))
    return np.array(out)


def _judge(times: list[np.ndarray], costs: list[np.ndarray]) -> tuple[float, float]:
    ratios = []
    for t, c in zip(times, costs, strict=True):
        known = ~np.isnan(t)
        ratios.append(t[known][np.argmin(c[known])] / t[known].min())
    return geomean(ratios), max(ratios)


def _loss(times: list[np.ndarray], costs: list[np.ndarray]) -> float:
    total = 0.0
    for t, c in zip(times, costs, strict=True):
        known = ~np.isnan(t)
        slow, log = np.log(t[known] / t[known].min()), np.log(c[known])
        soft = np.exp(-_SHARPNESS * (log - log.min()))
        # What was stopped is slower by an unknown factor.
        at_least = np.where(slow >= math.log(_STOPPED) - 0.01, np.maximum(slow, log - log[np.argmin(slow)]), slow)
        # Squared, since the worst case counts.
        total += float((soft * slow**2).sum() / soft.sum()) + float(slow[np.argmin(log)] ** 2)
        total += _SHAPE * float(np.var(log - at_least))
    return total / len(times)


def _fitted(default: dict[str, float], times: list[np.ndarray], prices: _Prices) -> Fit:
    """The constants with the least loss that the Bayesian tuner finds, beginning with the default's."""
    tuned = {
        name: {
            "parameter_type": "ordinal",
            "transform": "log",
            "values": sorted({float(f"{x:.3g}") for x in (*np.geomspace(*bounds, _STEPS), default[name])}),
            "parameter_default": default[name],
        }
        for name, bounds in _BOUNDS.items()
    }
    scenario = {"application_name": "constants", "log_transform_output": True, "input_parameters": tuned}
    found: list[tuple[float, dict[str, float]]] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "constants.json"
        path.write_text(json.dumps(scenario), encoding="utf-8")
        with _Program("tune", f"-space={path}", f"-seed={_SEED}") as tuner:
            for _ in range(_MEASUREMENTS):
                (point,) = tuner.ask({"ask": 1})
                constants = {**default, **point}
                loss = _loss(times, prices(constants))
                tuner.tell({"point": point, "value": loss})
                found.append((loss, constants))
    _, best = min(found, key=lambda one: one[0])
    return Fit(best, *_judge(times, prices(best)))
