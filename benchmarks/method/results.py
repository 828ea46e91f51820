"""Results: rows of measurements as JSON, and the tables that are made of them."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .timing import Times, geomean

OURS = "libsparse"
# The time that ratios are over: the first of these that measured a row.
BASES = (
    "torch int32 CSR",
    "torch COO",
    "expert torch",
    "torch SDPA, dense mask",
    "torch gather/scatter",
    "SciPy (1 thread)",
)
Row = dict[str, Any]


def times(taken: Times) -> dict[str, Any]:
    """A candidate's times for JSON; four digits are more than any clock here has."""
    shown = {name: float(f"{getattr(taken, name):.4g}") for name in ("median", "low", "high", "fastest")}
    return {**shown, "samples": [float(f"{s:.4g}") for s in taken.samples]}


def base(row: Row) -> str | None:
    """The candidate that the row's ratios are over."""
    return next((title for title in BASES if title in row["peers"]), None)


def is_ours(title: str) -> bool:
    """Whether a candidate is a build of this project."""
    return title == OURS or title.startswith(OURS + " ")


def best_peer(row: Row) -> str | None:
    """The fastest of the others."""
    others = [title for title in row["peers"] if not is_ours(title)]
    return min(others, key=lambda title: row["peers"][title]["median"], default=None)


def ratio(row: Row, title: str, other: str) -> float:
    """How many times as fast `title` is as `other`."""
    found: float = row["peers"][other]["median"] / row["peers"][title]["median"]
    return found


def label(row: Row) -> str:
    """What was measured, without the matrix."""
    width = f" {row['width']}" if row["width"] else ""
    new = ", new operands" if row["new"] else ""
    return f"{row['title']}{width}{new}, {row['dtype']}, {row['threads']} thread{'s' * (row['threads'] != 1)}"


def line(row: Row) -> str:
    """A row as one line of a running report."""
    shown = f"  {row['family'] + '/' + row['matrix']:<44.44}"
    reference, best = base(row), best_peer(row)
    if OURS not in row["peers"]:
        return shown + "  not by libsparse: " + row["failed"].get(OURS, "")
    own = row["peers"][OURS]
    shown += f" {1e3 * own['median']:9.3f} ms +-{50 * (own['high'] - own['low']) / own['median']:3.0f} %"
    if reference:
        shown += f"  {ratio(row, OURS, reference):6.2f} x {reference}"
    if best and best != reference:
        shown += f"  {ratio(row, OURS, best):6.2f} x {best}"
    if row.get("bound"):
        shown += f"  {100 * row['bound'] / own['median']:4.0f} % of the bound"
    return shown


def summary(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """For each kernel: every candidate over the base and over the best peer, geometric mean and worst matrix."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(label(row), []).append(row)
    return [_group(name, group) for name, group in groups.items()]


def _group(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    titles = dict.fromkeys(title for row in rows for title in row["peers"])
    out: dict[str, Any] = {"what": name, "matrices": len(rows), "over base": {}, "over best peer": {}}
    for title in titles:
        measured = [row for row in rows if title in row["peers"]]
        based = [row for row in measured if base(row)]
        if based:
            out["over base"][title] = _statistics(based, {id(r): ratio(r, title, base(r)) for r in based}, base)
        if is_ours(title):
            rivals = [row for row in measured if best_peer(row)]
            ratios = {id(r): ratio(r, title, best_peer(r)) for r in rivals}
            if rivals:
                out["over best peer"][title] = _statistics(rivals, ratios, best_peer)
            bounded = [row["bound"] / row["peers"][title]["median"] for row in measured if row.get("bound")]
            if bounded:
                out.setdefault("of the bound", {})[title] = geomean(bounded)
    return out


def _statistics(rows: Sequence[Row], ratios: Mapping[int, float], other: Any) -> dict[str, Any]:
    worst = min(rows, key=lambda row: ratios[id(row)])
    return {
        "geomean": geomean(list(ratios.values())),
        "worst": ratios[id(worst)],
        "worst matrix": worst["matrix"],
        "against": other(worst),
        "matrices": len(rows),
    }


def table(groups: Iterable[dict[str, Any]]) -> str:
    """A summary for people."""
    out = []
    for group in groups:
        out.append(f"{group['what']}: {group['matrices']} matrices")
        for title, found in sorted(group["over base"].items(), key=lambda item: -item[1]["geomean"]):
            out.append(
                f"  {title:<34} {found['geomean']:7.2f} x torch, worst {found['worst']:6.2f} on {found['worst matrix']}"
                + (f" ({found['matrices']} matrices)" if found["matrices"] != group["matrices"] else "")
            )
        for title, found in group["over best peer"].items():
            out.append(
                f"  {title + ' over the best peer of each':<34} {found['geomean']:7.2f},         "
                f"worst {found['worst']:6.2f} on {found['worst matrix']} ({found['against']})"
            )
        for title, share in group.get("of the bound", {}).items():
            out.append(f"  {title}: {100 * share:.0f} % of the roofline")
    return "\n".join(out)


def save(folder: Path, results: Mapping[str, Any], name: str | None = None) -> Path:
    """Writes results as JSON into `folder`, under the time they were made unless there is a name."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / (name or time.strftime("%Y%m%d-%H%M%S.json"))
    path.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    return path
