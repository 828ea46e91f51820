"""The report of the demo: a table for the terminal, and one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .graphs import Graph
from .training import Run

_STYLE = "body { font: 15px/1.5 system-ui, sans-serif; max-width: 1180px; margin: auto } pre { overflow-x: auto }"
_DASHES = ("-", "--", ":", "-.")  # curves that lie on each other stay visible
_HEADS = ["", "test accuracy by seed", "mean", "step ms", "", "inference ms", "", "first step ms"]


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


def table(result: Result) -> str:
    """The numbers as text."""
    base, rows = result.runs[0], [_HEADS]
    for run in result.runs:
        tests = " ".join(f"{accuracy:.3f}" for accuracy in run.tests)
        step, inference = run.step_ms / base.step_ms, run.inference_ms / base.inference_ms
        times = [f"{run.step_ms:.3f}", f"{step:.2f}x", f"{run.inference_ms:.3f}", f"{inference:.2f}x"]
        rows.append([run.title, tests, f"{run.accuracy:.4f}", *times, f"{1e3 * run.first_step:.0f}"])
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    widths[0] = -widths[0]  # the only column that is aligned to the left
    return "\n".join(
        "  ".join(f"{cell:{'<' if w < 0 else '>'}{abs(w)}}" for cell, w in zip(row, widths, strict=True))
        for row in rows
    )


def write_html(path: Path, results: Sequence[Result], facts: Sequence[str]) -> None:
    """Write the report on each graph, with lines about the machine and the run."""
    sections = "\n".join(map(_section, results))
    about = "<br>".join(map(html.escape, facts))
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>libsparse: graph network</title>\n'
        f"<style>{_STYLE}</style></head><body>\n<h1>A graph network on libsparse and on torch.sparse</h1>\n"
        f"<p>{about}</p>\n{sections}\n</body></html>\n",
        encoding="utf-8",
    )


def _section(result: Result) -> str:
    choices = "\n".join(
        f"<h3>{html.escape(title)}</h3>\n<pre>{html.escape(text)}</pre>" for title, text in result.choices
    )
    return (
        f"<h2>{html.escape(result.graph.name)}</h2>\n<p>{html.escape(describe(result.graph))}</p>\n"
        f"<pre>{html.escape(table(result))}</pre>\n"
        "<p>Test accuracy is taken at the epoch with the lowest validation loss.</p>\n"
        f'<img src="data:image/svg+xml;base64,{base64.b64encode(_plots(result.runs)).decode()}" alt="plots">\n'
        f"<h3>What the compiler chose</h3>\n{choices}"
    )


def _plots(runs: Sequence[Run]) -> bytes:
    """Curves of the first seed, and bars, as SVG."""
    figure = Figure(figsize=(12, 10), layout="constrained")
    loss, validation, step, inference, accuracy, rest = figure.subplots(3, 2).flat
    rest.remove()
    for axes, title, curves in (
        (loss, "Training loss: the curves lie on each other", [run.losses[0] for run in runs]),
        (validation, "Validation accuracy", [run.validation[0] for run in runs]),
    ):
        axes.set(title=f"{title} (first seed)", xlabel="epoch")
        for run, curve, dash in zip(runs, curves, _DASHES, strict=True):
            axes.plot(curve, dash, label=run.title, linewidth=4 if run is runs[0] else 1.5)
        axes.legend()
    _bars(step, "Training step, median ms", runs, [run.step_ms for run in runs])
    _bars(inference, "Inference, median ms", runs, [run.inference_ms for run in runs])
    _bars(accuracy, "Test accuracy, mean over the seeds", runs, [run.accuracy for run in runs])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def _bars(axes: Axes, title: str, runs: Sequence[Run], values: Sequence[float]) -> None:
    axes.set_title(title)
    axes.bar_label(axes.barh([run.title for run in runs], values), fmt="%.3f")
    axes.invert_yaxis()
    axes.margins(x=0.15)
