"""Few combinations of parameters that take part in what is tested two at a time."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any


def pairs(*axes: Sequence[Any]) -> list[tuple[Any, ...]]:
    """Combinations in which each value of an axis meets each value of every other axis."""
    couples = list(itertools.combinations(range(len(axes)), 2))
    every = [tuple(enumerate(places)) for places in itertools.product(*(range(len(axis)) for axis in axes))]

    def met(combination: Sequence[tuple[int, int]]) -> set[Any]:
        return {(combination[a], combination[b]) for a, b in couples}

    missing = set().union(*map(met, every))
    found = []
    while missing:
        best = max(every, key=lambda combination: len(met(combination) & missing))
        missing -= met(best)
        found.append(tuple(axes[axis][place] for axis, place in best))
    return found
