"""What the training of each implementation needs in memory, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import warnings
from multiprocessing.connection import Connection
from pathlib import Path

import torch

from .graphs import Graph, generate
from .models import Contender, contenders
from .training import Racer, Run

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def peaks(graphs: list[Graph], title: str) -> list[int] | None:
    """Bytes at the peak of three training steps on each graph, beyond the process with the graph in memory.

    None where the system does not say.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    worker = context.Process(target=_measure, args=(theirs, title, torch.get_num_threads()))
    worker.start()
    theirs.close()
    try:
        ours.send(graphs)
        found: list[int] | None = ours.recv()
    except (EOFError, OSError):
        found = None
    worker.join()
    return found


def _measure(pipe: Connection, title: str, threads: int) -> None:
    warnings.filterwarnings("ignore")
    graphs: list[Graph] = pipe.recv()
    torch.set_num_threads(threads)
    contender = next(each for each in contenders() if each.title == title)
    _train(generate(nodes=500, words=100), contender)  # loads the code that is needed
    found = []
    for graph in graphs:
        try:
            _CLEAR.write_text("5")  # the peak is counted from here
        except OSError:
            pipe.send(None)
            return
        before = _field("VmRSS")
        _train(graph, contender)
        found.append(max(_field("VmHWM") - before, 0))
    pipe.send(found)


def _train(graph: Graph, contender: Contender) -> None:
    racer = Racer(contender, graph, Run(""), seed=0)
    for number in range(3):
        racer.epoch(number, noise=number)


def _field(name: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])
