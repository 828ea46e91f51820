"""What each command does; it returns the exit status."""

from __future__ import annotations

import argparse
import runpy
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

import libsparse as ls
from libsparse._compiler import native, request
from libsparse._lang.errors import LibsparseError, UnsupportedError
from libsparse._runtime import tuned
from libsparse._storage import threads

from . import operands, tuned_table

Command = Callable[[argparse.Namespace, Sequence[str]], int]


def run(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Compute, print the result, write it, and time more calls."""
    compute = _computation(options)
    result = compute()
    print(result)
    if options.output:
        if not isinstance(result, ls.SparseTensor):
            raise UnsupportedError(f"--output {options.output}: files hold sparse tensors; ask for one by --format csr")
        ls.write(options.output, result)
    if options.repeat:
        print(_times(compute, options.repeat))
    return 0


def explain(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Print the compiler's account."""
    print(_account(options, *operands.read(options), options.stage))
    return 0


def compile(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Put the kernel into the cache, and print its loops."""
    tensors, named = operands.read(options)
    made = ls.schedule(options.spec, *tensors, format=options.format, **named)
    start = time.perf_counter()
    if options.schedule:
        made.then(options.schedule).prepare()
    else:
        made.automatic()
    spent = time.perf_counter() - start
    print(_account(options, tensors, named, "scheduled").strip())
    print(f"in the cache after {spent * 1e3:.1f} ms: {ls.cache.path}")
    return 0


def tune(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Measure schedules, or list and remove what is kept."""
    if options.remove:
        print(f"removed {tuned.remove(options.remove)}")
    if options.list:
        print(tuned_table.text(request.tuned()))
    if options.spec:
        tensors, named = operands.read(options)
        settings = {"budget": options.budget, "seconds": options.seconds, "method": options.method}
        print(ls.tune(options.spec, *tensors, **settings, **named))
    elif not (options.list or options.remove):
        print("libsparse: tune needs an expression and its operands, or --list, or --remove", file=sys.stderr)
        return 2
    return 0


def frontier(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Print the loop nests that no other stays asymptotically below."""
    return _asked(options, "frontier", *(f"-{name}" for name in ("taco", "json") if getattr(options, name)))


def candidates(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Print every schedule that the compiler can carry out."""
    return _asked(options, "candidates", *(["-plain"] if options.plain else []))


def cache(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Show the cache of kernels, emptied where that is asked for."""
    if options.clear:
        ls.cache.clear()
    found = ls.cache.info()
    print(f"{found.path}\n{found.kernels} kernels, {found.bytes / 2**20:.1f} MiB; {found.tuned} computations tuned")
    if found.packed:
        print(f"{found.packed} kernels came with the package")
    return 0


def doctor(_: argparse.Namespace, __: Sequence[str]) -> int:
    """Print what is found and what is missing."""
    report = ls.doctor()
    print(report)
    return 0 if report.ok else 1


def demo(options: argparse.Namespace, _: Sequence[str]) -> int:
    """Train a graph network and write the report."""
    try:
        from libsparse.demo.run import run  # no part of the package proper, and of libraries that it doesn't need
    except ModuleNotFoundError as error:
        raise LibsparseError(f"the demo needs {error.name}: pip install 'libsparse[demo]'") from None
    return run(options.data, options.dataset, options.seeds, options.epochs, options.report, options.quick)


def bench(_: argparse.Namespace, rest: Sequence[str]) -> int:
    """Run the benchmarks of the source tree."""
    script = Path(__file__).resolve().parents[3] / "benchmarks" / "run.py"
    if not script.exists():
        print("libsparse: the benchmarks are part of the source tree; run this from a clone", file=sys.stderr)
        return 1
    sys.argv = [str(script), *rest]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    return 0


def _asked(options: argparse.Namespace, *command: str) -> int:
    """Have the executable answer a question about a computation, and print what it says."""
    tensors, named = operands.read(options)
    request = ls.schedule(options.spec, *tensors, format=options.format, **named).request()
    print(native.ask(command, request), end="")
    return 0


def _times(compute: Callable[[], Any], count: int) -> str:
    """The least and the median time of so many calls."""
    spent = []
    for _ in range(count):
        start = time.perf_counter()
        compute()
        spent.append((time.perf_counter() - start) * 1e6)
    median = statistics.median(spent)
    return f"{count} calls: at least {min(spent):.1f} us, median {median:.1f} us; at most {threads.count()} threads"


def _account(
    options: argparse.Namespace, tensors: Sequence[torch.Tensor], named: dict[str, Any], stage: str | None
) -> str:
    if options.schedule:
        made = ls.schedule(options.spec, *tensors, format=options.format, **named)
        return made.then(options.schedule).explain(stage)
    return ls.explain(options.spec, *tensors, stage=stage, format=options.format, **named)


def _computation(options: argparse.Namespace) -> Callable[[], Any]:
    """What computes the result again and again."""
    tensors, named = operands.read(options)
    if options.schedule:
        return ls.schedule(options.spec, *tensors, format=options.format, **named).then(options.schedule).run
    if named or "=" in options.spec:
        return lambda: ls.evaluate(options.spec, format=options.format, **named)
    return lambda: ls.einsum(options.spec, *tensors, format=options.format)
