"""How well a model orders the schedules of problems that it has not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .dataset import Dataset

_LEAST = 8  # schedules of a problem that is scored
_SURE = 0.03  # of a logarithm to base 2, that a schedule has to be expected to gain to be taken without being measured


def scores(data: Dataset, problems: NDArray[np.bool_], predicted: NDArray[np.float64]) -> dict[str, dict[str, float]]:
    """For each kernel and all together.

    Returns:
        spearman: The mean rank correlation of the schedules of a problem.
        top1, top10: The time of the fastest of those that the model finds the most promising, over that of the fastest.
        tuned: The compiler's time over that of the fastest among the ten and the compiler's.
        best: The same of all that were measured.
        cold: The compiler's time over that of what would be taken without measuring anything, of schedules that convert
            nothing.
        problems: How many there are.
    """
    found: dict[str, list[tuple[float, ...]]] = {}
    plain = data.plain()
    for number in np.flatnonzero(problems):
        rows = data.problem == number
        if rows.sum() >= _LEAST:
            one = (*_of_problem(data.slowdown[rows], predicted[rows]), _cold(data, rows & plain, predicted))
            for title in (data.kernels[number], "all"):
                found.setdefault(title, []).append(one)
    return {title: _mean(found[title]) for title in sorted(found)}


def _of_problem(slowdown: NDArray[Any], predicted: NDArray[Any]) -> tuple[float, ...]:
    from scipy.stats import spearmanr

    correlation = float(spearmanr(slowdown, predicted).statistic) if np.ptp(predicted) > 0 else 0.0
    order, least = np.argsort(predicted, kind="stable"), float(slowdown.min())
    first, ten = float(slowdown[order[0]]), float(slowdown[order[:10]].min())
    return correlation, first - least, ten - least, -min(ten, 0.0), -min(least, 0.0)


def _cold(data: Dataset, rows: NDArray[np.bool_], predicted: NDArray[np.float64]) -> float:
    """What is gained by the schedule that is expected to be the fastest, where the compiler's is not taken."""
    at = np.flatnonzero(rows)[np.argmin(predicted[rows])]
    return -float(data.slowdown[at]) if predicted[at] < -_SURE else 0.0


def _mean(rows: list[tuple[float, ...]]) -> dict[str, float]:
    correlation, *logarithms = np.mean(rows, axis=0)
    names = ("top1", "top10", "tuned", "best", "cold")
    found = {name: float(2**x) for name, x in zip(names, logarithms, strict=True)}
    return {"spearman": float(correlation), **found, "problems": len(rows)}
