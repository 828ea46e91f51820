"""The report of the demo: a table for the terminal, and one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from libsparse._lang.records import NamedTuple

from .graphs import Graph
from .models import contenders
from .training import Run

_STYLE = (
    "body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: auto; padding: 0 1em } "
    "pre { white-space: pre-wrap; overflow-wrap: anywhere } .wide { overflow-x: auto } "
    "table { border-collapse: collapse; font-size: 14px } "
    "td, th { padding: 3px 8px; text-align: right; white-space: nowrap } th { font-weight: 600; white-space: normal } "
    "tr > :first-child { text-align: left; white-space: normal } tr + tr { border-top: 1px solid #8884 } "
    ".plots { display: flex; flex-wrap: wrap } .plots img { width: min(100%, 580px); height: auto }"
)
_DASHES = ("-", "--", ":", "-.", (0, (1, 4)))  # curves that lie on each other stay visible
_HEADS = [
    "",
    "step ms",
    "quartiles",
    "",
    "inference ms",
    "quartiles",
    "",
    "first ms",
    "MiB",
    "test accuracy",
    "by seed",
]


class Result(NamedTuple):
    """One graph's race: `choices` says for each kernel what the compiler chose."""

    graph: Graph
    runs: list[Run]
    choices: list[tuple[str, str]]

    @property
    def agreement(self) -> float:
        """Distance of the mean test accuracies of libsparse and plain torch."""
        return abs(self.runs[0].accuracy - self.runs[1].accuracy)


def describe(graph: Graph) -> str:
    """One line about a graph."""
    adjacency, features = graph.adjacency, graph.features
    return (
        f"{graph.source}: {graph.labels.numel():,} nodes, {adjacency.values().numel():,} adjacency entries with self "
        f"loops, {features.shape[1]:,} features ({features.values().numel():,} stored), {graph.classes} classes"
    )


def _rows(result: Result) -> list[list[str]]:
    """The heads of the columns, and a row for each implementation."""
    base, rows = result.runs[0], [_HEADS]
    for run in result.runs:
        tests = " ".join(f"{accuracy:.3f}" for accuracy in run.tests)
        step, inference = run.step_ms / base.step_ms, run.inference_ms / base.inference_ms
        times = [
            *(f"{run.step_ms:.3f}", _quartiles(run.steps), f"{step:.2f}x"),
            *(f"{run.inference_ms:.3f}", _quartiles(run.inferences), f"{inference:.2f}x"),
        ]
        memory = "" if run.memory is None else f"{run.memory / 2**20:.1f}"
        rows.append([run.title, *times, f"{1e3 * run.first_step:.0f}", memory, f"{run.accuracy:.4f}", tests])
    if all(run.memory is None for run in result.runs):  # it is not measured in a quick run
        place = _HEADS.index("MiB")
        return [[*row[:place], *row[place + 1 :]] for row in rows]
    return rows


def table(result: Result) -> str:
    """The numbers as text."""
    rows = _rows(result)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = -widths[0]  # the only column that is aligned to the left
    return "\n".join(
        "  ".join(f"{cell:{'<' if w < 0 else '>'}{abs(w)}}" for cell, w in zip(row, widths, strict=True))
        for row in rows
    )


def _quartiles(seconds: Sequence[float]) -> str:
    """The first and the third quartile, in ms."""
    first, third = (1e3 * torch.tensor(seconds)).quantile(torch.tensor([0.25, 0.75])).tolist()
    return f"{first:.2f}-{third:.2f}"


def write_html(path: Path, results: Sequence[Result], facts: Sequence[str]) -> None:
    """Write the report on each graph, with lines about the machine and the run."""
    sections = "\n".join(map(_section, results))
    about = "<br>".join(map(html.escape, facts))
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><title>libsparse: graph network</title>\n'
        f"<style>{_STYLE}</style></head><body>\n<h1>A graph network on libsparse and on torch.sparse</h1>\n"
        f"<p>{about}</p>\n{sections}\n</body></html>\n",
        encoding="utf-8",
    )


def _section(result: Result) -> str:
    about = "".join(f"<li>{html.escape(f'{each.title}: {each.about}')}</li>" for each in contenders())
    choices = "\n".join(
        f"<h3>{html.escape(title)}</h3>\n<pre>{html.escape(text)}</pre>" for title, text in result.choices
    )
    first, *rest = _rows(result)
    heads = "<tr>" + "".join(f"<th>{html.escape(cell)}</th>" for cell in first) + "</tr>"
    numbers = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rest)
    plots = "".join(
        f'<img src="data:image/svg+xml;base64,{base64.b64encode(svg).decode()}" alt="{html.escape(title)}">'
        for title, svg in _plots(result.runs)
    )
    return (
        f"<h2>{html.escape(result.graph.name)}</h2>\n<p>{html.escape(describe(result.graph))}</p>\n"
        f'<div class="wide"><table>{heads}{numbers}</table></div>\n'
        "<p>Times are medians, and beside them in times those of libsparse; MiB, where it was measured, is what "
        "training needs beyond the graph at its peak, in a process of its own. Test accuracy is taken at the epoch "
        "with the lowest validation loss.</p>\n"
        f"<ul>{about}</ul>\n"
        f'<div class="plots">{plots}</div>\n'
        f"<h3>What the compiler chose</h3>\n{choices}"
    )


def _plots(runs: Sequence[Run]) -> list[tuple[str, bytes]]:
    """Curves of the first seed, and the spread of the times: titles and SVG, one a plot, which narrow screens stack."""
    losses, validation = [run.losses[0] for run in runs], [run.validation[0] for run in runs]
    draw: list[tuple[str, Callable[[Axes], None]]] = [
        ("Training: the curves lie on each other (first seed)", lambda axes: _curves(axes, "loss", runs, losses)),
        ("Validation (first seed)", lambda axes: _curves(axes, "accuracy", runs, validation)),
        ("A training step: median, quartiles, 5 % to 95 %", lambda axes: _boxes(axes, runs, [r.steps for r in runs])),
        ("An inference: median, quartiles, 5 % to 95 %", lambda axes: _boxes(axes, runs, [r.inferences for r in runs])),
    ]
    found = []
    for title, fill in draw:
        figure = Figure(figsize=(5.8, 3.6), layout="constrained")
        axes = figure.subplots()
        fill(axes)
        axes.set_title(title, fontsize=11)
        buffer = io.BytesIO()
        figure.savefig(buffer, format="svg")
        found.append((title, buffer.getvalue()))
    return found


def _curves(axes: Axes, name: str, runs: Sequence[Run], curves: Sequence[Sequence[float]]) -> None:
    """A curve by epochs for each implementation."""
    axes.set(xlabel="epoch", ylabel=name)
    for run, curve, dash in zip(runs, curves, _DASHES, strict=False):
        axes.plot(curve, linestyle=dash, label=run.title, linewidth=4 if run is runs[0] else 1.5)
    axes.legend()


def _boxes(axes: Axes, runs: Sequence[Run], seconds: Sequence[Sequence[float]]) -> None:
    """The quartiles of times, and where nine of ten lie."""
    samples = [[1e3 * second for second in each] for each in seconds]
    axes.boxplot(samples, orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.6)
    axes.set_yticks(range(1, len(runs) + 1), [run.title for run in runs])
    axes.set_xlabel("ms")
    axes.set_xlim(left=0)
    axes.invert_yaxis()
