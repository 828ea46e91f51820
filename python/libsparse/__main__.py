"""The command line: python -m libsparse doctor | demo | explain | tune | bench."""

from __future__ import annotations

import argparse
import runpy
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

import libsparse as ls
from libsparse._compiler import request
from libsparse._runtime import tuned


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status."""
    parser = _parser()
    options, rest = parser.parse_known_args(arguments)
    if rest and options.command is not _bench:
        parser.error(f"unrecognized arguments: {' '.join(rest)}")
    try:
        return int(options.command(options, rest))
    except ls.LibsparseError as error:
        print(f"libsparse: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m libsparse", description="A sparse tensor compiler for PyTorch.")
    commands = parser.add_subparsers(required=True, metavar="command")

    doctor = commands.add_parser("doctor", help="say what is found and what is missing")
    doctor.set_defaults(command=_doctor)

    demo = commands.add_parser("demo", help="train a graph network beside torch.sparse and write a report")
    demo.add_argument("--data", help="folder with <name>_adj.mtx.gz, <name>_feat.mtx.gz and <name>_labels.tsv.gz")
    demo.add_argument("--dataset", help="which of them, or 'generated' (default: cora and citeseer where they are)")
    demo.add_argument("--seeds", type=int, default=3)
    demo.add_argument("--epochs", type=int, default=200)
    demo.add_argument("--report", default="gcn-report.html", help="HTML file to write (default: %(default)s)")
    demo.add_argument("--quick", action="store_true", help="one graph, one seed, 30 epochs")
    demo.set_defaults(command=_demo)

    explain = commands.add_parser("explain", help="show how an einsum is compiled, stage by stage")
    explain.add_argument("spec", help="an einsum such as 'ij,jk->ik', or an assignment such as 'y(i) = A(i,j) * x(j)'")
    _add_operands(explain, "+")
    explain.add_argument("--stage", help="only this stage")
    explain.add_argument("--schedule", help="commands in place of what the compiler would choose")
    explain.set_defaults(command=_explain)

    tune = commands.add_parser("tune", help="measure schedules of an einsum and keep the fastest; list what is kept")
    tune.add_argument("spec", nargs="?", help="as of explain")
    _add_operands(tune, "*")
    tune.add_argument("--budget", type=int, default=60, help="measurements, kept ones included (default: %(default)s)")
    tune.add_argument("--seconds", type=float, help="after which to stop")
    tune.add_argument("--list", action="store_true", help="list what is kept")
    tune.add_argument("--remove", metavar="NAME", help="remove what is kept under names that begin so")
    tune.set_defaults(command=_tune)

    bench = commands.add_parser("bench", help="measure against other libraries (from a clone)", add_help=False)
    bench.set_defaults(command=_bench)
    return parser


def _add_operands(parser: argparse.ArgumentParser, number: str) -> None:
    parser.add_argument(
        "operands",
        nargs=number,
        metavar="operand",
        help="format:shape, such as csr:4096x4096 or dense:4096x64, or a file of a sparse tensor; of an assignment "
        "with its name, as A=csr:4096x4096",
    )
    parser.add_argument("--density", type=float, default=0.01, help="of the sparse operands (default: %(default)s)")
    parser.add_argument("--dtype", default="float32", help="a torch dtype (default: %(default)s)")


def _doctor(_: argparse.Namespace, __: Sequence[str]) -> int:
    report = ls.doctor()
    print(report)
    return 0 if report.ok else 1


def _demo(options: argparse.Namespace, _: Sequence[str]) -> int:
    try:
        from .demo.run import run  # no part of the package proper, and of libraries that it doesn't need
    except ModuleNotFoundError as error:
        raise ls.LibsparseError(f"the demo needs {error.name}: pip install 'libsparse[demo]'") from None
    return run(options.data, options.dataset, options.seeds, options.epochs, options.report, options.quick)


def _operands(options: argparse.Namespace) -> tuple[list[torch.Tensor], dict[str, Any]]:
    """The operands that the command line describes, those with names by name."""
    dtype = getattr(torch, options.dtype, None)
    if not isinstance(dtype, torch.dtype):
        raise ls.DtypeError(f"--dtype {options.dtype!r} is no torch dtype; use float32, float64, int64, ...")
    operands: list[torch.Tensor] = []
    named: dict[str, Any] = {}
    for operand in options.operands:
        key, equals, text = operand.rpartition("=")
        if Path(text).is_file():
            tensor: torch.Tensor = ls.read(text).to(dtype)
            if equals:
                named[key] = tensor
            else:
                operands.append(tensor)
            continue
        # the last colon: a format may hold one, as in ds:1,0:100x100
        name, colon, extents = text.rpartition(":")
        try:
            shape = tuple(int(extent) for extent in extents.split("x"))
        except ValueError:
            shape = ()
        if not colon or not shape:
            raise ls.FormatError(f"operand {text!r}: expected format:shape, such as csr:4096x4096")
        tensor = (
            torch.ones(shape, dtype=dtype, device="cpu")
            if name == "dense"
            else ls.random(shape, options.density, format=name).to(dtype)
        )
        if equals:
            named[key] = tensor
        else:
            operands.append(tensor)
    return operands, named


def _explain(options: argparse.Namespace, _: Sequence[str]) -> int:
    operands, named = _operands(options)
    if options.schedule:
        print(ls.schedule(options.spec, *operands, **named).then(options.schedule).explain(options.stage))
        return 0
    print(ls.explain(options.spec, *operands, stage=options.stage, **named))
    return 0


def _tune(options: argparse.Namespace, _: Sequence[str]) -> int:
    if options.remove:
        print(f"removed {tuned.remove(options.remove)}")
    if options.list:
        for name, record in sorted(request.tuned().items()):
            print(f"{name[:12]}  {record['expression']}, {record['threads']} threads; {_schedule(record['class'])}")
            for pattern in record["patterns"].values():
                about = f"{pattern['formats']}, {len(pattern['trials'])} measured"
                print(f"    {about}; {_schedule(pattern['schedule'])}")
    if options.spec:
        operands, named = _operands(options)
        print(ls.tune(options.spec, *operands, budget=options.budget, seconds=options.seconds, **named))
    elif not (options.list or options.remove):
        print("libsparse: tune needs an expression and its operands, or --list, or --remove", file=sys.stderr)
        return 2
    return 0


def _schedule(commands: str | None) -> str:
    return commands or "the compiler's schedule"


def _bench(_: argparse.Namespace, rest: Sequence[str]) -> int:
    script = Path(__file__).resolve().parents[2] / "benchmarks" / "run.py"
    if not script.exists():
        print("libsparse: the benchmarks are part of the source tree; run this from a clone", file=sys.stderr)
        return 1
    sys.argv = [str(script), *rest]
    sys.path.insert(0, str(script.parent))
    runpy.run_path(str(script), run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
