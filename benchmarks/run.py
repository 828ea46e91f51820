"""The one front door of the benchmarks: python benchmarks/run.py [latency] [models] [kernels] [schedules]."""

from __future__ import annotations

import argparse
import importlib
import os
import warnings
from pathlib import Path

import measure
import torch

SUITES = ("latency", "models", "kernels", "schedules")
ASKED = ("fit",)  # runs only when it is asked for: it writes into the sources


def main() -> None:
    """Run the suites asked for and write one JSON file."""
    parser = argparse.ArgumentParser(prog="benchmarks/run.py", description=__doc__)
    parser.add_argument("suites", nargs="*", help=f"any of {', '.join(SUITES)} (default: all), or {', '.join(ASKED)}")
    parser.add_argument("--data", help="folder with graphs; ../shared/data/gnn is found by itself")
    parser.add_argument("--threads", type=int, help="torch's thread count (default: torch's own choice)")
    parser.add_argument("--quick", action="store_true", help="fewer matrices and rounds")
    options = parser.parse_args()
    unknown = set(options.suites) - {*SUITES, *ASKED}
    if unknown:
        parser.error(f"no such suite: {', '.join(sorted(unknown))}")
    if options.threads:
        torch.set_num_threads(options.threads)
    warnings.filterwarnings("ignore", message="Sparse (CSR tensor support|invariant checks)")
    results: dict[str, object] = {"machine": measure.machine(), "quick": options.quick}
    print(", ".join(f"{name}: {value}" for name, value in measure.machine().items()))
    measure.warn_if_busy()
    for name in options.suites or SUITES:
        print()
        results[name] = importlib.import_module(f"suites.{name}").run(options.data, options.quick)
    results["load at the end"] = os.getloadavg()[0]
    path = measure.save(Path(__file__).parent / "results", results)
    print(f"\nload {os.getloadavg()[0]:.1f} at the end; written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
