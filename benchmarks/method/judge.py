"""Compares two runs, or two builds within one run, and says which differences are more than chance.

python benchmarks/run.py judge BEFORE.json AFTER.json     two runs, each with libsparse and its peers
python benchmarks/run.py judge RUN.json                   the builds of a run with --versus

Within a run the samples of both builds are compared, round by round. Between runs the machine may have changed: there
each sample of libsparse is divided by what the base (torch, as a rule) took in the same round. The test of a row is
Mann and Whitney's, of whether samples of one tend to be larger. Its p values are adjusted by Holm's method, since among
many rows some differ by chance. A row is slower if p is below the level and the medians differ by more than the
threshold. The exit status is 1 if any is.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from scipy.stats import mannwhitneyu

from . import results
from .timing import geomean

_DRAWS = 1000  # of the bootstrap


class Verdict(NamedTuple):
    """One row compared: how many times as long it takes after, with a 95 % interval, and how likely that is chance."""

    what: str
    ratio: float
    low: float
    high: float
    p: float


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("before", help="results of the older build, or of a run with --versus")
    parser.add_argument("after", nargs="?", help="results of the newer build")
    parser.add_argument("--level", type=float, default=0.01, help="of significance (default .01)")
    parser.add_argument("--threshold", type=float, default=0.05, help="differences that don't matter (default .05)")
    parser.add_argument("--absolute", action="store_true", help="seconds of two runs, not divided by the base's")
    options = parser.parse_args(arguments)
    pairs = _between(options) if options.after else _within(_rows(options.before))
    verdicts = judge([(what, before, after) for what, before, after in pairs])
    if not verdicts:
        parser.error("no row is in both, or the run has one build only")
    return report(verdicts, options.level, options.threshold)


def judge(pairs: Sequence[tuple[str, Sequence[float], Sequence[float]]]) -> list[Verdict]:
    """Compares samples before and after, row by row."""
    raw = [float(mannwhitneyu(after, before, alternative="two-sided").pvalue) for _, before, after in pairs]
    order = sorted(range(len(raw)), key=raw.__getitem__)
    adjusted, largest = [0.0] * len(raw), 0.0
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, raw[index] * (len(raw) - rank)))
        adjusted[index] = largest
    return [Verdict(what, *_ratio(before, after), p) for (what, before, after), p in zip(pairs, adjusted, strict=True)]


def _ratio(before: Sequence[float], after: Sequence[float]) -> tuple[float, float, float]:
    """The ratio of the medians, and the interval that holds 95 % of what resampling both gives."""
    drawn = random.Random(0)
    found = sorted(
        statistics.median(drawn.choices(after, k=len(after))) / statistics.median(drawn.choices(before, k=len(before)))
        for _ in range(_DRAWS)
    )
    return statistics.median(after) / statistics.median(before), found[_DRAWS // 40], found[-_DRAWS // 40]


def report(verdicts: Sequence[Verdict], level: float, threshold: float) -> int:
    """Prints what changed; 1 where something became slower."""
    changed = [v for v in verdicts if v.p < level and abs(v.ratio - 1) > threshold]
    for verdict in sorted(changed, key=lambda v: -v.ratio):
        print(
            f"{'SLOWER' if verdict.ratio > 1 else 'faster'}  {verdict.ratio:6.2f} of the time "
            f"[{verdict.low:.2f}, {verdict.high:.2f}], p {verdict.p:.1g}  {verdict.what}"
        )
    slower = sum(v.ratio > 1 for v in changed)
    print(
        f"{len(verdicts)} rows: {slower} slower, {len(changed) - slower} faster, {len(verdicts) - len(changed)} alike; "
        f"geometric mean of the time {geomean([v.ratio for v in verdicts]):.3f}"
    )
    return int(slower > 0)


def _rows(path: str) -> list[results.Row]:
    found = json.loads(Path(path).read_text(encoding="utf-8"))
    return [row for suite in ("kernels", "models") for row in found.get(suite, {}).get("rows", [])]


def _within(rows: Sequence[results.Row]) -> Iterator[tuple[str, list[float], list[float]]]:
    for row in rows:
        other = next((title for title in row["peers"] if results.is_ours(title) and title != results.OURS), None)
        if other and results.OURS in row["peers"]:
            yield results.key(row), row["peers"][other]["samples"], row["peers"][results.OURS]["samples"]


def _between(options: Any) -> Iterator[tuple[str, list[float], list[float]]]:
    after = {results.key(row): row for row in _rows(options.after)}
    for row in _rows(options.before):
        other = after.get(results.key(row))
        if other and all(results.OURS in r["peers"] for r in (row, other)):
            reference = None if options.absolute else _common_base(row, other)
            yield results.key(row), _samples(row, reference), _samples(other, reference)


def _common_base(row: results.Row, other: results.Row) -> str | None:
    return next((title for title in results.BASES if title in row["peers"] and title in other["peers"]), None)


def _samples(row: results.Row, reference: str | None) -> list[float]:
    own: list[float] = row["peers"][results.OURS]["samples"]
    if reference is None:
        return own
    return [mine / theirs for mine, theirs in zip(own, row["peers"][reference]["samples"], strict=True)]
