"""Timing that survives a shared machine: candidates take turns in random order, and medians are compared in one run."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

TURN_SECONDS = 2e-3  # a turn is as many calls as take about this long
_MOST_CALLS = 2000
_WARM_SECONDS, _WARM_CALLS = 0.15, 200  # of each candidate beforehand: libraries may adapt to operands that come again
_MEASURE_SECONDS, _FEWEST_ROUNDS = 20.0, 5  # slow candidates get fewer rounds, down to these


class Timed(Protocol):
    """A candidate: it runs its call several times and says how long one took."""

    def turn(self, count: int) -> float:
        """Seconds a call, over `count` calls."""


class Call:
    """A candidate in this process.

    Args:
        run: The call that is timed. It takes what `fresh` returns, where that is given.
        fresh: Makes new operands for each call, outside of the time.
    """

    def __init__(self, run: Callable[..., object], fresh: Callable[[], Any] | None = None) -> None:
        self.run, self.fresh = run, fresh

    def once(self) -> Any:
        """The result of a call."""
        return self.run(self.fresh()) if self.fresh else self.run()

    def turn(self, count: int) -> float:
        """See `Timed`."""
        run, fresh = self.run, self.fresh
        if count > 1:  # wakes the threads, and brings back what others' turns have driven out of the caches
            self.once()
        if fresh is None:
            start = time.perf_counter()
            for _ in range(count):
                run()
            return (time.perf_counter() - start) / count
        spent = 0.0
        for _ in range(count):
            operands = fresh()
            start = time.perf_counter()
            run(operands)
            spent += time.perf_counter() - start
        return spent / count


class Times(NamedTuple):
    """Seconds a call: the median of each round's turn, its quartiles, and the samples themselves, one a round."""

    median: float
    low: float
    high: float
    fastest: float
    samples: list[float]

    @property
    def spread(self) -> float:
        """The interquartile range over the median."""
        return (self.high - self.low) / self.median


def summarise(samples: Sequence[float]) -> Times:
    """The statistics of one candidate's turns."""
    low, median, high = statistics.quantiles(samples, n=4, method="inclusive") if len(samples) > 1 else [*samples] * 3
    return Times(median, low, high, min(samples), list(samples))


def interleaved(calls: Mapping[str, Timed], rounds: int, seed: int = 0) -> dict[str, Times]:
    """Seconds a call of each candidate.

    Every round gives each candidate one turn, in an order drawn anew. Sample i of all candidates is from round i, so
    that what disturbed the machine then disturbed them alike.

    Args:
        calls: What to measure, by name.
        rounds: Turns of each candidate, at most.
        seed: Of the order of turns.
    """
    counts: dict[str, int] = {}
    total = 0.0
    for name, call in calls.items():
        call.turn(1)  # compiles, fills caches
        once = max(call.turn(1), 1e-7)
        call.turn(max(1, min(_WARM_CALLS, int(_WARM_SECONDS / once))))
        once = max(call.turn(max(1, min(_WARM_CALLS // 4, int(TURN_SECONDS / once)))), 1e-7)
        counts[name] = max(1, min(_MOST_CALLS, int(TURN_SECONDS / once)))
        total += once * counts[name]
    rounds = min(rounds, max(_FEWEST_ROUNDS, int(_MEASURE_SECONDS / max(total, 1e-7))))
    order, taken = random.Random(seed), {name: [] for name in calls}
    for number in range(rounds + 1):
        for name in order.sample(list(calls), len(calls)):
            seconds = calls[name].turn(counts[name])
            if number:  # the first round warms up
                taken[name].append(seconds)
    return {name: summarise(samples) for name, samples in taken.items()}


def geomean(numbers: Sequence[float]) -> float:
    """Geometric mean."""
    return statistics.geometric_mean(numbers)
