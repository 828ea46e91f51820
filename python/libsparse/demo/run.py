"""The demo's run: every implementation is trained on every graph, and the results are printed and reported."""

from __future__ import annotations

import os
import platform
import time
import warnings
from pathlib import Path

import torch
from tqdm import tqdm

import libsparse as ls
from libsparse._compiler import kernel
from libsparse._lang.errors import LibsparseError

from .graphs import Graph, find_data, generate, load, names
from .memory import peaks
from .models import contenders
from .report import Result, describe, table, write_html
from .training import WARM_UP, train

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
    # torch's constructors of CSR tensors say this once a process; the demo is not about it
    warnings.filterwarnings("ignore", message="Sparse (CSR|CSC) tensor support|Sparse invariant checks")
    warnings.filterwarnings("ignore", message=".torch.jit.script. is deprecated")  # PyG calls it
    if quick:
        seeds, epochs = 1, min(epochs, 30)
    if seeds < 1 or epochs <= WARM_UP:
        raise LibsparseError(
            f"demo: {seeds} seeds, {epochs} epochs; expected a seed and more than {WARM_UP} epochs, of which the first "
            f"{WARM_UP} are not timed"
        )
    graphs = _choose(data, dataset)[: 1 if quick else None]
    facts = [
        f"libsparse {ls.__version__}, torch {torch.__version__}, {torch.get_num_threads()} threads, "
        f"{platform.system()} {platform.machine()}; load average at the start {os.getloadavg()[0]:.1f}",
        f"{seeds} seed{'s' if seeds > 1 else ''}, {epochs} epochs; in every epoch each implementation takes one timed "
        "step and one timed inference, in random order, with the same weights and the same dropout",
    ]
    print("\n".join(facts))
    results = [_race(graph, seeds, epochs) for graph in graphs]
    facts.append(f"load average at the end {os.getloadavg()[0]:.1f}")
    if not quick:
        _measure_memory(results)
    write_html(Path(report), results, facts)
    print(f"\n{facts[-1]}\nreport: {report}")
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
    with tqdm(desc=f"training on {graph.name}", total=seeds * epochs, disable=None) as bar:

        def progress(note: str) -> None:
            bar.set_postfix_str(note, refresh=False)
            bar.update()

        runs = train(graph, contenders(), seeds, epochs, progress)
    result = Result(graph, runs, [choice for choice in _choices() if choice not in before])
    agrees = "agree" if result.agreement <= _AGREE_WITHIN else "DISAGREE"
    step, inference = runs[0].step_ms / runs[2].step_ms, runs[0].inference_ms / runs[2].inference_ms
    print(table(result))
    print(
        f"libsparse and torch {agrees} on mean accuracy ({result.agreement:.4f} apart); beside expert torch a step "
        f"takes {step:.2f}x as long, an inference {inference:.2f}x"
    )
    print("what the compiler chose:" if result.choices else "what the compiler chose: the kernels of the graph before")
    for title, text in result.choices:
        print(f"  {title}\n    " + text.replace("\n", "\n    "), flush=True)
    return result


def _measure_memory(results: list[Result]) -> None:
    graphs = [result.graph for result in results]
    print("\npeak memory of training, in a process for each implementation:")
    for place, run in enumerate(results[0].runs):
        found = peaks(graphs, run.title)
        for result, memory in zip(results, found or (), strict=False):
            result.runs[place].memory = memory
        print(
            f"  {run.title:22}" + ("not known" if found is None else ", ".join(f"{m / 2**20:.1f} MiB" for m in found))
        )


def _choices() -> list[tuple[str, str]]:
    """Each kernel of this process: the expressions and formats that it serves, and the choices of the compiler."""
    found: dict[str, tuple[str, str]] = {}
    for request, loaded in kernel.known():
        operands = ", ".join(f"{o.format or 'scalar'} {o.dtype}" for o in request.operands)
        source = (f"C source: {loaded.source}",) if Path(loaded.source).exists() else ()  # packs have none
        notes = "\n".join((*loaded.notes, *source))
        found.setdefault(loaded.source, (f"{request.text}  on  {operands}", notes))  # one may serve several sizes
    return list(found.values())
