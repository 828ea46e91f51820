"""Results: rows of measurements as JSON, and tables of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .timing import Times, geomean, summarise

OURS = "libsparse"
# The time that ratios are over: the first of these that measured a row.
BASES = (
    "torch int32 CSR",
    "torch COO",
    "expert torch",
    "torch SDPA, dense mask",
    "torch gather/scatter",
    "torch.sparse",
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


def merged(rows: Sequence[Row]) -> list[Row]:
    """The rows with those of the same measurement in other processes put together."""
    found: dict[str, Row] = {}
    for row in rows:
        first = found.setdefault(key(row), row)
        if first is row:
            continue
        for title, own in row["peers"].items():
            samples = first["peers"].get(title, own)["samples"] + (own["samples"] if title in first["peers"] else [])
            first["peers"][title] = {**own, **times(summarise(samples))}
        first["failed"] |= row["failed"]
        first["wrong"] |= row["wrong"]
    return list(found.values())


def key(row: Row) -> str:
    """What a row has in common with that of the same measurement in another run."""
    return f"{label(row)}, {row['family']}/{row['matrix']}"


def summary(rows: Sequence[Row], beside: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """For each kernel and each candidate geometric means and worst matrices.

    Args:
        rows: What was measured.
        beside: Kernels that should take little longer than another one, which is their value.
    """
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(label(row), []).append(row)
    found = [_group(name, group) for name, group in groups.items()]
    for own, group in zip(found, groups.values(), strict=True):
        own |= _relatives(group, rows, beside or {})
    return found


def _group(name: str, rows: Sequence[Row]) -> dict[str, Any]:
    titles = dict.fromkeys(title for row in rows for title in row["peers"])
    out: dict[str, Any] = {"what": name, "matrices": len(rows), "over base": {}, "ours over": {}, "over best peer": {}}
    for title in titles:
        measured = [row for row in rows if title in row["peers"]]
        based = [(row, ratio(row, title, base(row))) for row in measured if base(row)]
        out["over base"][title] = _statistics(based, base)
        if is_ours(title):
            rivals = [(row, ratio(row, title, best_peer(row))) for row in measured if best_peer(row)]
            out["over best peer"][title] = _statistics(rivals, best_peer)
        else:
            both = [(row, ratio(row, OURS, title)) for row in measured if OURS in row["peers"]]
            out["ours over"][title] = _statistics(both, lambda _, title=title: title)
    return out


def _relatives(group: Sequence[Row], rows: Sequence[Row], beside: Mapping[str, str]) -> dict[str, Any]:
    """How near ours is to the roofline, to the kernel beside it, and to one thread."""
    own = [row for row in group if OURS in row["peers"]]
    bounded = [(row, row["bound"] / row["peers"][OURS]["median"]) for row in own if row.get("bound")]
    large = [(row, share) for row, share in bounded if row["beyond L2"]]
    other = beside.get(group[0]["kernel"]) if not group[0]["new"] else None
    relative, single = [], []
    for row in own:
        for near in rows:
            if OURS in near["peers"] and all(near[k] == row[k] for k in ("matrix", "family", "width", "dtype", "new")):
                seconds = row["peers"][OURS]["median"], near["peers"][OURS]["median"]
                if near["kernel"] == other and near["threads"] == row["threads"]:
                    relative.append((row, seconds[1] / seconds[0]))
                if near["kernel"] == row["kernel"] and near["threads"] == 1 < row["threads"]:
                    single.append((row, seconds[1] / seconds[0]))
    return {
        "of the roofline": _statistics(bounded),
        "of the roofline, larger than L2": _statistics(large),
        f"speed over {other}": _statistics(relative),
        "speed over one thread": _statistics(single),
    }


def _statistics(ratios: Sequence[tuple[Row, float]], other: Callable[[Row], Any] = lambda _: None) -> dict[str, Any]:
    if not ratios:
        return {}
    worst, least = min(ratios, key=lambda pair: pair[1])
    return {
        "geomean": geomean([number for _, number in ratios]),
        "worst": least,
        "worst matrix": worst["matrix"],
        "against": other(worst),
        "matrices": len(ratios),
    }


def table(groups: Iterable[dict[str, Any]]) -> str:
    """A summary for people: each candidate over the base, and libsparse over the candidate."""
    out = []
    for group in groups:
        out += ["", f"{group['what']}: {group['matrices']} matrices, geometric mean [worst]"]
        for title, found in sorted(group["over base"].items(), key=lambda item: -item[1].get("geomean", 0)):
            ours = group["ours over"].get(title)
            part = f"   on {found['matrices']}" if found and found["matrices"] != group["matrices"] else ""
            out.append(
                f"  {title:<34} {_shown(found, 'x torch'):<30}"
                + (f" ours {_shown(ours, 'x', matrix=True)}" if ours else "").ljust(46)
                + part
            )
        for title, found in group["over best peer"].items():
            if found:
                out.append(f"  {title}: {_shown(found, 'x the best peer', matrix=True)} {found['against']}")
        for what, found in group.items():
            if isinstance(found, dict) and "geomean" in found:
                out.append(f"  {OURS}: {_shown(found, what, matrix=True)}")
    return "\n".join(line.rstrip() for line in out)


def _shown(found: Mapping[str, Any], unit: str, *, matrix: bool = False) -> str:
    if not found:
        return ""
    worst = f"{found['worst']:.2f}{' ' + found['worst matrix'] if matrix else ''}"
    return f"{found['geomean']:.2f} {unit} [{worst}]"


def save(path: Path, found: Mapping[str, Any]) -> None:
    """Writes results as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
