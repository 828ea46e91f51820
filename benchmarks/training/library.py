"""Schedules that are measured on many patterns: single steps from the compiler's, and several at once.

Each is compiled once, since sizes are arguments of kernels.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

Changes = dict[str, str]

_STRIPS = {"16", "256", "4096"}  # lengths that are kept: each is a kernel of its own
_COMBINED = 150  # of several steps
_SINGLE, _SEVERAL = 12, 24  # that are measured on one pattern that is trained on
_MANY = 3  # times as many on those that are held out, by which models are judged


class Library:
    """The schedules of one computation, by the values of parameters in which they differ from the compiler's."""

    def __init__(self, name: str, changes: str = "") -> None:
        """Begin without any.

        Args:
            name: The computation.
            changes: A regular expression that a parameter of each schedule matches, written as name=value.
        """
        self._draw, self._changes = random.Random(name), re.compile(changes)
        self._singles: dict[str, list[Changes]] = {}  # by the parameter
        self._combined: list[Changes] = []
        self._known: set[str] = set()

    def learn(self, moves: Sequence[Changes]) -> None:
        """Takes the steps that a pattern offers: some know formats that others don't."""
        new = [m for m in moves if str(m) not in self._known and _kept(m)]
        self._known.update(map(str, new))
        for m in new:
            self._singles.setdefault(next(iter(m)), []).append(m)
        if not new:
            return
        begun = [m for m in new if self._wanted(m)]
        for _ in range(_COMBINED * len(begun) // len(self._known)):
            first = self._draw.choice(begun)
            others = [group for group in self._singles if group not in first]
            groups = self._draw.sample(others, min(len(others), self._draw.choice([1, 1, 2])))
            chosen = [first, *(self._draw.choice(self._singles[group]) for group in groups)]
            self._combined.append({name: text for m in chosen for name, text in m.items()})

    def some(self, moves: Sequence[Changes], seed: str, *, many: bool) -> list[Changes]:
        """Those for one pattern: steps that it offers, of each parameter about as many, and combinations."""
        draw, times = random.Random(seed), _MANY if many else 1
        offered = {name for m in moves for name in m.items()}
        groups = {
            g: [m for m in ms if set(m.items()) <= offered and self._wanted(m)] for g, ms in self._singles.items()
        }
        turns = [draw.sample(ms, len(ms)) for ms in groups.values() if ms]
        draw.shuffle(turns)
        longest = max(map(len, turns), default=0)
        singles = [ms[n] for n in range(longest) for ms in turns if n < len(ms)][: times * _SINGLE]
        fitting = [c for c in self._combined if set(c.items()) <= offered]
        return singles + draw.sample(fitting, min(len(fitting), times * _SEVERAL))

    def _wanted(self, move: Changes) -> bool:
        return any(self._changes.search(f"{name}={text}") for name, text in move.items())


def _kept(move: Changes) -> bool:
    strips = [text for name, text in move.items() if name.startswith("strip_") and not name.startswith("strip_at_")]
    return all(text in _STRIPS for text in strips)
