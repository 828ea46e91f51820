"""Writes the page of results for the documentation, with its pictures.

python benchmarks/run.py page RESULTS.json [docs]     writes docs/results.md and the pictures in docs/results
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import plot, results
from .timing import geomean

_MATRICES = 3  # from which on a kernel has a profile
_SMALL = "kernels of 1,000 entries"


def main(arguments: Sequence[str]) -> int:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog="benchmarks/run.py page", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", help="what a run has written")
    parser.add_argument("folder", nargs="?", default="docs", help="where the page goes (default: docs)")
    options = parser.parse_args(arguments)
    try:
        import matplotlib as mpl
    except ImportError:
        parser.error("matplotlib is not there: make bench-peers")
    mpl.use("Agg")
    found = json.loads(Path(options.results).read_text(encoding="utf-8"))
    folder = Path(options.folder)
    (folder / "results").mkdir(parents=True, exist_ok=True)
    path = folder / "results.md"
    path.write_text("\n".join(_page(found, folder / "results")) + "\n", encoding="utf-8")
    print(f"written to {path}")
    return 0


def _page(found: Mapping[str, Any], folder: Path) -> list[str]:
    kernels, models = (found.get(suite, {}).get("rows", []) for suite in ("kernels", "models"))
    lines = ["# Results", "", *_about(found, kernels), ""]
    if kernels:
        _overview(kernels, folder / "kernels.png")
        lines += [*_kernels(kernels), *_profiles(found["kernels"], folder)]
    if models:
        _bars(_relative(models), "time in times libsparse's", folder / "models.png")
        lines += ["", *_models(models)]
    if repeated := found.get("latency", {}).get("repeated"):
        _bars(_small(repeated), "microseconds a call", folder / "latency.png", unit="us")
        lines += ["", *_latency(found["latency"])]
    return lines


def _about(found: Mapping[str, Any], kernels: Sequence[results.Row]) -> list[str]:
    machine, options = found["machine"], found["options"]
    caches = ", ".join(f"{name} {size / 2**10:,.0f} KiB" for name, size in machine["caches"].items())
    matrices = {(row["family"], row["matrix"]) for row in kernels}
    families = sorted({family for family, _ in matrices})
    return [
        "Written by `make bench` and `benchmarks/run.py page`; [Benchmarks](benchmarks.md) says how it is measured.",
        "",
        f"- {machine['cpu']}, {machine['cores']} cores, {caches}; load {machine['load']:.1f} at the start and "
        f"{found.get('load at the end', 0):.1f} at the end",
        f"- {machine['time'][:10]}, libsparse {machine['libsparse']}, torch {machine['torch']}",
        f"- {len(matrices)} matrices and tensors ({', '.join(families)}); {options['rounds']} rounds in turns, medians",
        "",
        "Times on shared machines are uncertain by several percent and more; ratios are of one run. Above 1, libsparse "
        "is the faster one.",
    ]


def _groups(rows: Sequence[results.Row]) -> dict[str, list[results.Row]]:
    groups: dict[str, list[results.Row]] = {}
    for row in rows:
        if results.OURS in row["peers"]:
            groups.setdefault(results.label(row), []).append(row)
    return groups


def _ratios(rows: Sequence[results.Row], over: Any) -> list[float]:
    """How many times as fast ours is as the candidate that `over` names for each row, ascending."""
    return sorted(results.ratio(row, results.OURS, other) for row in rows if (other := over(row)))


def _spread(ratios: Sequence[float]) -> str:
    return f"{geomean(ratios):.2f} [{ratios[0]:.2f} to {ratios[-1]:.2f}]" if ratios else ""


def _kernels(rows: Sequence[results.Row]) -> list[str]:
    lines = [
        "## Kernels",
        "![Speed of kernels over torch and over the best peer](results/kernels.png)",
        "",
        "Geometric means of the speed-ups over all matrices, with the least and the largest of them. The best peer is "
        "the fastest library of each matrix.",
        "",
        "| kernel | matrices | over torch.sparse | over the best peer | where the best peer is furthest ahead |",
        "|---|---|---|---|---|",
    ]
    for name, group in _groups(rows).items():
        best = [row for row in group if results.best_peer(row)]
        worst = min(best, key=lambda row: results.ratio(row, results.OURS, results.best_peer(row)), default=None)
        behind = worst is not None and results.ratio(worst, results.OURS, results.best_peer(worst)) < 1
        where = f"{worst['matrix']}, {results.best_peer(worst)}" if behind and worst else ""
        over_base, over_best = _ratios(group, results.base), _ratios(group, results.best_peer)
        lines.append(f"| {name} | {len(group)} | {_spread(over_base)} | {_spread(over_best)} | {where} |")
    return lines


def _overview(rows: Sequence[results.Row], path: Path) -> None:
    """A dot for the mean of each kernel and a line from the worst to the best matrix, over torch and the best peer."""
    groups = _groups(rows)
    figure, axes = plot.figure(
        "speed-up of libsparse: geometric mean, worst and best matrix", height=0.28 * len(groups) + 1.5
    )
    for shift, color, title, over in (
        (-0.15, "C0", "over torch.sparse", results.base),
        (0.15, "C1", "over the best peer", results.best_peer),
    ):
        shown = {place: found for place, group in enumerate(groups.values()) if (found := _ratios(group, over))}
        places = [place + shift for place in shown]
        axes.hlines(places, [r[0] for r in shown.values()], [r[-1] for r in shown.values()], color=color, linewidth=1.5)
        axes.scatter([geomean(r) for r in shown.values()], places, color=color, label=title, zorder=3)
    axes.set_yticks(range(len(groups)), [name.replace(", f32", "") for name in groups], fontsize=7)
    axes.set_xscale("log", base=2)
    axes.axvline(1, color="grey", linewidth=0.8)
    axes.invert_yaxis()
    plot.save(figure, axes, path, below=True)


def _profiles(kernels: Mapping[str, Any], folder: Path) -> list[str]:
    """Profiles and rooflines of the kernels that were measured on many matrices."""
    lines = ["", "### By matrix", "On what share of the matrices, and against what the memory allows.", ""]
    for name, group in _groups(kernels["rows"]).items():
        file = plot.file_name(name)
        for kind, drawn in (
            ("profile", len(group) >= _MATRICES and plot.profile(name, group, folder / f"profile-{file}.png")),
            (
                "roofline",
                len(group) >= _MATRICES
                and plot.roofline(name, group, kernels["rooflines"], folder / f"roofline-{file}.png"),
            ),
        ):
            lines += [f"![{kind} of {name}](results/{kind}-{file}.png)"] if drawn else []
    return lines


def _relative(rows: Sequence[results.Row]) -> dict[str, dict[str, float]]:
    return {
        f"{row['title']}, {row['matrix']}": {
            title: 1 / results.ratio(row, title, results.OURS) for title in row["peers"]
        }
        for row in rows
        if results.OURS in row["peers"]
    }


def _models(rows: Sequence[results.Row]) -> list[str]:
    lines = [
        "## Models",
        "![Times of models](results/models.png)",
        "",
        "Milliseconds, and the peak of the memory beyond the data in MB.",
        "",
        "| model | libsparse | best peer | | of the others |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        if results.OURS in row["peers"]:
            best = results.best_peer(row)
            others = [title for title in row["peers"] if title not in (results.OURS, best)]
            cells = [f"{title} {_time(row, title)}" for title in others]
            ahead = f"{results.ratio(row, results.OURS, best):.2f} x" if best else ""
            beside = f"{best} {_time(row, best)}" if best else ""
            ours = _time(row, results.OURS)
            lines.append(f"| {row['title']}, {row['matrix']} | {ours} | {beside} | {ahead} | {'; '.join(cells)} |")
    return lines


def _time(row: results.Row, title: str) -> str:
    own = row["peers"][title]
    return f"{1e3 * own['median']:.3g} ms ({own['memory'] / 1e6:.0f} MB)"


def _small(repeated: Mapping[str, Any]) -> dict[str, dict[str, float]]:
    return {
        what: {title: 1e6 * own["median"] for title, own in peers.items()}
        for what, peers in repeated.items()
        if results.OURS in peers
    }


def _latency(latency: Mapping[str, Any]) -> list[str]:
    lines = [
        "## Small calls",
        f"Microseconds of a repeated call of {_SMALL}, one thread, without gradients.",
        "",
        "![Times of small calls](results/latency.png)",
        "",
        "| | ms |",
        "|---|---|",
    ]
    known, new = latency.get("first"), latency.get("new")
    if known:
        lines.append(
            f"| the first call of a process, kernel in the cache on disk, beyond a later one | {known['beyond']:.2f} |"
        )
    if new:
        lines.append(f"| a new expression, median | {1e3 * new['median']:.0f} |")
    if known:
        lines.append(f"| `import libsparse`, after torch | {known['import']:.0f} |")
    return lines


def _bars(groups: Mapping[str, Mapping[str, float]], label: str, path: Path, unit: str = "") -> None:
    """One group of dots a line, ours filled, on a logarithmic axis."""
    titles = list(dict.fromkeys(title for peers in groups.values() for title in peers))
    figure, axes = plot.figure("", height=0.26 * len(groups) + 2.4)
    for number, title in enumerate(titles):
        places = [place for place, peers in enumerate(groups.values()) if title in peers]
        times = [peers[title] for peers in groups.values() if title in peers]
        ours = results.is_ours(title)
        axes.scatter(
            times,
            places,
            label=title,
            s=45 if ours else 22,
            marker="D" if ours else "osv^x+P*"[number % 8],
            zorder=3 if ours else 2,
        )
    axes.set_yticks(range(len(groups)), list(groups), fontsize=7)
    axes.set_xscale("log", base=2 if not unit else 10)
    axes.set_xlabel(label)
    axes.invert_yaxis()
    plot.save(figure, axes, path, below=True)
