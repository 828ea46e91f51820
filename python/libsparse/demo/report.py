"""The report of the demo: a table for the terminal and one HTML file that needs nothing else."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .graphs import Graph
from .svg import STYLE, bars, lines
from .training import Run

__all__ = ["Result", "table", "write_html"]

_PAGE = """
body { background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, sans-serif; max-width: 1180px;
  margin: 2rem auto; padding: 0 1rem; }
h1, h2, h3 { font-weight: 600; line-height: 1.2; } h2 { margin-top: 2.5rem; }
p.soft, figcaption { color: var(--soft); } figure { margin: 0; }
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 1.5rem; }
svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem .35rem 0; text-align: right; border-bottom: 1px solid var(--grid); }
th:first-child, td:first-child { text-align: left; } th { font-weight: 600; }
pre { background: color-mix(in srgb, var(--grid) 40%, transparent);
  padding: .8rem; overflow-x: auto; font-size: 12.5px; }
"""


@dataclass(frozen=True)
class Result:
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
    return (
        f"{graph.source}: {graph.labels.numel():,} nodes, {graph.adjacency.nnz:,} adjacency entries with self loops, "
        f"{graph.features.shape[1]:,} features ({graph.features.nnz:,} stored), {graph.classes} classes"
    )


def _rows(result: Result) -> list[list[str]]:
    base = result.runs[0]
    return [
        [
            run.title,
            " ".join(f"{accuracy:.3f}" for accuracy in run.tests),
            f"{run.accuracy:.4f}",
            f"{run.step_ms:.3f}",
            f"{run.step_ms / base.step_ms:.2f}x",
            f"{run.inference_ms:.3f}",
            f"{run.inference_ms / base.inference_ms:.2f}x",
            f"{1e3 * run.first_step:.0f}",
        ]
        for run in result.runs
    ]


_HEADS = ["", "test accuracy by seed", "mean", "step ms", "", "inference ms", "", "first step ms"]


def table(result: Result) -> str:
    """The numbers as text."""
    rows = [_HEADS, *_rows(result)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_HEADS))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    )


def write_html(path: Path, results: Sequence[Result], facts: Sequence[str]) -> None:
    """Write the report.

    Args:
        path: Where to.
        results: One a graph.
        facts: Lines about the machine and the run.
    """
    sections = "\n".join(_section(result) for result in results)
    about = "<br>".join(html.escape(fact) for fact in facts)
    path.write_text(
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>libsparse: graph network</title>\n'
        f"<style>{STYLE}{_PAGE}</style></head><body>\n<h1>A graph network on libsparse and on torch.sparse</h1>\n"
        f'<p class="soft">{about}</p>\n{sections}\n</body></html>\n',
        encoding="utf-8",
    )


def _section(result: Result) -> str:
    runs = result.runs
    heads = "".join(f"<th>{html.escape(head)}</th>" for head in _HEADS)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in _rows(result))
    plots = [
        (
            "Training loss, first seed. Same weights, same dropout: the curves lie on each other.",
            lines([(run.title, run.losses[0]) for run in runs], "training loss"),
        ),
        ("Validation accuracy, first seed.", lines([(run.title, run.validation[0]) for run in runs], "accuracy")),
        ("Training step, median.", bars([(run.title, run.step_ms) for run in runs], "ms")),
        ("Inference, median.", bars([(run.title, run.inference_ms) for run in runs], "ms", digits=3)),
        ("Test accuracy, mean over the seeds.", bars([(run.title, run.accuracy) for run in runs], "", digits=4)),
    ]
    figures = "\n".join(f"<figure>{svg}<figcaption>{html.escape(text)}</figcaption></figure>" for text, svg in plots)
    choices = "\n".join(
        f"<h3>{html.escape(title)}</h3>\n<pre>{html.escape(text)}</pre>" for title, text in result.choices
    )
    return (
        f"<h2>{html.escape(result.graph.name)}</h2>\n<p>{html.escape(describe(result.graph))}</p>\n"
        f"<table><tr>{heads}</tr>{rows}</table>\n"
        f'<p class="soft">Test accuracy is taken at the epoch with the lowest validation loss.</p>\n'
        f'<div class="plots">\n{figures}\n</div>\n<h3>What the compiler chose</h3>\n{choices}'
    )
