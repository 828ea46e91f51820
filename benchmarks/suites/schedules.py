"""Is the schedule that the compiler chooses, without measuring, as fast as the best one that it can express?"""

from __future__ import annotations

import argparse
import time
from typing import Any

import torch
from data import selected
from method.operands import Matrix
from method.timing import Call, Times, geomean, interleaved
from scheduler import candidates
from scheduler.candidates import Candidate, Screened
from scheduler.expressions import EXPRESSIONS, Expression, fits, forget

_QUICK = ("SpMV", "SpMM", "SpGEMM", "A.T @ x")
_NEAR = 3.0  # workspaces and tilings are tried of orders that take at most so many times what the best order does
_FINALISTS = 5
_SLACK = 1.5  # of the screening, which is short
_BARS = (1.2, 1.5)
_DOUBT, _AGAIN = 1.1, 3  # from which ratio a comparison is repeated, and how often


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure on one thread; the ratio is that of the choice's time to the best candidate's, so less is better."""
    quick = options.quick
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # candidates are about loops; and children may not open teams
    rows: list[dict[str, Any]] = []
    try:
        for matrix in selected.schedules(options.data, quick=quick):
            print(f"{matrix.name}: {matrix.shape[0]} x {matrix.shape[1]}, {matrix.values.numel()} entries", flush=True)
            cases = [e for e in EXPRESSIONS if fits(e, matrix) and (not quick or e.title in _QUICK)]
            rows += [_row(expression, matrix, 8 if quick else 15) for expression in cases]
            forget()
    finally:
        torch.set_num_threads(threads)
    return {"rows": rows, "summary": _summary(rows)}


def _row(expression: Expression, matrix: Matrix, rounds: int) -> dict[str, Any]:
    start = time.perf_counter()
    chosen = expression.prepared(matrix).automatic()
    right = candidates.same(_exact(expression, matrix), _exact(expression, matrix, absolute=True))
    if not right(chosen()):
        raise SystemExit(f"{expression.title} on {matrix.name}: the compiler's own choice computes something else")
    (own,) = candidates.screen([chosen], right, 1.0)
    found, times = _explore(expression, matrix, right, own.seconds)
    ranked = sorted(zip(found, times, strict=True), key=lambda pair: pair[1].seconds)
    best = ranked[0][1].seconds if ranked else own.seconds
    finalists = [c for c, t in ranked if t.seconds <= _SLACK * min(best, own.seconds)][:_FINALISTS]
    calls = {c.schedule: c.run for c in finalists if c.run is not None}
    taken, winner = _compare({"": chosen, **calls}, rounds)
    ratio = taken[""].fastest / taken[winner].fastest
    steps = expression.steps(matrix)
    mine = next(c.schedule for c in found if c.chosen) if len(steps) == 1 else " then ".join(steps)
    print(
        f"  {expression.title:<16} {ratio:5.2f}x of the best of {len(found):4d}: {1e6 * taken[''].fastest:9.1f} us, "
        f"{time.perf_counter() - start:5.1f} s"
        + (f"\n     chosen {mine}\n     best   {winner}" if ratio > _BARS[0] else ""),
        flush=True,
    )
    return {
        "expression": expression.title,
        "matrix": matrix.name,
        "ratio": ratio,
        "ratio of medians": taken[""].median / taken[winner].median,
        "candidates": len(found),
        "stopped": sum(t.seconds == float("inf") for t in times),
        "chosen": mine,
        "best": winner or mine,
        "seconds": taken[""].fastest,
        "conversion_seconds": expression.conversion_seconds(matrix, mine),
    }


def _compare(runs: dict[str, Any], rounds: int) -> tuple[dict[str, Times], str]:
    """Times candidates in turns, and what seems slower than it may be again: others use this machine too."""
    calls = {name: Call(run) for name, run in runs.items()}
    taken = interleaved(calls, rounds)
    for again in range(_AGAIN):
        winner = min(calls, key=lambda name: taken[name].fastest)
        if taken[""].fastest < _DOUBT * taken[winner].fastest:
            break
        more = interleaved({name: calls[name] for name in {"", winner}}, 2 * rounds, seed=again + 1)
        for name, times in more.items():
            taken[name] = min(taken[name], times, key=lambda t: t.fastest)
    return taken, min(calls, key=lambda name: taken[name].fastest)


def _explore(expression: Expression, matrix: Matrix, right: Any, best: float) -> tuple[list[Candidate], list[Screened]]:
    """Times one schedule an order, then every other schedule of the orders that were not much slower than the best."""
    every = candidates.enumerate_all(expression, matrix)
    found = candidates.compiled(expression, matrix, [c for c in every if c.plain])
    times = candidates.screen([c.run for c in found if c.run], right, best)
    _refuse(expression, matrix, found, times)
    fastest = min([best, *(t.seconds for t in times)])
    near = {c.order for c, t in zip(found, times, strict=True) if t.seconds <= _NEAR * fastest}
    rest = candidates.compiled(expression, matrix, [c for c in every if not c.plain and c.order in near])
    more = candidates.screen([c.run for c in rest if c.run], right, fastest)
    _refuse(expression, matrix, rest, more)
    return found + rest, times + more


def _refuse(expression: Expression, matrix: Matrix, found: list[Candidate], times: list[Screened]) -> None:
    wrong = [c.schedule for c, t in zip(found, times, strict=True) if not t.right]
    if wrong:
        raise SystemExit(f"{expression.title} on {matrix.name}: these compute something else: {wrong}")


def _exact(expression: Expression, matrix: Matrix, *, absolute: bool = False) -> Any:
    """The result in float64, or that of absolute values, which rounding is relative to."""
    return expression.in_double(matrix, absolute=absolute).automatic()()


def _summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    out: dict[str, Any] = {}
    print("\nthe choice's time over the best candidate's, on one thread")
    for title in [*dict.fromkeys(row["expression"] for row in rows), "all"]:
        ratios = [row["ratio"] for row in rows if title in (row["expression"], "all")]
        out[title] = {"geomean": geomean(ratios), "worst": max(ratios)}
        print(f"  {title:<16} geometric mean {out[title]['geomean']:.2f}, worst {out[title]['worst']:.2f}")
    print(f"  bars: geometric mean {_BARS[0]}, worst {_BARS[1]}")
    return out
