"""Small calls and first calls: what a notebook or a mini-batch feels."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import measure
import torch
from inputs import random_matrix
from peers import available
from peers.torch_sparse import TITLE as BASE

from .fresh import NEW


def run(data: str | None, quick: bool) -> dict[str, Any]:
    """Measure the three bars."""
    del data
    return {"first": _first(5 if quick else 15), "new": _new(), "repeated": _repeated(15 if quick else 60)}


def _first(processes: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        _child("first", cache)  # fills the cache
        made = [_child("first", cache) for _ in range(processes)]
    found = {name: 1e3 * statistics.median(run[name] for run in made) for name in made[0]}
    beyond = found["first"] - found["later"]
    print("first SpMM of a process, kernel in the disk cache")
    print(
        f"  import libsparse after torch {found['import']:.1f} ms; first call {found['first']:.2f} ms, later "
        f"{found['later']:.3f} ms: {beyond:.2f} ms beyond a later call (bar 1 ms)"
    )
    return {**found, "beyond": beyond}


def _new() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        made = _child("new", cache)
    median, stages = statistics.median(made["calls"][1:]), statistics.median(made["stages"][1:])
    print("a new expression, empty cache, call to result")
    for (spec, *formats), call, stage in zip(NEW, made["calls"], made["stages"], strict=True):
        shown = ", ".join(f or "dense" for f in formats)
        print(f"  {spec:<16} {shown:<22} {1e3 * call:7.1f} ms, our stages with printing the C {1e3 * stage:6.2f} ms")
    print(
        f"  median {1e3 * median:.1f} ms (bar 120 ms on a quiet machine), our stages {1e3 * stages:.2f} ms (bar 2 ms); "
        "the first one loads the compiler and is left out"
    )
    return {"median": median, "stages": stages, **made}


def _repeated(rounds: int) -> dict[str, Any]:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        matrix = random_matrix(100, 100, 1000)
        b = torch.rand(100, 16)
        exact = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values.double(), matrix.shape)
        bound = torch.sparse_csr_tensor(matrix.crow, matrix.col, matrix.values.double().abs(), matrix.shape)
        prepared = {title: peer.spmm(matrix) for title, peer in available().items()}
        for title, multiply in prepared.items():
            measure.check(multiply(b), exact @ b.double(), bound @ b.double(), title)
        with torch.no_grad():
            times = measure.interleaved({t: lambda m=m: m(b) for t, m in prepared.items()}, rounds)
    finally:
        torch.set_num_threads(threads)
    print("the same small call again: 1000 entries times 16 columns, 1 thread, no gradient")
    for title, taken in times.items():
        print(f"  {title:<20} {1e6 * taken.median:6.2f} us   {taken.median / times[BASE].median:.2f}x torch")
    print("  bar: at most 1.00x torch")
    return {title: taken._asdict() for title, taken in times.items()}


def _child(job: str, cache: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "suites.fresh", job, cache],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).resolve().parents[1],
    )
    if done.returncode != 0:
        raise SystemExit(f"the measuring process failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
