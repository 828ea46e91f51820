"""Draws results: the profile of speed-ups over matrices, and the roofline.

python benchmarks/run.py plot RESULTS.json FOLDER     one profile and one roofline for each kernel and number of threads

A profile says for each candidate on what share of the matrices it is at least so many times as fast as the base. In a
roofline each point is a matrix: what libsparse and the best peer of it reach, over operations for each byte.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import results

_SHOWN = 8  # candidates of a profile, the fastest ones


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py plot", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", help="what a run has written")
    parser.add_argument("folder", help="where the pictures go")
    options = parser.parse_args(arguments)
    try:
        import matplotlib as mpl
    except ImportError:
        parser.error("matplotlib is not there: make bench-peers")
    mpl.use("Agg")
    found = json.loads(Path(options.results).read_text(encoding="utf-8"))
    folder = Path(options.folder)
    folder.mkdir(parents=True, exist_ok=True)
    groups: dict[str, list[results.Row]] = {}
    for suite in ("kernels", "models"):
        for row in found.get(suite, {}).get("rows", []):
            groups.setdefault(results.label(row), []).append(row)
    rooflines = found.get("kernels", {}).get("rooflines", {})
    drawn = 0
    for name, rows in groups.items():
        file = file_name(name)
        drawn += profile(name, rows, folder / f"profile-{file}.png")
        drawn += roofline(name, rows, rooflines, folder / f"roofline-{file}.png")
    print(f"{drawn} pictures in {folder}")
    return 0


def file_name(label: str) -> str:
    """A label as a part of a file's name."""
    return re.sub(r"\W+", "-", label).strip("-").lower()


def profile(name: str, rows: Sequence[results.Row], path: Path) -> int:
    """Draws on what share of the matrices each candidate is at least so many times as fast as the base; 1 if it did."""
    rows = [row for row in rows if results.base(row)]
    titles = dict.fromkeys(title for row in rows for title in row["peers"])
    speeds = {
        title: sorted(results.ratio(row, title, results.base(row)) for row in rows if title in row["peers"])
        for title in titles
    }
    speeds = {title: found for title, found in speeds.items() if len(found) > 1}
    if not speeds:
        return 0
    ranked = sorted(speeds, key=lambda title: (not results.is_ours(title), -speeds[title][len(speeds[title]) // 2]))
    drawn, axes = figure(name)
    for title in ranked[:_SHOWN]:
        own = speeds[title]
        shares = [1 - number / len(own) for number in range(len(own))]
        width = 2.5 if results.is_ours(title) else 1.2
        axes.step([own[0], *own], [1, *shares], where="pre", label=title, linewidth=width)
    axes.set_xscale("log", base=2)
    axes.axvline(1, color="grey", linewidth=0.6)
    axes.set(xlabel=f"times as fast as {results.base(rows[0])}", ylabel="share of the matrices", ylim=(0, 1.02))
    return save(drawn, axes, path)


def roofline(name: str, rows: Sequence[results.Row], rooflines: Mapping[str, Any], path: Path) -> int:
    """Draws each matrix as a point below what the machine allows; 1 if it did."""
    rows = [row for row in rows if row.get("flops") and results.OURS in row["peers"]]
    if len(rows) < 2 or str(rows[0]["threads"]) not in rooflines:
        return 0
    machine = rooflines[str(rows[0]["threads"])]
    drawn, axes = figure(name)
    intensity = [row["flops"] / row["bytes"] for row in rows]
    span = [min(intensity) / 2, max(intensity) * 2]
    for level, bandwidths in machine["GB/s"].items():
        corner = machine["GF/s"] / bandwidths["read"]
        at = sorted({*span, min(max(corner, span[0]), span[1])})
        roof = [min(x * bandwidths["read"], machine["GF/s"]) for x in at]
        axes.plot(at, roof, linewidth=0.8, color="grey")
        axes.annotate(f"{level} {bandwidths['read']:.0f} GB/s", (at[0], roof[0]), fontsize=7)
    for title, marker in (("best peer", "x"), (results.OURS, "o")):
        points = _points(rows, title)
        axes.scatter(*zip(*points, strict=True), marker=marker, s=18, label=title)
    axes.set(xscale="log", yscale="log", xlabel="operations a byte, each operand once", ylabel="GF/s")
    return save(drawn, axes, path)


def _points(rows: Sequence[results.Row], title: str) -> list[tuple[float, float]]:
    """Operations a byte and billions of operations a second of each row; of the best peer where that is the title."""
    chosen = ((row, title if title in row["peers"] else results.best_peer(row)) for row in rows)
    return [(r["flops"] / r["bytes"], r["flops"] / r["peers"][who]["median"] / 1e9) for r, who in chosen if who]


def figure(title: str, height: float = 4.5) -> tuple[Any, Any]:
    """A figure with one pair of axes."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(7, height), layout="constrained")
    axes = drawn.subplots()
    axes.set_title(title, fontsize=10)
    return drawn, axes


def save(drawn: Any, axes: Any, path: Path, *, below: bool = False) -> int:
    """Writes a figure, with a grid and a legend, inside of the axes or below them."""
    axes.grid(visible=True, which="major", linewidth=0.3)
    if below:
        drawn.legend(fontsize=7, loc="outside lower center", ncols=3)
    else:
        axes.legend(fontsize=7, loc="best", framealpha=0.7)
    drawn.savefig(path, dpi=120)
    return 1
