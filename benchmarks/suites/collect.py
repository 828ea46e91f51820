"""The data of the learned model: times of a library of schedules on many patterns, each beside the compiler's.

One thread measures. What is measured is written as it comes: a run that ends before all patterns are done has
a part of each kind. `--changes` measures what the space has had since, and adds that to what was measured before;
`--held-out` measures only what models are judged by.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import time
from collections import Counter
from pathlib import Path
from typing import Any

import torch
from libsparse._lang.errors import LibsparseError
from training import split
from training.computations import computations
from training.inputs import inputs
from training.library import Library
from training.measure import measured

import libsparse as ls

DATASET = Path(__file__).parents[2] / "build" / "training"


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measures, and writes a line for each pattern and computation."""
    DATASET.mkdir(parents=True, exist_ok=True)
    path = DATASET / ("quick.jsonl.gz" if options.quick else "measurements.jsonl.gz")
    libraries: dict[str, Library] = {}
    counts: Counter[str] = Counter()
    begun = time.monotonic()
    torch.manual_seed(0)
    with gzip.open(path, "at" if options.changes else "wt") as out, ls.options(num_threads=1):
        for number, one in enumerate(inputs(options.data, quick=options.quick)):
            if options.held_out and not split.held_out(one.base):
                continue
            try:
                A = one.make()
            except (LibsparseError, ValueError) as error:
                print(f"  {one.name}: {error}")
                continue
            if A.dim() not in (2, 3) or not A.nnz or A.nnz > (options.most or A.nnz):
                continue
            for name, work in computations(A):
                if options.kernels and not any(re.fullmatch(k, name) for k in options.kernels):
                    continue
                library = libraries.setdefault(name, Library(name, options.changes or ""))
                found = measured(work, library, f"{one.name} {name}", many=split.held_out(one.base))
                if found is not None:
                    record = {"input": one.name, "base": one.base, "kernel": name, **found}
                    out.write(json.dumps(record) + "\n")
                    counts[name] += len(found["ratios"])
            if number % 10 == 9:
                out.flush()
                print(f"  {number + 1} patterns, {counts.total()} ratios, {time.monotonic() - begun:.0f} s", flush=True)
    return {"path": str(path), "ratios": dict(counts), "seconds": time.monotonic() - begun}
