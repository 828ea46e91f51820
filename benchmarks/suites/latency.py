"""Small calls and first calls: what a notebook or a mini-batch feels."""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from data import generated
from kernels import KERNELS
from method import candidate, checking, results
from method.operands import Matrix, aligned, cast
from method.timing import Call, Times, interleaved
from peers.peer import Peer, available

import libsparse as ls

from .fresh import NEW

_REPEATED = {"spmv": 0, "spmm": 16, "sddmm": 32, "spadd": 0, "spgemm": 0, "transpose": 0, "index_rows": 0}
_BASE = "torch int32 CSR"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures on one thread, where a call is not about loops."""
    processes = 5 if options.quick else 15
    return {
        "cold": _first(3, cold=True),
        "first": _first(processes, cold=False),
        "packed": _first(processes, cold=True, compiler="/nonexistent") if ls.cache.info().packed else None,
        "new": _new(),
        "repeated": _repeated(options),
    }


def _first(processes: int, *, cold: bool, compiler: str = "") -> dict[str, float]:
    with tempfile.TemporaryDirectory() as cache:
        if not cold:
            _child("first", cache)  # fills the cache
        measured = [_child("first", f"{cache}/{n}" if cold else cache, compiler) for n in range(processes)]
    found = {name: 1e3 * statistics.median(run[name] for run in measured) for name in measured[0]}
    beyond = found["first"] - found["later"]
    where = "kernel in the pack" if compiler else "with an empty cache" if cold else "kernel in the disk cache"
    print(f"first SpMM of a process, {where}")
    print(
        f"  import libsparse after torch {found['import']:.1f} ms; first call {found['first']:.2f} ms, later "
        f"{found['later']:.3f} ms: {beyond:.2f} ms beyond a later call"
    )
    return {**found, "beyond": beyond}


def _new() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as cache:
        measured = _child("new", cache)
    median, stages = statistics.median(measured["calls"][1:]), statistics.median(measured["stages"][1:])
    print("a new expression, empty cache, call to result")
    for (spec, *formats), call, stage in zip(NEW, measured["calls"], measured["stages"], strict=True):
        shown = ", ".join(f or "dense" for f in formats)
        print(f"  {spec:<16} {shown:<22} {1e3 * call:7.1f} ms, our stages with printing the C {1e3 * stage:6.2f} ms")
    print(
        f"  median {1e3 * median:.1f} ms, our stages {1e3 * stages:.2f} ms; "
        "the first one loads the compiler and is left out"
    )
    return {"median": median, "stages": stages, **measured}


def _repeated(options: argparse.Namespace) -> dict[str, Any]:
    threads, rounds = torch.get_num_threads(), 3 * options.rounds
    torch.set_num_threads(1)
    try:
        peers = {t: p for t, p in available(options.peer)[0].items() if not p.apart}
        peers = {t: p for t, p in peers.items() if results.is_ours(t) or re.search(options.peers or "", t)}
        for peer in peers.values():
            peer.threads(1)
        matrix = generated.uniform(100, 100, 1000)
        print("the same small call again: 1000 entries, 1 thread, no gradient")
        with torch.no_grad():
            found = {
                KERNELS[name].title: _kernel(name, width, matrix, peers, rounds) for name, width in _REPEATED.items()
            }
            for what, calls in _other_ways(matrix).items():
                taken = interleaved({title: Call(call) for title, call in calls.items()}, rounds)
                found[what] = _shown(what, taken)
    finally:
        torch.set_num_threads(threads)
    return found


def _kernel(name: str, width: int, matrix: Matrix, peers: dict[str, Peer], rounds: int) -> dict[str, Any]:
    problem = cast(KERNELS[name].problem(matrix, width), None, 0)
    expected, scale = KERNELS[name].expected(problem)
    calls = {}
    for title, peer in peers.items():
        if peer.prepares(name):
            prepared = candidate.prepare(peer, name, problem)
            if checking.error(prepared.result, expected, scale) > checking.TOLERANCE[torch.float32]:
                raise SystemExit(f"{title} computes something else in {name}")
            calls[title] = prepared.call
    return _shown(KERNELS[name].title, interleaved(calls, rounds))


def _shown(what: str, taken: dict[str, Times]) -> dict[str, Any]:
    base = taken.get(_BASE)
    print(f"  {what}")
    for title, times in sorted(taken.items(), key=lambda item: item[1].median):
        over = f"{times.median / base.median:7.2f} x torch's time" if base else ""
        print(f"    {title:<34} {1e6 * times.median:8.2f} us +-{50 * times.spread:3.0f} %{over}")
    return {title: results.times(times) for title, times in taken.items()}


def _other_ways(m: Matrix) -> dict[str, dict[str, Callable[[], object]]]:
    """Other names of the product, construction, and new values."""
    X, arrays = aligned(torch.rand(100, 16)), tuple(aligned(a) for a in m.arrays)
    A, turned = ls.from_csr(*arrays, m.shape), torch.sparse_csr_tensor(*arrays, m.shape)
    values = arrays[2]

    def torch_made() -> torch.Tensor:
        return torch.sparse_csr_tensor(*arrays, m.shape)

    return {
        "SpMM 16 by other names": {
            "A @ X": lambda: A @ X,
            "torch.sparse.mm(A, X)": lambda: torch.sparse.mm(A, X),
            "ls.matmul(A, X)": lambda: ls.matmul(A, X),
            'ls.einsum("ij,jk->ik", A, X)': lambda: ls.einsum("ij,jk->ik", A, X),
            _BASE: lambda: torch.sparse.mm(turned, X),
        },
        "a matrix from arrays": {
            "ls.from_csr": lambda: ls.from_csr(*arrays, m.shape),
            "ls.from_csr, unchecked": lambda: ls.from_csr(*arrays, m.shape, check=False),
            _BASE: torch_made,
        },
        "new values, and a product": {
            "A.with_values(v) @ X": lambda: A.with_values(values) @ X,
            "ls.from_csr(...) @ X": lambda: ls.from_csr(*arrays, m.shape) @ X,
            _BASE: lambda: torch.sparse.mm(torch_made(), X),
        },
    }


def _child(job: str, cache: str, compiler: str = "") -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "suites.fresh", job, cache],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **({"LIBSPARSE_CC": compiler} if compiler else {})},
        cwd=Path(__file__).resolve().parents[1],
    )
    if done.returncode != 0:
        raise SystemExit(f"the measuring process failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
