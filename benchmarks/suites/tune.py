"""Tuners: the measurements that each needs to come near the best point of a space, where the least value is known.

A measurement is one point of the space that satisfies the constraints. Peers that can't be told of constraints propose
points until one does, which is not counted.
"""

from __future__ import annotations

import argparse
import ast
import json
import math
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import libsparse

from . import published

_FOLDER = Path(__file__).resolve().parents[2] / "libsparse/tune/space/testdata"
_COMPILER = Path(libsparse.__file__).parent / "_libsparse_go"
_NEAR = 0.05  # of the best known value
_REAL = 10  # searches by each tuner where kernels are compiled and measured


def _branin(x: float, y: float) -> float:
    z = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return z * z + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def _branin4(v: Mapping[str, float]) -> float | None:
    return _branin(v["x1"], v["x2"]) * _branin(v["x3"], v["x4"])


_RISE = ("v3", "v4", "v5", "v6", "v7", "v8", "ls0", "ls1", "gs0", "gs1")


def _rise(v: Mapping[str, float]) -> float | None:
    """The synthetic objective that BaCO's tests have for a matrix product; it can't be measured for v3 up to 8."""
    v3, v4, v5, v6, v7, v8, ls0, ls1, gs0, gs1 = (v[f"tuned_{n}"] for n in _RISE)
    if v3 <= 8:
        return None
    smooth = 1e-5 * (v3 * v4 + (v5 + v6 - 800) ** 2 + (v3 + v5 + v7 - ls0 - gs1) ** 2)
    logs = math.log1p(ls0) - math.log1p(ls1) + math.log1p(gs0) - math.log1p(gs1)
    return smooth - 10 * math.sin(v7 / 100) * math.sin(v8 / 100) + logs


def _tiles(v: Mapping[str, Any]) -> float | None:
    """A time as tiled loops have it: a valley in the logarithms of tile sizes, threads that saturate, loop orders."""
    chunk, unroll = math.log2(v["chunk_size"]), math.log2(v["unroll_factor"])
    order = v["permutation"]
    disorder = sum(order[i] > order[j] for j in range(5) for i in range(j))
    threads = v["omp_num_threads"]
    return (
        (1 + 0.08 * (chunk - 6) ** 2 + 0.05 * (unroll - 3 - 0.3 * (chunk - 6)) ** 2 + 0.12 * disorder)
        * (1 / min(threads, 16) + 0.01 * threads)
        * (1 + 0.02 * abs(math.log2(v["omp_chunk_size"]) - 3) * (2 - v["omp_scheduling_type"]))
    )


class Objective(NamedTuple):
    """A space with a function on it.

    Attributes:
        space: The scenario's file.
        value: Of a point; None where it can't be measured.
        least: The least value there is; None where it is the least of all that tuners measure.
        settled: Of such measurements, those that are judged by others, taken when all tuners have ended.
    """

    space: str
    value: Callable[[Mapping[str, Any]], float | None]
    least: float | None
    settled: Callable[[], Mapping[float, float]] = dict


_OBJECTIVES = {
    "matrix product of RISE, 339,724,440 points": Objective("rs_cot_1024", _rise, -16.349566),
    "product of two Branins, discrete and real": Objective("branin4_discrete", _branin4, 22.1234),
    "tiles and loop orders, 46,656 points": Objective("spmm", _tiles, 0.205),
    "tiles and loop orders, 77,760 points": Objective("sddmm", _tiles, 0.205),
}


def _ours(method: str, objective: Objective, seed: int, budget: int) -> Iterator[float]:
    """Values in the order in which libsparse's tuner measures them, None left out."""
    command = [_COMPILER, "tune", f"-space={_FOLDER / objective.space}.json", f"-method={method}", f"-seed={seed}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for _ in range(budget):
            print('{"ask": 1}', file=process.stdin, flush=True)
            (point,) = json.loads(process.stdout.readline())
            value = objective.value({n: ast.literal_eval(v) if isinstance(v, str) else v for n, v in point.items()})
            told = {"failed": True} if value is None else {"value": value}
            print(json.dumps({"point": point, **told}), file=process.stdin, flush=True)
            yield math.inf if value is None else value


def _optuna(name: str, objective: Objective, seed: int, budget: int) -> Iterator[float]:
    """Values in the order in which a sampler of Optuna measures them."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    described = json.loads((_FOLDER / f"{objective.space}.json").read_text())["input_parameters"]
    allowed = _constraints(described)
    study = optuna.create_study(sampler=getattr(optuna.samplers, name)(seed=seed))
    measured = 0
    for _ in range(200 * budget):
        trial = study.ask()
        point = {p: _suggested(trial, p, d) for p, d in described.items()}
        if not allowed(point):
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            continue
        value = objective.value(point)
        if value is None:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
        else:
            study.tell(trial, value)
        yield math.inf if value is None else value
        measured += 1
        if measured == budget:
            return


def _suggested(trial: Any, name: str, d: Mapping[str, Any]) -> Any:
    """A value of a parameter, of the kind of distribution that Optuna has for it."""
    values = d["values"]
    if d["parameter_type"] == "real":
        return trial.suggest_float(name, *values)
    if d["parameter_type"] == "permutation":
        import itertools

        orders = [str(order) for order in itertools.permutations(range(values[0]))]
        return ast.literal_eval(trial.suggest_categorical(name, orders))
    return values[trial.suggest_int(name, 0, len(values) - 1)]


def _constraints(described: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], bool]:
    """Whether a point satisfies the constraints of a scenario."""
    texts = [text for d in described.values() for text in d.get("constraints", ())]
    codes = [compile(text.replace("&", " and ").replace("|", " or "), text, "eval") for text in texts]

    def allowed(point: Mapping[str, Any]) -> bool:
        names = dict(point)
        for name, d in described.items():
            if d["parameter_type"] == "permutation":
                names |= {f"{name}_{k}": element for k, element in enumerate(point[name])}
                names |= {f"{name}_i{element}": k for k, element in enumerate(point[name])}
        return all(eval(code, {}, names) for code in codes)

    return allowed


_TUNERS: dict[str, Callable[..., Iterator[float]]] = {
    "libsparse": lambda *args: _ours("bayesian", *args),
    "uniform": lambda *args: _ours("uniform", *args),
    "walk of the chain of trees": lambda *args: _ours("walk", *args),
    "Optuna TPE": lambda *args: _optuna("TPESampler", *args),
    "Optuna evolution (NSGA-II)": lambda *args: _optuna("NSGAIISampler", *args),
}


def _needed(values: Iterable[float], least: float) -> float:
    """The number of measurements until a value is near the least one; infinite if none is."""
    near = least + _NEAR * abs(least)
    return next((number for number, value in enumerate(values, 1) if value <= near), math.inf)


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Medians over searches from different seeds of what each tuner needs, and of the time it takes for a proposal."""
    repeats, budget = (options.rounds or 5, 60) if options.quick else (options.rounds or 30, 100)
    tuners = {name: tuner for name, tuner in _TUNERS.items() if re.search(options.peers or "", name)}
    found: dict[str, Any] = {"budget": budget, "repeats": repeats, "near": _NEAR}
    try:
        import optuna  # noqa: F401
    except ImportError:
        print("  (pip install optuna for its samplers)")
    for title, objective in _OBJECTIVES.items():
        if re.search(options.only or "", title):
            found[title] = _compared(title, objective, tuners, repeats, budget)
    for title, (space, made) in published.objectives(options.data).items():
        if re.search(options.only or "", title):
            measured = made()
            objective = Objective(space, measured, None, measured.settled)
            found[title] = _compared(title, objective, tuners, min(repeats, _REAL), budget)
    return found


def _compared(title: str, objective: Objective, tuners: Mapping[str, Any], repeats: int, budget: int) -> dict[str, Any]:
    """What each tuner needs for one objective; kernels are compiled for the tuner that asks for them first."""
    print(f"  {title}: measurements to within {_NEAR:.0%} of the least value, median of {repeats} [quarters]")
    values: dict[str, list[list[float]]] = {}
    seconds = dict[str, float]()
    for name, tuner in tuners.items():
        start = time.perf_counter()
        try:
            values[name] = [list(tuner(objective, seed, budget)) for seed in range(repeats)]
        except ImportError:
            continue
        seconds[name] = (time.perf_counter() - start) / sum(map(len, values[name]))
    least = objective.least
    if least is None:
        if all(math.isinf(value) for lists in values.values() for one in lists for value in one):
            raise SystemExit(f"{title}: no point could be measured")
        judged = objective.settled()
        values = {name: [[judged.get(v, v) for v in one] for one in lists] for name, lists in values.items()}
        least = min(value for lists in values.values() for one in lists for value in one)
    found = {}
    for name, lists in values.items():
        needed = sorted(_needed(one, least) for one in lists)
        low, middle, high = (needed[int(q * (repeats - 1))] for q in (0.25, 0.5, 0.75))
        reached = statistics.fmean(math.isfinite(n) for n in needed)
        print(
            f"    {name:28} {middle:6} [{low}, {high}]  reached in {reached:.0%}, {1e3 * seconds[name]:.1f} ms a point"
        )
        found[name] = {"needed": needed, "seconds a point": seconds[name]}
    return found
