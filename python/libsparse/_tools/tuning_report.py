"""What `tune` has tried, and what won and why: as text, and as HTML in a notebook."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from libsparse._lang.records import NamedTuple

from . import pages
from .limits import Limit, duration
from .trials import Subject, Trial

_SHOWN = 5  # trials, the best
_WIDTH, _HEIGHT = 60, 8  # characters of the plot
_FLAT = 0.99  # best ratios of which no plot is drawn


class Tuned(NamedTuple):
    """A computation that was tuned.

    Attributes:
        expression: The computation.
        formats: The shapes and formats of its operands.
        trials: What was tried, in its order; the first is the compiler's schedule.
        winner: The trial that is used from now on; None where the compiler's schedule stays.
        default: The time of a call with the compiler's schedule, the median of the last comparison.
        best: The same with the winner, or with the best that was not better beyond doubt.
        bound: The least time that the machine could take; None where nothing was tried.
        converted_bytes: The memory of patterns that the winner reads in place of operands' own.
        converted_seconds: The time that it takes to convert them, once for each pattern.
        space: What was searched, in words.
        reason: Why nothing was tried.
        stopped: Whether Ctrl-C ended it.
        seconds: The time that the search took, with what it looked at and compiled.
    """

    expression: str
    formats: str
    trials: Sequence[Trial]
    winner: Trial | None
    default: float
    best: float
    bound: Limit | None
    converted_bytes: int = 0
    converted_seconds: float = 0.0
    space: str = ""
    reason: str = ""
    stopped: bool = False
    seconds: float = 0.0

    @classmethod
    def left(cls, subject: Subject, reason: str) -> Tuned:
        """A computation that is left as it is."""
        return cls(subject.problem.text, "", [], None, subject.seconds, subject.seconds, None, reason=reason)

    @property
    def speedup(self) -> float:
        """How much faster calls are now."""
        return self.default / self.best if self.winner else 1.0

    @property
    def changed(self) -> str:
        """The parameters in which the winner differs from the compiler's schedule."""
        if self.winner is None:
            return ""
        before, after = self.trials[0].point, self.winner.point
        return ", ".join(f"{name} {before[name]} -> {after[name]}" for name in before if before[name] != after[name])

    def __str__(self) -> str:
        """An account."""
        before, after = duration(self.default), duration(self.best)
        if self.reason:
            return f"{self.expression}: left as it is, {before}: {self.reason}"
        failed = sum(t.ratio is None for t in self.trials)
        lines = [f"{self.expression} on {self.formats}", f"{len(self.trials)} measured, {failed} of them failed"]
        if self.space:
            lines.append(f"searched: {self.space}")
        if self.winner is None:
            lines.append(
                f"the compiler's schedule stays: {before}; the best other one takes {after}, in too few rounds less"
            )
        else:
            lines.append(f"{self.speedup:.2f} times faster: {after} in place of {before}, medians of calls in turn")
            lines += [f"  schedule: {self.winner.schedule}", f"  changed: {self.changed}"]
        gained = max(self.default - self.best, 1e-12)
        if self.converted_seconds:
            spent = f"{duration(self.converted_seconds)}, {self.converted_bytes / 2**20:.3g} MiB"
            calls = self.converted_seconds / gained
            lines.append(f"  converted once a pattern: {spent}; earned back after {calls:.0f} calls")
        if self.seconds and self.winner is not None:
            calls = (self.seconds + self.converted_seconds) / gained
            lines.append(f"  searched in {duration(self.seconds)}; all earned back after {calls:.0f} calls")
        if self.bound is not None:
            least, now = self.bound.seconds, self.best if self.winner else self.default
            lines.append(f"at best {duration(least)}: {self.bound}")
            lines.append(f"this was {least / self.default:.1%} of the machine's limit, and is {least / now:.1%} now")
        return "\n".join([*lines, *_plot(self.trials), *_best(self.trials)])


class Report(tuple[Tuned, ...]):
    """What `tune` did, a `Tuned` for each computation; prints as text, shows as HTML in a notebook."""

    __slots__ = ()

    def __str__(self) -> str:
        """An account of each."""
        return "\n\n".join(map(str, self))

    def __repr__(self) -> str:
        """The same, so that a prompt shows it readably."""
        return str(self)

    def _repr_html_(self) -> str:
        return pages.page(part for found in self for part in (pages.block(str(found)), _svg(found.trials)))


def _so_far(trials: Sequence[Trial]) -> list[float]:
    """The best ratio up to each trial."""
    return list(itertools.accumulate((t.ratio if t.ratio is not None else 1.0 for t in trials), min))


def _plot(trials: Sequence[Trial]) -> list[str]:
    """The best so far, as a plot of characters."""
    best = _so_far(trials)
    if len(best) < 2 or best[-1] > _FLAT:
        return []
    columns = [best[n * len(best) // min(_WIDTH, len(best))] for n in range(min(_WIDTH, len(best)))]
    columns[-1] = best[-1]
    span = 1 - best[-1]
    rows = []
    for row in range(_HEIGHT):
        level = 1 - span * row / (_HEIGHT - 1)
        marks = "".join("*" if abs(round((1 - c) / span * (_HEIGHT - 1)) - row) < 1 else " " for c in columns)
        rows.append(f"{level:6.2f} |{marks}")
    return ["time of the best so far, in times the compiler's, by measurement:", *rows]


def _best(trials: Sequence[Trial]) -> list[str]:
    """The best trials."""
    measured = sorted((t for t in trials if t.ratio is not None), key=lambda t: t.ratio or 0.0)
    return ["the best:", *(f"  {t.ratio:.3f}  {t.schedule}" for t in measured[:_SHOWN])] if measured else []


def _svg(trials: Sequence[Trial]) -> str:
    """The same plot for notebooks: measurements as dots, the best so far as a line."""
    best = _so_far(trials)
    if len(best) < 2:
        return ""
    width, height, left, top = 480, 170, 40, 2.0

    def at(number: float, ratio: float) -> tuple[float, float]:
        return (
            left + (width - left - 10) * number / (len(best) - 1),
            height - 35 - (height - 50) * min(ratio, top) / top,
        )

    def text(x: float, y: float, anchor: str, words: str) -> str:
        return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="11" fill="currentColor">{words}</text>'

    marks, (right, _) = [], at(len(best) - 1, 0)
    for ratio in (0.0, 1.0, top):
        y = at(0, ratio)[1]
        marks.append(f'<path d="M{left} {y:.1f}H{right:.1f}" stroke="gray" stroke-dasharray="{2 if ratio else 0}"/>')
        marks.append(text(left - 5, y + 4, "end", f"{ratio:g}"))
    marks.append(text(left, height - 18, "middle", "1"))
    marks.append(text(right, height - 18, "end", f"{len(best)}"))
    marks.append(text((left + right) / 2, height - 18, "middle", "measurement"))
    legend = "times, in those of the compiler's schedule (more than 2 as 2); the line is the best so far"
    marks.append(text(0, height - 3, "start", legend))
    for number, trial in enumerate(trials):
        if trial.ratio is not None:
            x, y = at(number, trial.ratio)
            marks.append(f'<circle r="3" fill="gray" cx="{x:.1f}" cy="{y:.1f}"/>')
    line = " ".join("{:.1f},{:.1f}".format(*at(n, r)) for n, r in enumerate(best))
    marks.append(f'<polyline fill="none" stroke="currentColor" stroke-width="2" points="{line}"/>')
    return f'<svg width="{width}" height="{height}" role="img" aria-label="{legend}">{"".join(marks)}</svg>'
