"""The main job: a two-layer graph network trained through libsparse, beside torch.sparse, with a report of it all."""

from __future__ import annotations

import platform
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch

import libsparse as ls
from libsparse._compiler import kernel
from libsparse._lang.errors import LibsparseError

from .graphs import Graph, find_data, generate, load, names
from .models import ExpertGCN, LibsparseGCN, TorchGCN
from .report import Result, describe, table, write_html
from .training import Contender, Run, peak_memory, train

__all__ = ["CONTENDERS", "run"]

CONTENDERS = (
    Contender("libsparse", LibsparseGCN),
    Contender("torch.sparse", TorchGCN),
    Contender("expert torch", ExpertGCN),
    Contender("torch + ls.override()", TorchGCN, ls.override),
)
_AGREE_WITHIN = 0.01
_DEFAULT_NAMES = ("cora", "citeseer")


def run(
    data: str | None = None,
    dataset: str | None = None,
    seeds: int = 3,
    epochs: int = 200,
    report: str | Path = "gcn-report.html",
    quick: bool = False,
) -> int:
    """Train, print the results and write the report.

    Args:
        data: Folder with graphs in Planetoid's layout; by default one beside the clone, else a generated graph.
        dataset: Which graph of the folder, or "generated"; by default Cora and Citeseer, as far as they are there.
        seeds: How many runs, each with its own weights and dropout.
        epochs: Training steps of a run.
        report: The HTML file to write.
        quick: One graph, one seed, 30 epochs.

    Returns:
        Exit status: 0, or 1 if libsparse and torch disagree about the accuracy.
    """
    if quick:
        seeds, epochs = 1, min(epochs, 30)
    graphs = _choose(data, dataset)[: 1 if quick else None]
    facts = [
        f"libsparse {ls.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{platform.system()} {platform.machine()}",
        f"{seeds} seeds, {epochs} epochs; in every epoch each implementation takes one timed step and one timed "
        "inference, in random order, with the same weights and the same dropout",
    ]
    print("\n".join(facts))
    # torch's constructors of CSR tensors say this once a process; the demo is not about it
    warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
    results = [_race(graph, seeds, epochs) for graph in graphs]
    facts.append(f"peak memory of the process {peak_memory():.0f} MiB")
    path = Path(report)
    write_html(path, results, facts)
    print(f"\n{facts[-1]}\nreport: {path}")
    return 0 if all(result.agreement <= _AGREE_WITHIN for result in results) else 1


def _choose(data: str | None, dataset: str | None) -> list[Graph]:
    start = time.perf_counter()
    folder = None if dataset == "generated" else find_data(data)
    if folder is None:
        if dataset not in (None, "generated"):
            raise LibsparseError(f"dataset {dataset!r}: no data folder was found; give one with --data (or DATA=)")
        graph = generate()
        print(f"generated the graph in {time.perf_counter() - start:.1f} s")
        return [graph]
    there = names(folder)
    wanted = [dataset] if dataset else [n for n in _DEFAULT_NAMES if n in there] or there[:1]
    if wanted[0] not in there:
        raise LibsparseError(f"dataset {dataset!r} is not in {folder}; it has {', '.join(there)}")
    return [load(folder, name) for name in wanted]


def _race(graph: Graph, seeds: int, epochs: int) -> Result:
    print(f"\n{describe(graph)}", flush=True)
    before = set(_choices())
    runs = train(graph, CONTENDERS, seeds, epochs)
    choices = [choice for choice in _choices() if choice not in before]
    result = Result(graph, runs, choices)
    print(table(result))
    _print_verdict(runs, result.agreement)
    print("what the compiler chose:" if choices else "what the compiler chose: the kernels of the graph before")
    for title, text in choices:
        print(f"  {title}\n    " + text.replace("\n", "\n    "))
    sys.stdout.flush()
    return result


def _print_verdict(runs: Sequence[Run], distance: float) -> None:
    agrees = "agree" if distance <= _AGREE_WITHIN else "DISAGREE"
    expert = runs[2]
    print(
        f"libsparse and torch {agrees} on mean accuracy ({distance:.4f} apart); beside expert torch a step takes "
        f"{runs[0].step_ms / expert.step_ms:.2f}x as long, "
        f"an inference {runs[0].inference_ms / expert.inference_ms:.2f}x"
    )


def _choices() -> list[tuple[str, str]]:
    """Each kernel of this process: its expression and formats, and the choices of the compiler."""
    found = []
    for request, found_kernel in kernel.known():
        operands = ", ".join(f"{o.format or 'scalar'} {o.dtype}" for o in request.operands)
        found.append(
            (f"{request.text}  on  {operands}", "\n".join((*found_kernel.notes, f"C source: {found_kernel.source}")))
        )
    return found
