"""The report of the demo: a table for the terminal, and one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
import io
from collections.abc import Sequence
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
    "pre { overflow-x: auto } img { max-width: 100%; height: auto }"
)
_DASHES = ("-", "--", ":", "-.", (0, (1, 4)))  # curves that lie on each other stay visible
_HEADS = [
    "",
    "test accuracy by seed",
    "mean",
    "step ms",
    "quarters",
    "",
    "inference ms",
    "quarters",
    "",
    "first ms",
    "MiB",
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


def table(result: Result) -> str:
    """The numbers as text."""
    base, rows = result.runs[0], [_HEADS]
    for run in result.runs:
        tests = " ".join(f"{accuracy:.3f}" for accuracy in run.tests)
        step, inference = run.step_ms / base.step_ms, run.inference_ms / base.inference_ms
        times = [
            *(f"{run.step_ms:.3f}", _quartiles(run.steps), f"{step:.2f}x"),
            *(f"{run.inference_ms:.3f}", _quartiles(run.inferences), f"{inference:.2f}x"),
        ]
        memory = "" if run.memory is None else f"{run.memory / 2**20:.1f}"
        rows.append([run.title, tests, f"{run.accuracy:.4f}", *times, f"{1e3 * run.first_step:.0f}", memory])
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
    return (
        f"<h2>{html.escape(result.graph.name)}</h2>\n<p>{html.escape(describe(result.graph))}</p>\n"
        f"<pre>{html.escape(table(result))}</pre>\n"
        "<p>Times are medians; MiB is what training needs beyond the graph at its peak, in a "
        "process of its own. Test accuracy is taken at the epoch with the lowest validation loss.</p>\n"
        f"<ul>{about}</ul>\n"
        f'<img src="data:image/svg+xml;base64,{base64.b64encode(_plots(result.runs)).decode()}" alt="plots">\n'
        f"<h3>What the compiler chose</h3>\n{choices}"
    )


def _plots(runs: Sequence[Run]) -> bytes:
    """Curves of the first seed, and the spread of the times, as SVG."""
    figure = Figure(figsize=(12, 7.5), layout="constrained")
    loss, validation, step, inference = figure.subplots(2, 2).flat
    for axes, title, name, curves in (
        (loss, "Training: the curves lie on each other", "loss", [run.losses[0] for run in runs]),
        (validation, "Validation", "accuracy", [run.validation[0] for run in runs]),
    ):
        axes.set(title=f"{title} (first seed)", xlabel="epoch", ylabel=name)
        for run, curve, dash in zip(runs, curves, _DASHES, strict=False):
            axes.plot(curve, linestyle=dash, label=run.title, linewidth=4 if run is runs[0] else 1.5)
        axes.legend()
    _boxes(step, "A training step", runs, [run.steps for run in runs])
    _boxes(inference, "An inference", runs, [run.inferences for run in runs])
    buffer = io.BytesIO()
    figure.savefig(buffer, format="svg")
    return buffer.getvalue()


def _boxes(axes: Axes, title: str, runs: Sequence[Run], seconds: Sequence[Sequence[float]]) -> None:
    """The quartiles of times, and where nine of ten lie."""
    samples = [[1e3 * second for second in each] for each in seconds]
    axes.boxplot(samples, orientation="horizontal", whis=(5, 95), showfliers=False, widths=0.6)
    axes.set_yticks(range(1, len(runs) + 1), [run.title for run in runs])
    axes.set(title=f"{title}: median, quartiles, 5 % to 95 %", xlabel="ms")
    axes.set_xlim(left=0)
    axes.invert_yaxis()
